// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <array>

#include "libdiag/base/text.h"
#include "sm/config/activity.h"
#include "sm/config/plugins.h"
#include "sm/config/rows.h"
#include "sm/policy/congestion_values.h"
#include "sm/policy/error_thresholds.h"

namespace sm::config {
namespace {

using S = Settings;

constexpr bool kHasPerformanceManager = IBKIT_ENABLE_PERFMGR != 0;
constexpr Row perf(Row row) {
  return kHasPerformanceManager
             ? row.may_differ()
             : row.not_yet("ibsm was built without the performance manager (ENABLE_PERFMGR)");
}
ib::Result<void> check_port_mask(std::string_view value) {
  return policy::read_port_mask(value).map([](const auto&) {});
}
ib::Result<void> check_table(std::string_view value) {
  return policy::read_congestion_table(value).map([](const auto&) {});
}
ib::Result<void> check_delay(std::string_view value) {
  if (policy::read_congestion_delay(value)) return {};
  return ib::fail(ib::ErrorKind::Usage, "expected " + std::string(policy::kDelayWanted) +
                                            ", got '" + ib::printable(value) + "'");
}
ib::Result<void> check_subjects(std::string_view value) {
  return activity_subjects(value).map([](auto) {});
}
ib::Result<void> check_error_thresholds(std::string_view value) {
  return policy::read_error_thresholds(value).map([](const auto&) {});
}
ib::Result<void> check_plugin_options(std::string_view value) {
  if (const auto words = plugin_words(value); !words.empty() && words.front().starts_with("--"))
    return ib::fail(ib::ErrorKind::Usage, "expected the name of a plug-in first, as in `ccmgr " +
                                              ib::printable(value) + "`, got '" +
                                              ib::printable(words.front()) + "'");
  for (const std::string_view plugin : kPlugins)
    if (const auto file = plugin_file(plugin, value); !file)
      return tl::unexpected<ib::Error>(file.error());
  return {};
}
template <std::uint16_t Max>
ib::Result<void> check_sl_values(std::string_view value) {
  return policy::read_sl_values(value, Max).map([](const auto&) {});
}

/// SLs not named have 0.
constexpr Row of_sls(std::string_view key, ib::Result<void> (*check)(std::string_view),
                     std::string_view help) {
  return text("", key, {}, "SL VALUE,...", help, check).opensm_has("0 0").may_be_repeated();
}
constexpr Row ports(std::string_view key, std::string_view help) {
  return text("", key, {}, "HEX", help, check_port_mask)
      .opensm_has("0x0000000000000000000000000000000000000000000000000000000000000000");
}

constexpr std::array kManagers = {
    perf(flag("--perfmgr", "perfmgr", &S::perfmgr,
              "Read the counters of all ports, a few at a time")),
    perf(number("--perfmgr_sweep_time_s", "perfmgr_sweep_time_s", &S::perfmgr_sweep_time_s, 1,
                65535, "Seconds between sweeps of counters")
             .in("s")),
    perf(truth("", "perfmgr_redir", &S::perfmgr_redir, "Follow redirections of ClassPortInfo")),
    perf(number("", "perfmgr_max_outstanding_queries", &S::perfmgr_max_outstanding_queries, 1,
                1U << 20, "Maximum number of outstanding counter queries")),
    perf(truth("", "perfmgr_ignore_cas", &S::perfmgr_ignore_cas, "Counters of switches alone")),
    perf(truth("", "perfmgr_rm_nodes", &S::perfmgr_rm_nodes,
               "Drop the counters of nodes that are gone")),
    perf(truth("", "perfmgr_log_errors", &S::perfmgr_log_errors,
               "A line for each port that counted errors")),
    perf(truth("", "perfmgr_query_cpi", &S::perfmgr_query_cpi,
               "Ask for ClassPortInfo: 64-bit counters and PortXmitWait")),
    perf(truth("", "perfmgr_xmit_wait_log", &S::perfmgr_xmit_wait_log,
               "A line for PortXmitWait too")),
    perf(number("", "perfmgr_xmit_wait_threshold", &S::perfmgr_xmit_wait_threshold, 0, UINT32_MAX,
                "... where a sweep adds more ticks than this")),
    perf(text("", "perfmgr_error_thresholds", &S::perfmgr_error_thresholds, "NAME=N,...",
              "How many errors of a counter in a window are an event, where there are more; "
              "NAME=off: "
              "none of it is (default: those of ibqueryerrors' file)",
              check_error_thresholds)
             .is_list()
             .on_reload()),
    perf(number("", "perfmgr_window_s", &S::perfmgr_window_s, 60, 604800,
                "Length of the windows that errors and the history of counters are summed up by")
             .in("s")),
    perf(number(
        "", "perfmgr_history", &S::perfmgr_history, 0, 10'000'000,
        "Windows of counters that are kept, of all ports together, in the store too; of each "
        "port two at least; 0: none is stored")),
    perf(text("", "event_db_dump_file", &S::event_db_dump_file, "FILE",
              "Where `ibsm ctl counters dump` writes to (default: opensm_port_counters.log among "
              "the dump files)")),
    text("", "event_plugin_name", &S::event_plugin_name, "LIST",
         "`ccmgr`: devices are programmed for congestion control; `armgr`: switches for adaptive "
         "routing; ibsm loads no plug-ins, other names are warned of"),
    text(
        "", "event_plugin_options", &S::event_plugin_options, "TEXT",
        "`ccmgr --conf_file FILE`: the file of the congestion control manager (default: its "
        "defaults); `armgr --conf_file FILE`: that of adaptive routing (default: ar_mgr.conf where "
        "the options file is, if it is there)",
        check_plugin_options)
        .contents_on_reload(),
    number("", "ar_sl_mask", &S::ar_sl_mask, 0, 0xFFFF,
           "SLs that adaptive routing (armgr) is for, a bit each; packets of the others go by the "
           "LFTs")
        .hex()
        .on_reload(),
    number("", "shield_mode", &S::shield_mode, 0, 1,
           "1: where a port is down a switch with adaptive routing sends by another one of the "
           "group at once (fast link fault recovery); 0: not")
        .on_reload(),
    text("--event_file", "event_file", &S::event_file, "FILE",
         "Every event as a line of JSON, added to this file (default: none; `ibsm ctl events` has "
         "the last of them)")
        .may_differ(),
    text("", "activity_report_subjects", &S::activity_report_subjects, "LIST",
         "Subjects of the activity report (opensm-activity.dump): mc, prtn, virt, routing with "
         "commas between them, all or none",
         check_subjects)
        .is_list()
        .may_differ(),
    flag("--congestion_control", "congestion_control", &S::congestion_control,
         "Program devices for congestion control by the cc_ keys"),
    number("--cc_key", "cc_key", &S::cc_key, 0, UINT64_MAX,
           "CC_Key that devices get and are asked by (default 0: they keep theirs)")
        .hex()
        .on_reload(),
    number("", "cc_key_lease_period", &S::cc_key_lease_period, 0, 65535,
           "Lease of --cc_key; 0: for ever")
        .in("s")
        .on_reload(),
    truth("", "cc_key_protect_bit", &S::cc_key_protect_bit, "Devices do not show --cc_key")
        .on_reload(),
    number("", "cc_max_outstanding_mads", &S::cc_max_outstanding_mads, 1, UINT32_MAX,
           "Maximum number of outstanding congestion control MADs")
        .on_reload(),
    number("", "cc_sw_cong_setting_control_map", &S::cc_sw_control_map, 0, 0x1F,
           "What switches are set: 1 victim mask, 2 credit mask, 4 threshold and packet size, 8 "
           "credit starvation, 0x10 marking rate")
        .hex()
        .opensm_has("0x0")
        .on_reload(),
    ports("cc_sw_cong_setting_victim_mask", "Ports that mark what waits for credits").on_reload(),
    ports("cc_sw_cong_setting_credit_mask", "Ports that mark on credit starvation").on_reload(),
    number("", "cc_sw_cong_setting_threshold", &S::cc_sw_threshold, 0, 15,
           "How soon switches mark; 0: never")
        .hex()
        .on_reload(),
    number("", "cc_sw_cong_setting_packet_size", &S::cc_sw_packet_size, 0, 255,
           "Smaller packets are not marked")
        .in("64 bytes")
        .on_reload(),
    number("", "cc_sw_cong_setting_credit_starvation_threshold",
           &S::cc_sw_credit_starvation_threshold, 0, 15, "How soon credit starvation is marked")
        .hex()
        .on_reload(),
    text("", "cc_sw_cong_setting_credit_starvation_return_delay", {}, "SHIFT:MULTIPLIER",
         "How long credits are kept back", check_delay)
        .opensm_has("0:0")
        .on_reload(),
    number("", "cc_sw_cong_setting_marking_rate", &S::cc_sw_marking_rate, 0, 65535,
           "Mean number of packets between two marks")
        .on_reload(),
    number("", "cc_ca_cong_setting_port_control", &S::cc_ca_port_control, 0, 1,
           "Channel adapters slow down: 0 queue pairs, 1 SLs")
        .hex()
        .opensm_has("0x0000")
        .on_reload(),
    number("", "cc_ca_cong_setting_control_map", &S::cc_ca_control_map, 0, 0xFFFF,
           "SLs that channel adapters are set")
        .hex()
        .opensm_has("0x0000")
        .on_reload(),
    of_sls("cc_ca_cong_setting_ccti_timer", check_sl_values<0xFFFF>,
           "Time after which the table index falls by one, in 1.024 us")
        .on_reload(),
    of_sls("cc_ca_cong_setting_ccti_increase", check_sl_values<0xFF>,
           "By so much a mark raises the table index")
        .on_reload(),
    of_sls("cc_ca_cong_setting_trigger_threshold", check_sl_values<0xFF>,
           "Table index that is logged")
        .on_reload(),
    of_sls("cc_ca_cong_setting_ccti_min", check_sl_values<0xFF>, "Least table index").on_reload(),
    text("", "cc_cct", {}, "SHIFT:MULTIPLIER,...",
         "Congestion control table, 128 entries at most; unset: one, of no delay", check_table)
        .on_reload(),
};

}  // namespace

std::vector<Part> manager_rows() { return {{Section::Managers, kManagers}}; }

}  // namespace sm::config
