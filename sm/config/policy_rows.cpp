// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <array>
#include <string>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"
#include "sm/config/rows.h"
#include "sm/policy/vl_tables.h"

namespace sm::config {
namespace {

using S = Settings;

ib::Result<void> check_sl_to_vl(std::string_view value) {
  return policy::read_sl_to_vl(value).map([](const auto&) {});
}

ib::Result<void> check_vl_arbitration(std::string_view value) {
  return policy::read_vl_arbitration(value).map([](const auto&) {});
}

/// opensm writes -1 where nothing is said.
ib::Result<void> check_high_limit(std::string_view value) {
  std::uint64_t number = 0;
  if (value == "-1" || ib::parse_number(value, 255, number)) return {};
  return ib::fail(ib::ErrorKind::Usage, "expected a number from 0 to 255, or -1 for none, got '" +
                                            ib::printable(value) + "'");
}

constexpr std::array kPartitions = {
    text("-P,--Pconfig", "partition_config_file", &S::partition_config_file, "FILE",
         "Partition file: which ports are members of which partitions")
        .opensm_has("/etc/opensm/partitions.conf")
        .contents_on_reload(),
    flag("-N,--no_part_enforce", "no_partition_enforcement", &S::no_partition_enforcement,
         "Enforce no partitions at switch ports")
        .on_reload(),
    word("-Z,--part_enforce", "part_enforce", &S::part_enforce, "WORD", "both|in|out|off",
         "Where switch ports enforce partitions")
        .on_reload(),
    flag("-W,--allow_both_pkeys", "allow_both_pkeys", &S::allow_both_pkeys,
         "Full and limited P_Key of one partition in one table")
        .on_reload(),
    truth("", "keep_pkey_indexes", &S::keep_pkey_indexes, "A P_Key keeps its index").on_reload(),
    text("", "pgrp_policy_file", &S::pgrp_policy_file, "FILE",
         "Port groups for topologies, partitions and rates (else those of the QoS policy file)")
        .contents_on_reload(),
    number("", "sm_assigned_guid", {}, 0, 255, "Byte of the alias GUIDs that the SA invents")
        .opensm_has("0x00")
        .not_yet("alias GUIDs are those that clients ask for"),
};

constexpr Row max_vls(std::string_view key) {
  return number("", key, {}, 0, 15, "Data VLs in use at most (with -Q); 0: unset").opensm_has("0");
}
constexpr Row high_limit(std::string_view key) {
  return text("", key, {}, "N", "VLHighLimit (with -Q); -1: unset", check_high_limit)
      .opensm_has("-1")
      .on_reload();
}
constexpr Row arbitration(std::string_view key) {
  return text("", key, {}, "VL:WEIGHT,...", "VL arbitration table (with -Q)", check_vl_arbitration)
      .on_reload();
}
constexpr Row mapping(std::string_view key) {
  return text("", key, {}, "VL,...",
              "VLs of SL 0 to 15; SLs behind a short list have VL 0 (with -Q)", check_sl_to_vl)
      .on_reload();
}

constexpr std::array kQos = {
    flag("-Q,--qos", "qos", &S::qos,
         "Program SL to VL mapping and VL arbitration whatever the engine"),
    text("-Y,--qos_policy_file", "qos_policy_file", &S::qos_policy_file, "FILE",
         "QoS policy file: which requests for a path get which level of service (with -Q)")
        .opensm_has("/etc/opensm/qos-policy.conf")
        .contents_on_reload(),
    text("", "enhanced_qos_policy_file", &S::enhanced_qos_policy_file, "FILE",
         "Rate limits of SLs, by port and port group (with -Q); null: limits of devices are left "
         "alone")
        .contents_on_reload(),
    truth("", "suppress_sl2vl_mad_status_errors", {}, "Do not log errors of SL2VL Sets")
        .opensm_has("FALSE")
        .no_effect("one line a port is logged, however often it refuses"),
    truth("", "use_optimized_slvl", {}, "Set SL2VL rows of several ports at once")
        .opensm_has("FALSE")
        .no_effect("it is done where a switch can"),
    max_vls("qos_max_vls"),
    high_limit("qos_high_limit"),
    arbitration("qos_vlarb_high"),
    arbitration("qos_vlarb_low"),
    mapping("qos_sl2vl"),
    max_vls("qos_ca_max_vls"),
    high_limit("qos_ca_high_limit"),
    arbitration("qos_ca_vlarb_high"),
    arbitration("qos_ca_vlarb_low"),
    mapping("qos_ca_sl2vl"),
    max_vls("qos_sw0_max_vls"),
    high_limit("qos_sw0_high_limit"),
    arbitration("qos_sw0_vlarb_high"),
    arbitration("qos_sw0_vlarb_low"),
    mapping("qos_sw0_sl2vl"),
    max_vls("qos_swe_max_vls"),
    high_limit("qos_swe_high_limit"),
    arbitration("qos_swe_vlarb_high"),
    arbitration("qos_swe_vlarb_low"),
    mapping("qos_swe_sl2vl"),
    max_vls("qos_rtr_max_vls"),
    high_limit("qos_rtr_high_limit"),
    arbitration("qos_rtr_vlarb_high"),
    arbitration("qos_rtr_vlarb_low"),
    mapping("qos_rtr_sl2vl"),
    max_vls("qos_sw2sw_max_vls"),
    high_limit("qos_sw2sw_high_limit"),
    arbitration("qos_sw2sw_vlarb_high"),
    arbitration("qos_sw2sw_vlarb_low"),
    mapping("qos_sw2sw_sl2vl"),
};

}  // namespace

std::vector<Part> policy_rows() {
  return {{Section::Partitions, kPartitions}, {Section::Qos, kQos}};
}

}  // namespace sm::config
