// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <array>

#include "sm/config/rows.h"

namespace sm::config {
namespace {

constexpr std::string_view kNoPerf = "counters are not read; ibqueryerrors(8) and perfquery(8) do";
constexpr std::string_view kNoCongestion = "congestion control of devices is left alone";
constexpr std::string_view kNoPlugins = "ibsm loads no plug-ins";

constexpr Row perf(Row row, std::string_view opensm_default) {
  return row.opensm_has(opensm_default).not_yet(kNoPerf);
}
constexpr Row congestion(std::string_view key, std::string_view opensm_default) {
  return text("", key, {}, "VALUE", "Congestion control")
      .opensm_has(opensm_default)
      .not_yet(kNoCongestion);
}

constexpr std::array kManagers = {
    perf(flag("--perfmgr", "perfmgr", {}, "Read counters"), "FALSE"),
    perf(number("--perfmgr_sweep_time_s", "perfmgr_sweep_time_s", {}, 1, 65535,
                "Seconds between sweeps of counters")
             .in("s"),
         "180"),
    perf(truth("", "perfmgr_redir", {}, "Follow redirections of ClassPortInfo"), "TRUE"),
    perf(number("", "perfmgr_max_outstanding_queries", {}, 0, UINT32_MAX, "Queries under way"),
         "500"),
    perf(truth("", "perfmgr_ignore_cas", {}, "Counters of switches alone"), "FALSE"),
    perf(truth("", "perfmgr_rm_nodes", {}, "Forget nodes that are gone"), "TRUE"),
    perf(truth("", "perfmgr_log_errors", {}, "Log errors that are counted"), "TRUE"),
    perf(truth("", "perfmgr_query_cpi", {}, "Ask for ClassPortInfo"), "TRUE"),
    perf(truth("", "perfmgr_xmit_wait_log", {}, "Log PortXmitWait"), "FALSE"),
    perf(number("", "perfmgr_xmit_wait_threshold", {}, 0, UINT32_MAX, "... above this"), "65535"),
    perf(text("", "event_db_dump_file", {}, "FILE", "Dump of counters"), ""),
    text("", "event_plugin_name", {}, "LIST", "Plug-ins").not_yet(kNoPlugins),
    text("", "event_plugin_options", {}, "TEXT", "Options of plug-ins").not_yet(kNoPlugins),
    text("", "activity_report_subjects", {}, "LIST", "What the activity report is about")
        .not_yet("there is no activity report"),
    flag("--congestion_control", "congestion_control", {}, "Program congestion control")
        .opensm_has("FALSE")
        .not_yet(kNoCongestion),
    number("--cc_key", "cc_key", {}, 0, UINT64_MAX, "Key of congestion control")
        .hex()
        .opensm_has("0x0000000000000000")
        .not_yet(kNoCongestion),
    congestion("cc_max_outstanding_mads", "500"),
    congestion("cc_sw_cong_setting_control_map", "0x0"),
    congestion("cc_sw_cong_setting_victim_mask",
               "0x0000000000000000000000000000000000000000000000000000000000000000"),
    congestion("cc_sw_cong_setting_credit_mask",
               "0x0000000000000000000000000000000000000000000000000000000000000000"),
    congestion("cc_sw_cong_setting_threshold", "0x00"),
    congestion("cc_sw_cong_setting_packet_size", "0"),
    congestion("cc_sw_cong_setting_credit_starvation_threshold", "0x00"),
    congestion("cc_sw_cong_setting_credit_starvation_return_delay", "0:0"),
    congestion("cc_sw_cong_setting_marking_rate", "0"),
    congestion("cc_ca_cong_setting_port_control", "0x0000"),
    congestion("cc_ca_cong_setting_control_map", "0x0000"),
    congestion("cc_ca_cong_setting_ccti_timer", "0 0"),
    congestion("cc_ca_cong_setting_ccti_increase", "0 0"),
    congestion("cc_ca_cong_setting_trigger_threshold", "0 0"),
    congestion("cc_ca_cong_setting_ccti_min", "0 0"),
    congestion("cc_cct", ""),
};

}  // namespace

std::vector<Part> manager_rows() { return {{Section::Managers, kManagers}}; }

}  // namespace sm::config
