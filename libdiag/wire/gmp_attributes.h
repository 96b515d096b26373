// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Attributes of the general services: ClassPortInfo, performance management, the ibtracer vendor
// class.
#pragma once

#include "libdiag/wire/layout.h"

namespace ib::wire {

struct ClassPortInfo {
  std::uint8_t base_version{1};
  std::uint8_t class_version{1};
  std::uint16_t capability_mask{};
  std::uint32_t capability_mask2{};  // 27 bits
  std::uint8_t resp_time_value{};    // 4.096 us x 2^n
  Gid redirect_gid{};
  std::uint8_t redirect_tc{};
  Sl redirect_sl{};
  std::uint32_t redirect_flow_label{};
  Lid redirect_lid{};
  PKey redirect_p_key{};
  std::uint32_t redirect_qp{};
  std::uint32_t redirect_q_key{};
  Gid trap_gid{};
  std::uint8_t trap_tc{};
  Sl trap_sl{};
  std::uint32_t trap_flow_label{};
  Lid trap_lid{};
  PKey trap_p_key{};
  std::uint8_t trap_hop_limit{};
  std::uint32_t trap_qp{};
  std::uint32_t trap_q_key{};
  friend bool operator==(const ClassPortInfo&, const ClassPortInfo&) = default;
};
template <>
struct LayoutOf<ClassPortInfo>
    : Layout<"ClassPortInfo", "IBA 13.4.8.1", 72,
             Field<&ClassPortInfo::base_version, at(0), 8, "BaseVersion">,
             Field<&ClassPortInfo::class_version, at(1), 8, "ClassVersion">,
             Field<&ClassPortInfo::capability_mask, at(2), 16, "CapabilityMask", Show::Hex>,
             Field<&ClassPortInfo::capability_mask2, at(4), 27, "CapabilityMask2", Show::Hex>,
             Field<&ClassPortInfo::resp_time_value, at(7, 3), 5, "RespTimeValue">,
             Field<&ClassPortInfo::redirect_gid, at(8), 128, "RedirectGID", Show::Gid>,
             Field<&ClassPortInfo::redirect_tc, at(24), 8, "RedirectTC">,
             Field<&ClassPortInfo::redirect_sl, at(25), 4, "RedirectSL">,
             Field<&ClassPortInfo::redirect_flow_label, at(25, 4), 20, "RedirectFL", Show::Hex>,
             Field<&ClassPortInfo::redirect_lid, at(28), 16, "RedirectLID">,
             Field<&ClassPortInfo::redirect_p_key, at(30), 16, "RedirectP_Key", Show::Hex>,
             Field<&ClassPortInfo::redirect_qp, at(33), 24, "RedirectQP", Show::Hex>,
             Field<&ClassPortInfo::redirect_q_key, at(36), 32, "RedirectQ_Key", Show::Hex>,
             Field<&ClassPortInfo::trap_gid, at(40), 128, "TrapGID", Show::Gid>,
             Field<&ClassPortInfo::trap_tc, at(56), 8, "TrapTC">,
             Field<&ClassPortInfo::trap_sl, at(57), 4, "TrapSL">,
             Field<&ClassPortInfo::trap_flow_label, at(57, 4), 20, "TrapFL", Show::Hex>,
             Field<&ClassPortInfo::trap_lid, at(60), 16, "TrapLID">,
             Field<&ClassPortInfo::trap_p_key, at(62), 16, "TrapP_Key", Show::Hex>,
             Field<&ClassPortInfo::trap_hop_limit, at(64), 8, "TrapHL">,
             Field<&ClassPortInfo::trap_qp, at(65), 24, "TrapQP", Show::Hex>,
             Field<&ClassPortInfo::trap_q_key, at(68), 32, "TrapQ_Key", Show::Hex>> {};

/// A subscription to notices (IBA 13.4.8.3). A GID of zero means that the LID range counts; a begin
/// of 0xFFFF means every LID. The last number is the component-mask bit in InformInfoRecord (IBA
/// 15.2.5.12).
struct InformInfo {
  Gid gid{};
  Lid lid_range_begin{};
  Lid lid_range_end{};
  std::uint8_t is_generic{};
  std::uint8_t subscribe{};     // 1 subscribe, 0 unsubscribe
  std::uint16_t type{};         // as Notice has it; 0xFFFF: all
  std::uint16_t trap_number{};  // or device id; 0xFFFF: all
  std::uint32_t qpn{};          // 24 bits
  std::uint8_t resp_time_value{};
  std::uint32_t producer_type{};  // 24 bits; or the vendor; 0xFFFFFF: all
  friend bool operator==(const InformInfo&, const InformInfo&) = default;
};
template <>
struct LayoutOf<InformInfo>
    : Layout<"InformInfo", "IBA 13.4.8.3", 36,
             Field<&InformInfo::gid, at(0), 128, "GID", Show::Gid, 3>,
             Field<&InformInfo::lid_range_begin, at(16), 16, "LIDRangeBegin", Show::Hex, 4>,
             Field<&InformInfo::lid_range_end, at(18), 16, "LIDRangeEnd", Show::Hex, 5>,
             Field<&InformInfo::is_generic, at(22), 8, "IsGeneric", Show::Decimal, 7>,
             Field<&InformInfo::subscribe, at(23), 8, "Subscribe", Show::Decimal, 8>,
             Field<&InformInfo::type, at(24), 16, "Type", Show::Hex, 9>,
             Field<&InformInfo::trap_number, at(26), 16, "TrapNumber", Show::Decimal, 10>,
             Field<&InformInfo::qpn, at(28), 24, "QPN", Show::Hex, 11>,
             Field<&InformInfo::resp_time_value, at(31, 3), 5, "RespTimeValue", Show::Decimal, 13>,
             Field<&InformInfo::producer_type, at(33), 24, "ProducerType", Show::Hex, 15>> {};

/// PMA PortCounters. A Set clears the counters whose CounterSelect bit is 1. Data counters count
/// 4-byte words; all saturate.
struct PortCounters {
  PortNum port_select{};
  std::uint16_t counter_select{};
  std::uint16_t symbol_error_counter{};
  std::uint8_t link_error_recovery_counter{};
  std::uint8_t link_downed_counter{};
  std::uint16_t port_rcv_errors{};
  std::uint16_t port_rcv_remote_physical_errors{};
  std::uint16_t port_rcv_switch_relay_errors{};
  std::uint16_t port_xmit_discards{};
  std::uint8_t port_xmit_constraint_errors{};
  std::uint8_t port_rcv_constraint_errors{};
  std::uint8_t counter_select2{};
  std::uint8_t local_link_integrity_errors{};
  std::uint8_t excessive_buffer_overrun_errors{};
  std::uint16_t qp1_dropped{};
  std::uint16_t vl15_dropped{};
  std::uint32_t port_xmit_data{};
  std::uint32_t port_rcv_data{};
  std::uint32_t port_xmit_pkts{};
  std::uint32_t port_rcv_pkts{};
  std::uint32_t port_xmit_wait{};
  friend bool operator==(const PortCounters&, const PortCounters&) = default;
};
template <>
struct LayoutOf<PortCounters>
    : Layout<
          "PortCounters", "IBA 16.1.3.5", 44,
          Field<&PortCounters::port_select, at(1), 8, "PortSelect">,
          Field<&PortCounters::counter_select, at(2), 16, "CounterSelect", Show::Hex>,
          Field<&PortCounters::symbol_error_counter, at(4), 16, "SymbolErrorCounter">,
          Field<&PortCounters::link_error_recovery_counter, at(6), 8, "LinkErrorRecoveryCounter">,
          Field<&PortCounters::link_downed_counter, at(7), 8, "LinkDownedCounter">,
          Field<&PortCounters::port_rcv_errors, at(8), 16, "PortRcvErrors">,
          Field<&PortCounters::port_rcv_remote_physical_errors, at(10), 16,
                "PortRcvRemotePhysicalErrors">,
          Field<&PortCounters::port_rcv_switch_relay_errors, at(12), 16,
                "PortRcvSwitchRelayErrors">,
          Field<&PortCounters::port_xmit_discards, at(14), 16, "PortXmitDiscards">,
          Field<&PortCounters::port_xmit_constraint_errors, at(16), 8, "PortXmitConstraintErrors">,
          Field<&PortCounters::port_rcv_constraint_errors, at(17), 8, "PortRcvConstraintErrors">,
          Field<&PortCounters::counter_select2, at(18), 8, "CounterSelect2", Show::Hex>,
          Field<&PortCounters::local_link_integrity_errors, at(19), 4, "LocalLinkIntegrityErrors">,
          Field<&PortCounters::excessive_buffer_overrun_errors, at(19, 4), 4,
                "ExcessiveBufferOverrunErrors">,
          Field<&PortCounters::qp1_dropped, at(20), 16, "QP1Dropped">,
          Field<&PortCounters::vl15_dropped, at(22), 16, "VL15Dropped">,
          Field<&PortCounters::port_xmit_data, at(24), 32, "PortXmitData">,
          Field<&PortCounters::port_rcv_data, at(28), 32, "PortRcvData">,
          Field<&PortCounters::port_xmit_pkts, at(32), 32, "PortXmitPkts">,
          Field<&PortCounters::port_rcv_pkts, at(36), 32, "PortRcvPkts">,
          Field<&PortCounters::port_xmit_wait, at(40), 32, "PortXmitWait">> {};

struct PortCountersExtended {
  PortNum port_select{};
  std::uint16_t counter_select{};
  std::uint32_t counter_select2{};
  std::uint64_t port_xmit_data{};  // 4-byte words
  std::uint64_t port_rcv_data{};
  std::uint64_t port_xmit_pkts{};
  std::uint64_t port_rcv_pkts{};
  std::uint64_t port_unicast_xmit_pkts{};
  std::uint64_t port_unicast_rcv_pkts{};
  std::uint64_t port_multicast_xmit_pkts{};
  std::uint64_t port_multicast_rcv_pkts{};
  friend bool operator==(const PortCountersExtended&, const PortCountersExtended&) = default;
};
template <>
struct LayoutOf<PortCountersExtended>
    : Layout<
          "PortCountersExtended", "IBA 16.1.4.11", 72,
          Field<&PortCountersExtended::port_select, at(1), 8, "PortSelect">,
          Field<&PortCountersExtended::counter_select, at(2), 16, "CounterSelect", Show::Hex>,
          Field<&PortCountersExtended::counter_select2, at(4), 32, "CounterSelect2", Show::Hex>,
          Field<&PortCountersExtended::port_xmit_data, at(8), 64, "PortXmitData">,
          Field<&PortCountersExtended::port_rcv_data, at(16), 64, "PortRcvData">,
          Field<&PortCountersExtended::port_xmit_pkts, at(24), 64, "PortXmitPkts">,
          Field<&PortCountersExtended::port_rcv_pkts, at(32), 64, "PortRcvPkts">,
          Field<&PortCountersExtended::port_unicast_xmit_pkts, at(40), 64, "PortUnicastXmitPkts">,
          Field<&PortCountersExtended::port_unicast_rcv_pkts, at(48), 64, "PortUnicastRcvPkts">,
          Field<&PortCountersExtended::port_multicast_xmit_pkts, at(56), 64,
                "PortMulticastXmitPkts">,
          Field<&PortCountersExtended::port_multicast_rcv_pkts, at(64), 64,
                "PortMulticastRcvPkts">> {};

/// ibtracer's attribute (spec/ibtracer: "SourceRoute attribute format"). The vector is 1-based: the
/// agent at hop h compares its ingress port with expected_port[h]; entry 0 is reserved.
/// `actual_port` is filled by every answer.
struct SourceRoute {
  PortNum actual_port{};
  std::uint8_t hop{};  // 1-63
  std::array<std::uint8_t, 64> expected_port{};
  friend bool operator==(const SourceRoute&, const SourceRoute&) = default;
};
template <>
struct LayoutOf<SourceRoute>
    : Layout<"SourceRoute", "ibtracer 1/11/05: SourceRoute attribute format", 66,
             Field<&SourceRoute::actual_port, at(0), 8, "ActualIncomingPort">,
             Field<&SourceRoute::hop, at(1), 8, "CurrentHopCount">,
             Field<&SourceRoute::expected_port, at(2), 8, "IncomingPorts">> {};

/// ClassPortInfo:CapabilityMask bit of class 0x30: this agent knows by which port a request came
/// in.
inline constexpr std::uint16_t kTracerKnowsIngress = 1U << 8;

/// Stock ibping's answer: host name and domain, NUL-terminated.
struct Ping {
  std::array<char, 216> host{};
  friend bool operator==(const Ping&, const Ping&) = default;
};
template <>
struct LayoutOf<Ping> : Layout<"Ping", "infiniband-diags: ibping", 216,
                               Field<&Ping::host, at(0), 8, "Host", Show::Text>> {};

}  // namespace ib::wire
