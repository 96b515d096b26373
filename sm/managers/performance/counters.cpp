// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/counters.h"

namespace sm::managers::performance {
namespace {

using Narrow = ib::wire::PortCounters;
using Wide = ib::wire::PortCountersExtended;
using WideErrors = ib::wire::PortErrorsExtended;

template <auto member>
std::uint64_t narrow(const Narrow& c) {
  return c.*member;
}
template <auto member>
std::uint64_t wide(const Wide& c) {
  return c.*member;
}
template <auto member>
std::uint64_t wide_error(const WideErrors& c) {
  return c.*member;
}
std::uint64_t nothing(const Narrow&) { return 0; }

template <auto narrow_member, auto wide_member>
constexpr CounterRow error(std::string_view name, std::string_view dump_name, unsigned bits,
                           unsigned select_bit) {
  return {name,
          dump_name,
          CounterKind::Error,
          bits,
          1U << select_bit,
          0,
          narrow<narrow_member>,
          nullptr,
          wide_error<wide_member>};
}
template <auto narrow_member, auto wide_member>
constexpr CounterRow data(std::string_view name, std::string_view dump_name, unsigned select_bit) {
  return {name,
          dump_name,
          CounterKind::Data,
          32,
          1U << select_bit,
          0,
          narrow<narrow_member>,
          wide<wide_member>,
          nullptr};
}
template <auto wide_member>
constexpr CounterRow only_wide(std::string_view name, std::string_view dump_name) {
  return {name, dump_name, CounterKind::Data, 0, 0, 0, nothing, wide<wide_member>, nullptr};
}

constexpr std::array<CounterRow, kCounterCount> kRows = {{
    error<&Narrow::symbol_error_counter, &WideErrors::symbol_error_counter>(
        "SymbolErrorCounter", "symbol_err_cnt", 16, 0),
    error<&Narrow::link_error_recovery_counter, &WideErrors::link_error_recovery_counter>(
        "LinkErrorRecoveryCounter", "link_err_recover", 8, 1),
    error<&Narrow::link_downed_counter, &WideErrors::link_downed_counter>("LinkDownedCounter",
                                                                          "link_downed", 8, 2),
    error<&Narrow::port_rcv_errors, &WideErrors::port_rcv_errors>("PortRcvErrors", "rcv_err", 16,
                                                                  3),
    error<&Narrow::port_rcv_remote_physical_errors, &WideErrors::port_rcv_remote_physical_errors>(
        "PortRcvRemotePhysicalErrors", "rcv_rem_phys_err", 16, 4),
    error<&Narrow::port_rcv_switch_relay_errors, &WideErrors::port_rcv_switch_relay_errors>(
        "PortRcvSwitchRelayErrors", "rcv_switch_relay_err", 16, 5),
    error<&Narrow::port_xmit_discards, &WideErrors::port_xmit_discards>("PortXmitDiscards",
                                                                        "xmit_discards", 16, 6),
    error<&Narrow::port_xmit_constraint_errors, &WideErrors::port_xmit_constraint_errors>(
        "PortXmitConstraintErrors", "xmit_constraint_err", 8, 7),
    error<&Narrow::port_rcv_constraint_errors, &WideErrors::port_rcv_constraint_errors>(
        "PortRcvConstraintErrors", "rcv_constraint_err", 8, 8),
    error<&Narrow::local_link_integrity_errors, &WideErrors::local_link_integrity_errors>(
        "LocalLinkIntegrityErrors", "link_int_err", 4, 9),
    error<&Narrow::excessive_buffer_overrun_errors, &WideErrors::excessive_buffer_overrun_errors>(
        "ExcessiveBufferOverrunErrors", "buf_overrun_err", 4, 10),
    error<&Narrow::vl15_dropped, &WideErrors::vl15_dropped>("VL15Dropped", "vl15_dropped", 16, 11),
    {"PortXmitWait", "xmit_wait", CounterKind::Wait, 32, 0, 1U << 0,
     narrow<&Narrow::port_xmit_wait>, nullptr, wide_error<&WideErrors::port_xmit_wait>},
    {"QP1Dropped", "", CounterKind::Error, 16, 0, 1U << 1, narrow<&Narrow::qp1_dropped>, nullptr,
     wide_error<&WideErrors::qp1_dropped>},
    data<&Narrow::port_xmit_data, &Wide::port_xmit_data>("PortXmitData", "xmit_data", 12),
    data<&Narrow::port_rcv_data, &Wide::port_rcv_data>("PortRcvData", "rcv_data", 13),
    data<&Narrow::port_xmit_pkts, &Wide::port_xmit_pkts>("PortXmitPkts", "xmit_pkts", 14),
    data<&Narrow::port_rcv_pkts, &Wide::port_rcv_pkts>("PortRcvPkts", "rcv_pkts", 15),
    only_wide<&Wide::port_unicast_xmit_pkts>("PortUnicastXmitPkts", "unicast_xmit_pkts"),
    only_wide<&Wide::port_unicast_rcv_pkts>("PortUnicastRcvPkts", "unicast_rcv_pkts"),
    only_wide<&Wide::port_multicast_xmit_pkts>("PortMulticastXmitPkts", "multicast_xmit_pkts"),
    only_wide<&Wide::port_multicast_rcv_pkts>("PortMulticastRcvPkts", "multicast_rcv_pkts"),
}};

}  // namespace

std::span<const CounterRow, kCounterCount> counter_rows() { return kRows; }

}  // namespace sm::managers::performance
