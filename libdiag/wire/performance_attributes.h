// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Optional attributes of performance management: details of errors and discards, counters by VL and
// by SL. As in PortCounters, a Set writes the counters whose CounterSelect bit is 1, data are words
// of 4 bytes, and all saturate.
#pragma once

#include "libdiag/wire/gmp_attributes.h"

namespace ib::wire {

namespace attr {
inline constexpr std::uint16_t kPortRcvErrorDetails = 0x0015, kPortXmitDiscardDetails = 0x0016,
                               kPortVlOpPackets = 0x0019, kPortVlOpData = 0x001A,
                               kPortVlXmitWait = 0x001C, kPortXmitDataSl = 0x0036,
                               kPortRcvDataSl = 0x0037;
}  // namespace attr

/// The rest of PortCountersExtended, of agents with IsAdditionalPortCountersExtendedSupported
/// (ClassPortInfo:CapabilityMask2, bit 1): what PortCounters has besides data, 64 bits wide.
struct PortErrorsExtended {
  std::uint64_t symbol_error_counter{};
  std::uint64_t link_error_recovery_counter{};
  std::uint64_t link_downed_counter{};
  std::uint64_t port_rcv_errors{};
  std::uint64_t port_rcv_remote_physical_errors{};
  std::uint64_t port_rcv_switch_relay_errors{};
  std::uint64_t port_xmit_discards{};
  std::uint64_t port_xmit_constraint_errors{};
  std::uint64_t port_rcv_constraint_errors{};
  std::uint64_t local_link_integrity_errors{};
  std::uint64_t excessive_buffer_overrun_errors{};
  std::uint64_t vl15_dropped{};
  std::uint64_t port_xmit_wait{};
  std::uint64_t qp1_dropped{};
  friend bool operator==(const PortErrorsExtended&, const PortErrorsExtended&) = default;
};
template <>
struct LayoutOf<PortErrorsExtended>
    : Layout<"PortErrorsExtended", "IBA 16.1.4.11", 184,
             Field<&PortErrorsExtended::symbol_error_counter, at(72), 64, "SymbolErrorCounter">,
             Field<&PortErrorsExtended::link_error_recovery_counter, at(80), 64,
                   "LinkErrorRecoveryCounter">,
             Field<&PortErrorsExtended::link_downed_counter, at(88), 64, "LinkDownedCounter">,
             Field<&PortErrorsExtended::port_rcv_errors, at(96), 64, "PortRcvErrors">,
             Field<&PortErrorsExtended::port_rcv_remote_physical_errors, at(104), 64,
                   "PortRcvRemotePhysicalErrors">,
             Field<&PortErrorsExtended::port_rcv_switch_relay_errors, at(112), 64,
                   "PortRcvSwitchRelayErrors">,
             Field<&PortErrorsExtended::port_xmit_discards, at(120), 64, "PortXmitDiscards">,
             Field<&PortErrorsExtended::port_xmit_constraint_errors, at(128), 64,
                   "PortXmitConstraintErrors">,
             Field<&PortErrorsExtended::port_rcv_constraint_errors, at(136), 64,
                   "PortRcvConstraintErrors">,
             Field<&PortErrorsExtended::local_link_integrity_errors, at(144), 64,
                   "LocalLinkIntegrityErrors">,
             Field<&PortErrorsExtended::excessive_buffer_overrun_errors, at(152), 64,
                   "ExcessiveBufferOverrunErrors">,
             Field<&PortErrorsExtended::vl15_dropped, at(160), 64, "VL15Dropped">,
             Field<&PortErrorsExtended::port_xmit_wait, at(168), 64, "PortXmitWait">,
             Field<&PortErrorsExtended::qp1_dropped, at(176), 64, "QP1Dropped">> {};

/// BTH:OpCode of every MAD: UD SEND Only (IBA 9.2.1).
inline constexpr std::uint8_t kUdSendOnly = 0x64;

/// What PortRcvErrors and PortRcvSwitchRelayErrors are made of.
struct PortRcvErrorDetails {
  PortNum port_select{};
  std::uint16_t counter_select{};
  std::uint16_t local_physical_errors{};
  std::uint16_t malformed_packet_errors{};
  std::uint16_t buffer_overrun_errors{};
  std::uint16_t dlid_mapping_errors{};
  std::uint16_t vl_mapping_errors{};
  std::uint16_t looping_errors{};
  friend bool operator==(const PortRcvErrorDetails&, const PortRcvErrorDetails&) = default;
};
template <>
struct LayoutOf<PortRcvErrorDetails>
    : Layout<
          "PortRcvErrorDetails", "IBA 16.1.4.1", 16,
          Field<&PortRcvErrorDetails::port_select, at(1), 8, "PortSelect">,
          Field<&PortRcvErrorDetails::counter_select, at(2), 16, "CounterSelect", Show::Hex>,
          Field<&PortRcvErrorDetails::local_physical_errors, at(4), 16, "PortLocalPhysicalErrors">,
          Field<&PortRcvErrorDetails::malformed_packet_errors, at(6), 16,
                "PortMalformedPacketErrors">,
          Field<&PortRcvErrorDetails::buffer_overrun_errors, at(8), 16, "PortBufferOverrunErrors">,
          Field<&PortRcvErrorDetails::dlid_mapping_errors, at(10), 16, "PortDLIDMappingErrors">,
          Field<&PortRcvErrorDetails::vl_mapping_errors, at(12), 16, "PortVLMappingErrors">,
          Field<&PortRcvErrorDetails::looping_errors, at(14), 16, "PortLoopingErrors">> {};

/// What PortXmitDiscards is made of.
struct PortXmitDiscardDetails {
  PortNum port_select{};
  std::uint16_t counter_select{};
  std::uint16_t inactive_discards{};
  std::uint16_t neighbor_mtu_discards{};
  std::uint16_t sw_lifetime_limit_discards{};
  std::uint16_t sw_hoq_lifetime_limit_discards{};
  friend bool operator==(const PortXmitDiscardDetails&, const PortXmitDiscardDetails&) = default;
};
template <>
struct LayoutOf<PortXmitDiscardDetails>
    : Layout<"PortXmitDiscardDetails", "IBA 16.1.4.2", 12,
             Field<&PortXmitDiscardDetails::port_select, at(1), 8, "PortSelect">,
             Field<&PortXmitDiscardDetails::counter_select, at(2), 16, "CounterSelect", Show::Hex>,
             Field<&PortXmitDiscardDetails::inactive_discards, at(4), 16, "PortInactiveDiscards">,
             Field<&PortXmitDiscardDetails::neighbor_mtu_discards, at(6), 16,
                   "PortNeighborMTUDiscards">,
             Field<&PortXmitDiscardDetails::sw_lifetime_limit_discards, at(8), 16,
                   "PortSwLifetimeLimitDiscards">,
             Field<&PortXmitDiscardDetails::sw_hoq_lifetime_limit_discards, at(10), 16,
                   "PortSwHOQLifetimeLimitDiscards">> {};

/// Packets of one BTH:OpCode that were received on each VL.
struct PortVlOpPackets {
  std::uint8_t op_code{};
  PortNum port_select{};
  std::uint16_t counter_select{};  // a bit a VL
  std::array<std::uint16_t, 16> packets{};
  friend bool operator==(const PortVlOpPackets&, const PortVlOpPackets&) = default;
};
template <>
struct LayoutOf<PortVlOpPackets>
    : Layout<"PortVLOpPackets", "IBA 16.1.4.5", 36,
             Field<&PortVlOpPackets::op_code, at(0), 8, "OpCode", Show::Hex>,
             Field<&PortVlOpPackets::port_select, at(1), 8, "PortSelect">,
             Field<&PortVlOpPackets::counter_select, at(2), 16, "CounterSelect", Show::Hex>,
             Field<&PortVlOpPackets::packets, at(4), 16, "PortVLOpPackets">> {};

/// Their data.
struct PortVlOpData {
  std::uint8_t op_code{};
  PortNum port_select{};
  std::uint16_t counter_select{};
  std::array<std::uint32_t, 16> data{};
  friend bool operator==(const PortVlOpData&, const PortVlOpData&) = default;
};
template <>
struct LayoutOf<PortVlOpData>
    : Layout<"PortVLOpData", "IBA 16.1.4.6", 68,
             Field<&PortVlOpData::op_code, at(0), 8, "OpCode", Show::Hex>,
             Field<&PortVlOpData::port_select, at(1), 8, "PortSelect">,
             Field<&PortVlOpData::counter_select, at(2), 16, "CounterSelect", Show::Hex>,
             Field<&PortVlOpData::data, at(4), 32, "PortVLOpData">> {};

/// How long a VL had something to send and could not.
struct PortVlXmitWait {
  PortNum port_select{};
  std::uint16_t counter_select{};  // a bit a VL
  std::array<std::uint16_t, 16> ticks{};
  friend bool operator==(const PortVlXmitWait&, const PortVlXmitWait&) = default;
};
template <>
struct LayoutOf<PortVlXmitWait>
    : Layout<"PortVLXmitWaitCounters", "IBA 16.1.4.8", 36,
             Field<&PortVlXmitWait::port_select, at(1), 8, "PortSelect">,
             Field<&PortVlXmitWait::counter_select, at(2), 16, "CounterSelect", Show::Hex>,
             Field<&PortVlXmitWait::ticks, at(4), 16, "PortVLXmitWait">> {};

/// Data that was sent by SL.
struct PortXmitDataSl {
  PortNum port_select{};
  std::uint16_t counter_select{};  // a bit an SL
  std::array<std::uint32_t, 16> data{};
  friend bool operator==(const PortXmitDataSl&, const PortXmitDataSl&) = default;
};
template <>
struct LayoutOf<PortXmitDataSl>
    : Layout<"PortXmitDataSL", "IBA A13.6.4", 68,
             Field<&PortXmitDataSl::port_select, at(1), 8, "PortSelect">,
             Field<&PortXmitDataSl::counter_select, at(2), 16, "CounterSelect", Show::Hex>,
             Field<&PortXmitDataSl::data, at(4), 32, "PortXmitDataSL">> {};

/// Data that was received by SL.
struct PortRcvDataSl {
  PortNum port_select{};
  std::uint16_t counter_select{};
  std::array<std::uint32_t, 16> data{};
  friend bool operator==(const PortRcvDataSl&, const PortRcvDataSl&) = default;
};
template <>
struct LayoutOf<PortRcvDataSl>
    : Layout<"PortRcvDataSL", "IBA A13.6.4", 68,
             Field<&PortRcvDataSl::port_select, at(1), 8, "PortSelect">,
             Field<&PortRcvDataSl::counter_select, at(2), 16, "CounterSelect", Show::Hex>,
             Field<&PortRcvDataSl::data, at(4), 32, "PortRcvDataSL">> {};

}  // namespace ib::wire
