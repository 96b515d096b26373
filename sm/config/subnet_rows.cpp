// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <array>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"
#include "sm/config/rows.h"
#include "sm/config/value.h"

namespace sm::config {
namespace {

using S = Settings;

ib::Result<void> check_guids(std::string_view text) {
  return read_guids(text).map([](const auto&) {});
}

ib::Result<void> check_ports(std::string_view text) {
  std::uint64_t zero = 0;
  return ib::parse_number(text, 0, zero) ? ib::Result<void>{} : check_guids(text);
}

constexpr std::array kPort = {
    flag("-o,--once", "", &S::once, "Configure the subnet once, then exit; links stay ACTIVE"),
    text("-g,--guid", "guid", &S::guid, "GUID[,GUID...]",
         "Bind to the port with this GUID; of several to the first whose link is up, and when that "
         "goes down to the next one that is; 0 lists the ports and asks",
         check_ports)
        .may_differ(),
    number("--subnet_prefix", "subnet_prefix", &S::subnet_prefix, 0, UINT64_MAX,
           "GID prefix of the subnet (default 0xfe80000000000000)")
        .hex(),
    number("-p,--priority", "sm_priority", &S::sm_priority, 0, 15,
           "Priority in the election of the master (default 0); of equal ones the lower GUID wins")
        .may_differ(),
    number("", "master_sm_priority", &S::master_sm_priority, 0, 15,
           "Priority while it is master, where that is more: it stays master when one between the "
           "two comes back")
        .may_differ(),
    number("-k,--smkey", "sm_key", &S::sm_key, 0, UINT64_MAX,
           "SM_Key that other subnet managers have to show (default 1); 0: any will do")
        .hex(),
    number("--sm_sl", "sm_sl", &S::sm_sl, 0, 15,
           "SL by which ports reach the subnet manager (default: that of the path)")
        .opensm_has("0"),
    flag(
        "-I,--inactive", "sm_inactive", &S::sm_inactive,
        "Start as a subnet manager that is NOTACTIVE: it does nothing until the master tells it to "
        "stand by")
        .opensm_has("FALSE")
        .may_differ(),
    flag("--force", "ignore_other_sm", &S::force,
         "Manage the subnet whatever other subnet managers there are (as -d 0 does)")
        .may_differ(),
    truth(
        "", "standby_needs_same_config", &S::standby_needs_same_config,
        "A standby whose options or policy files differ from the master's is NOTACTIVE until they "
        "agree; they are compared where both have their store on one etcd")
        .may_differ(),
    text("", "allowed_sm_guids", &S::allowed_sm_guids, "GUIDS",
         "Port GUIDs of those that may be subnet managers here; others count for nothing. Default: "
         "all may",
         check_guids),
    number("", "sminfo_polling_timeout", &S::sminfo_polling_timeout, 50, 3'600'000,
           "Pause between polls of the master, while standing by")
        .in("ms")
        .opensm_has("10000")
        .may_differ(),
    number("", "polling_retry_number", &S::polling_retry_number, 0, 1000,
           "Polls in a row that a master may leave unanswered")
        .opensm_has("4")
        .may_differ(),
    number("", "m_key", &S::m_key, 0, UINT64_MAX,
           "M_Key of every end port; unset: ports keep theirs")
        .hex()
        .opensm_has("0x0000000000000000"),
    number("", "m_key_lease_period", &S::m_key_lease_period, 0, 65535,
           "Lease period after which a port that saw a wrong M_Key is unprotected; 0: never")
        .in("s")
        .opensm_has("0"),
    number("", "m_key_protection_level", &S::m_key_protection_level, 0, 3,
           "M_KeyProtectBits: 1 hides the key, 2 and 3 refuse reading without it")
        .opensm_has("0"),
    truth("", "m_key_lookup", &S::m_key_lookup,
          "Know from the file guid2mkey which M_Keys ports had last"),
};

constexpr std::array kLids = {
    number("-l,--lmc", "lmc", &S::lmc, 0, 7, "2^LMC LIDs for each host port (default 0)"),
    flag("", "lmc_esp0", &S::lmc_esp0, "Enhanced switch ports 0 get 2^LMC LIDs too"),
    flag("-r,--reassign_lids", "reassign_lids", &S::reassign_lids,
         "Reassign all LIDs: ignore those set on ports and the stored mapping"),
    flag("-x,--honor_guid2lid", "honor_guid2lid_file", &S::honor_guid2lid,
         "When it becomes master, LIDs of the store override those that ports in use have")
        .opensm_has("FALSE"),
    truth("", "fsync_high_avail_files", {}, "Write files through to the disk")
        .opensm_has("TRUE")
        .no_effect("--store_sync says when the store is written through"),
};

constexpr std::array kLinks = {
    number("", "max_op_vls", &S::max_op_vls, 1, 5, "OperationalVLs, at most: 5 is VL0 to VL14")
        .a("a code"),
    number("", "subnet_timeout", &S::subnet_timeout, 0, 31, "PortInfo.SubnetTimeout")
        .in("4.096 us * 2^N")
        .on_reload(),
    number("", "packet_life_time", &S::packet_life_time, 0, 31, "SwitchInfo.LifeTimeValue")
        .in("4.096 us * 2^N")
        .opensm_has("0x12")
        .on_reload(),
    number("", "vl_stall_count", &S::vl_stall_count, 0, 7, "VLStallCount between switches")
        .opensm_has("0x07")
        .on_reload(),
    number("", "leaf_vl_stall_count", &S::leaf_vl_stall_count, 0, 7, "VLStallCount towards hosts")
        .opensm_has("0x07")
        .on_reload(),
    number("", "head_of_queue_lifetime", &S::head_of_queue_lifetime, 0, 31,
           "HOQLife between switches")
        .in("4.096 us * 2^N")
        .opensm_has("0x12")
        .on_reload(),
    number("", "leaf_head_of_queue_lifetime", &S::leaf_head_of_queue_lifetime, 0, 31,
           "HOQLife towards hosts")
        .in("4.096 us * 2^N")
        .opensm_has("0x10")
        .on_reload(),
    number("", "local_phy_errors_threshold", &S::local_phy_errors_threshold, 0, 15,
           "LocalPhyErrors before trap 129")
        .opensm_has("0x08")
        .on_reload(),
    number("", "overrun_errors_threshold", &S::overrun_errors_threshold, 0, 15,
           "OverrunErrors before trap 130")
        .opensm_has("0x08")
        .on_reload(),
    number("", "force_link_speed", &S::force_link_speed, 0, 15,
           "LinkSpeedEnabled of ports of switches; 0: as it is, 15: what is supported"
           "; more than a link runs at counts when it trains next")
        .opensm_has("15")
        .on_reload(),
    number("", "force_link_speed_ext", &S::force_link_speed_ext, 0, 31,
           "LinkSpeedExtEnabled of ports of switches; 0: as it is, 30: none, 31: what is supported"
           "; more than a link runs at counts when it trains next")
        .opensm_has("31")
        .on_reload(),
    number("", "force_link_width", &S::force_link_width, 0, 255,
           "LinkWidthEnabled of ports of switches; 0: as it is, 255: what is supported"
           "; more than a link runs at counts when it trains next")
        .opensm_has("255")
        .on_reload(),
    number("", "fdr10", &S::fdr10, 0, 2,
           "FDR10 of ports that know it, where a link runs at QDR or FDR10: 0 left alone, 1 "
           "enabled, 2 disabled")
        .opensm_has("1")
        .on_reload(),
    number("", "suppress_mc_pkey_traps", &S::suppress_mc_pkey_traps, 0, 1,
           "1: ports that can be told so send no traps about multicast packets with a P_Key that "
           "they do not have; 0: they do")
        .on_reload(),
    truth("", "use_mfttop", &S::use_mfttop, "Program MulticastFDBTop where a switch has it")
        .on_reload(),
    truth("", "enable_quirks", &S::enable_quirks,
          "Paths from or to a Tavor have an MTU of 1024 where no larger one is asked for"),
    number(
        "", "virt_enabled", &S::virt_enabled, 0, 2,
        "Virtualization of HCA ports: 0 left alone, 1 disabled, 2 enabled, and virtual ports are "
        "brought up")
        .on_reload(),
    number("", "virt_max_ports_in_process", &S::virt_max_ports_in_process, 0, 65'535,
           "Ports whose virtual ports are looked after at once; 0: all")
        .on_reload(),
    number("", "virt_default_hop_limit", &S::virt_default_hop_limit, 0, 255,
           "HopLimit of paths from or to virtual ports"),
};

constexpr std::array kSweep = {
    number("-s,--sweep", "sweep_interval", &S::sweep_interval, 0, 4294,
           "Seconds between light sweeps (default 10); 0: none")
        .in("s")
        .on_reload(),
    number("--full_sweep_interval", "full_sweep_interval", &S::full_sweep_interval, 0, 31'536'000,
           "Seconds from one sweep of the whole fabric to the next at most (default 86400), where "
           "smaller sweeps serve what devices report; 0: no such bound")
        .in("s")
        .on_reload(),
    number("-t,--timeout", "transaction_timeout", &S::transaction_timeout, 0, 60'000,
           "Longest wait for one answer, in ms, before it is asked again (default 200); 0: the "
           "longest there is")
        .in("ms"),
    number("-n,--maxsmps", "max_wire_smps", &S::max_wire_smps, 0, 0x7fffffff,
           "Maximum number of outstanding SMPs (default 256); 0: no limit")
        .opensm_has("4"),
    number("", "max_wire_smps2", {}, 0, UINT32_MAX, "Outstanding SMPs while answers are missing")
        .opensm_has("4")
        .no_effect("the number of outstanding requests adapts to losses"),
    number("", "max_smps_timeout", {}, 0, UINT32_MAX, "When max_wire_smps2 counts")
        .in("us")
        .opensm_has("600000")
        .no_effect("the number of outstanding requests adapts to losses"),
    number("--retries", "transaction_retries", {}, 0, UINT32_MAX, "Retries of a MAD")
        .opensm_has("3")
        .no_effect("attempts follow from what is known of the target"),
    number("", "long_transaction_timeout", {}, 0, UINT32_MAX, "Timeout of wide SL2VL Sets")
        .in("ms")
        .opensm_has("500")
        .no_effect("timeouts are learnt from each target"),
    truth("", "force_heavy_sweep", &S::force_heavy_sweep, "Every sweep is a full one").on_reload(),
    number("", "silent_host_sweeps", &S::silent_host_sweeps, 0, 1000,
           "Full sweeps in a row that a host may leave unanswered and keep its routes, while its "
           "link is up"),
    number("", "silent_host_seconds", &S::silent_host_seconds, 2, 86'400,
           "... but no longer than that")
        .in("s"),
    truth("", "sweep_on_trap", &S::sweep_on_trap,
          "Look at what traps tell of at once; else the next sweep finds it")
        .on_reload(),
    truth("", "babbling_port_policy", &S::babbling_port_policy,
          "Disable ports that send the same trap 129, 130 or 131 again and again, 250 times; `ibsm "
          "ctl enable` brings them back")
        .on_reload(),
    flag("-y,--stay_on_fatal", "", {}, "Go on with duplicate GUIDs")
        .no_effect("ibsm always goes on, and leaves out what it cannot manage"),
    flag("--exit-on-fatal", "exit_on_fatal", &S::exit_on_fatal,
         "End with status 4 when two nodes have one GUID, as opensm does; in an options file TRUE "
         "is "
         "opensm's default and counts for nothing")
        .opensm_has("TRUE"),
};

}  // namespace

std::vector<Part> subnet_rows() {
  return {{Section::Port, kPort},
          {Section::Lids, kLids},
          {Section::Links, kLinks},
          {Section::Sweep, kSweep}};
}

}  // namespace sm::config
