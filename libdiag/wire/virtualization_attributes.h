// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Virtual ports of an HCA port: vendor attributes 0xFFB0 to 0xFFB6 (Mellanox, from ConnectX-4 on),
// as OpenSM 5's iba/ib_types.h describes them, and the traps that tell of their changes. A CA's
// port is the one that the SMP comes in by; attribute modifiers are below.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "libdiag/wire/layout.h"
#include "libdiag/wire/smp_attributes.h"

namespace ib::wire {

namespace attr {
inline constexpr std::uint16_t kVirtualizationInfo = 0xFFB0, kVPortInfo = 0xFFB1,
                               kVNodeInfo = 0xFFB2, kVPortState = 0xFFB3,
                               kVNodeDescription = 0xFFB4,  // a NodeDescription
    kVPortGuidInfo = 0xFFB5,                                // a GUIDInfo
    kVPortPKeyTable = 0xFFB6;                               // a P_KeyTable
}
namespace port_cap2 {
inline constexpr std::uint16_t kVirtualization = 1U << 2;
}

/// AttributeModifier: 0.
struct VirtualizationInfo {
  std::uint16_t vport_cap{};        // virtual ports that the port can have
  std::uint16_t vport_index_top{};  // the highest index that is in use
  bool enable{};
  bool client_reregister{};   // asks the clients behind all virtual ports to register again
  bool vport_state_change{};  // a virtual port changed its state
  std::uint8_t revision{};
  std::uint8_t capability_mask{};
  friend bool operator==(const VirtualizationInfo&, const VirtualizationInfo&) = default;
};
template <>
struct LayoutOf<VirtualizationInfo>
    : Layout<"VirtualizationInfo", "OpenSM 5: attribute 0xFFB0", 64,
             Field<&VirtualizationInfo::vport_cap, at(0), 16, "VPortCap">,
             Field<&VirtualizationInfo::vport_index_top, at(2), 16, "VPortIndexTop">,
             Field<&VirtualizationInfo::enable, at(4), 1, "VirtualizationEnable">,
             Field<&VirtualizationInfo::client_reregister, at(4, 1), 1, "VClientReregistration">,
             Field<&VirtualizationInfo::vport_state_change, at(4, 2), 1, "VPortStateChange">,
             Field<&VirtualizationInfo::revision, at(6), 8, "VirtualizationRevision">,
             Field<&VirtualizationInfo::capability_mask, at(7), 8, "VirtualizationCapMask",
                   Show::Hex>> {};

/// AttributeModifier: the index of the virtual port.
struct VPortInfo {
  PortState state{PortState::NoChange};
  bool client_reregister{};
  bool lid_required{};  // of its own; else it has that of its port, or of another virtual port
  std::uint8_t guid_cap{};
  std::uint16_t capability_mask{};
  std::uint16_t p_key_violations{};
  std::uint16_t q_key_violations{};
  Lid lid{};
  std::uint16_t lid_by_index{};  // the virtual port whose LID it has where none is required
  Guid port_guid{};
  std::uint64_t port_profile{};
  friend bool operator==(const VPortInfo&, const VPortInfo&) = default;
};
template <>
struct LayoutOf<VPortInfo>
    : Layout<"VPortInfo", "OpenSM 5: attribute 0xFFB1", 64,
             Field<&VPortInfo::state, at(0), 4, "VPortState", Show::Named>,
             Field<&VPortInfo::client_reregister, at(0, 4), 1, "ClientReregister">,
             Field<&VPortInfo::lid_required, at(0, 5), 1, "LIDRequired">,
             Field<&VPortInfo::guid_cap, at(1), 8, "GUIDCap">,
             Field<&VPortInfo::capability_mask, at(2), 16, "VPortCapabilityMask", Show::Hex>,
             Field<&VPortInfo::p_key_violations, at(4), 16, "P_KeyViolations">,
             Field<&VPortInfo::q_key_violations, at(6), 16, "Q_KeyViolations">,
             Field<&VPortInfo::lid, at(8), 16, "VPortLID">,
             Field<&VPortInfo::lid_by_index, at(10), 16, "LIDByVPortIndex">,
             Field<&VPortInfo::port_guid, at(12), 64, "VPortGUID", Show::Guid>,
             Field<&VPortInfo::port_profile, at(20), 64, "VPortProfile", Show::Hex>> {};

/// The virtual HCA that a virtual port is of. AttributeModifier: the index of the virtual port.
struct VNodeInfo {
  std::uint16_t partition_cap{};
  PortNum local_port_num{};
  std::uint8_t num_ports{};
  Guid node_guid{};
  friend bool operator==(const VNodeInfo&, const VNodeInfo&) = default;
};
template <>
struct LayoutOf<VNodeInfo>
    : Layout<"VNodeInfo", "OpenSM 5: attribute 0xFFB2", 64,
             Field<&VNodeInfo::partition_cap, at(0), 16, "PartitionCap">,
             Field<&VNodeInfo::local_port_num, at(2), 8, "LocalPortNum">,
             Field<&VNodeInfo::num_ports, at(3), 8, "NumPorts">,
             Field<&VNodeInfo::node_guid, at(4), 64, "VNodeGUID", Show::Guid>> {};

/// AttributeModifier: the block; 128 virtual ports each, by index.
struct VPortStates {
  std::array<std::uint8_t, 128> state{};  // PortState
  friend bool operator==(const VPortStates&, const VPortStates&) = default;
};
template <>
struct LayoutOf<VPortStates>
    : Layout<"VPortState", "OpenSM 5: attribute 0xFFB3", 64,
             Field<&VPortStates::state, at(0), 4, "VPortState", Show::Named>> {};
inline constexpr unsigned kVPortsInBlock = 128;

/// AttributeModifier of VPortGUIDInfo and VPortP_KeyTable: index and block, 16 bits each. No public
/// source says which comes first; as in P_KeyTable of a switch (IBA 14.2.5.7) the block comes last.
constexpr std::uint32_t vport_block(std::uint16_t index, std::uint16_t block) {
  return std::uint32_t{index} << 16 | block;
}

/// QosConfigSL of a virtual port: its index with this bit.
inline constexpr std::uint32_t kQosConfigSlOfVPort = 1U << 31;
namespace mlnx_cap {
// Of word 0 of GeneralInfo.
inline constexpr std::uint32_t kVirtualization = 1U << 15, kVPortSlRateLimit = 1U << 25;
}  // namespace mlnx_cap

namespace trap {
inline constexpr std::uint16_t kVPortDataChange = 1144, kVPortStateChange = 1146;
}
inline constexpr std::uint32_t kMlnxVendorId = 0x0002C9;
/// Where the details of a vendor's notice have the trap number, and those below the rest.
inline constexpr std::size_t kVendorTrapNumber = 52, kVPortTrapLid = 2, kVPortTrapIndex = 12;

/// A trap about virtual ports: a notice of the vendor, whose number is among its details.
struct VPortTrap {
  std::uint16_t number{};
  Lid lid{};              // of the port that they are behind
  std::uint16_t index{};  // of kVPortDataChange
};
/// nullopt: the notice is another one.
inline std::optional<VPortTrap> vport_trap(const Notice& notice) {
  const auto at = [&](std::size_t place) {
    return static_cast<std::uint16_t>(notice.details[place] << 8 | notice.details[place + 1]);
  };
  if (notice.is_generic || notice.producer_type != kMlnxVendorId) return std::nullopt;
  const std::uint16_t number = at(kVendorTrapNumber);
  if (number != trap::kVPortDataChange && number != trap::kVPortStateChange) return std::nullopt;
  return VPortTrap{number, Lid{at(kVPortTrapLid)}, at(kVPortTrapIndex)};
}

}  // namespace ib::wire
