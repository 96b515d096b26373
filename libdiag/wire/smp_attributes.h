// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Attributes of subnet management (class 0x01 and 0x81), each described once with its section of
// the specification.
#pragma once

#include "libdiag/wire/layout.h"

namespace ib::wire {

enum class NodeType : std::uint8_t { ChannelAdapter = 1, Switch = 2, Router = 3 };
enum class PortState : std::uint8_t {
  NoChange = 0,
  Down = 1,
  Initialize = 2,
  Armed = 3,
  Active = 4
};
enum class PhysState : std::uint8_t {
  NoChange = 0,
  Sleep = 1,
  Polling = 2,
  Disabled = 3,
  Training = 4,
  LinkUp = 5,
  ErrorRecovery = 6,
  PhyTest = 7
};

/// Who this is and by which port you reached it. LocalPortNum is the port the request came in by (0
/// on a switch's port 0).
struct NodeInfo {
  std::uint8_t base_version{1};
  std::uint8_t class_version{1};
  NodeType node_type{NodeType::ChannelAdapter};
  std::uint8_t num_ports{};
  Guid system_image_guid{};
  Guid node_guid{};
  Guid port_guid{};
  std::uint16_t partition_cap{};
  std::uint16_t device_id{};
  std::uint32_t revision{};
  PortNum local_port_num{};
  std::uint32_t vendor_id{};  // 24 bits

  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};
// The last number is the component-mask bit in NodeRecord (IBA 15.2.5.2).
template <>
struct LayoutOf<NodeInfo>
    : Layout<"NodeInfo", "IBA 14.2.5.3", 40,
             Field<&NodeInfo::base_version, at(0), 8, "BaseVersion", Show::Decimal, 2>,
             Field<&NodeInfo::class_version, at(1), 8, "ClassVersion", Show::Decimal, 3>,
             Field<&NodeInfo::node_type, at(2), 8, "NodeType", Show::Named, 4>,
             Field<&NodeInfo::num_ports, at(3), 8, "NumPorts", Show::Decimal, 5>,
             Field<&NodeInfo::system_image_guid, at(4), 64, "SystemImageGUID", Show::Guid, 6>,
             Field<&NodeInfo::node_guid, at(12), 64, "NodeGUID", Show::Guid, 7>,
             Field<&NodeInfo::port_guid, at(20), 64, "PortGUID", Show::Guid, 8>,
             Field<&NodeInfo::partition_cap, at(28), 16, "PartitionCap", Show::Decimal, 9>,
             Field<&NodeInfo::device_id, at(30), 16, "DeviceID", Show::Hex, 10>,
             Field<&NodeInfo::revision, at(32), 32, "Revision", Show::Hex, 11>,
             Field<&NodeInfo::local_port_num, at(36), 8, "LocalPortNum", Show::Decimal, 12>,
             Field<&NodeInfo::vendor_id, at(37), 24, "VendorID", Show::Hex, 13>> {};

/// 64 characters of UTF-8, NUL-padded; hostile text until printable().
struct NodeDescription {
  std::array<char, 64> text{};

  friend bool operator==(const NodeDescription&, const NodeDescription&) = default;
};
template <>
struct LayoutOf<NodeDescription>
    : Layout<"NodeDescription", "IBA 14.2.5.2", 64,
             Field<&NodeDescription::text, at(0), 8, "NodeString", Show::Text>> {};

struct SwitchInfo {
  std::uint16_t linear_fdb_cap{};
  std::uint16_t random_fdb_cap{};
  std::uint16_t multicast_fdb_cap{};
  std::uint16_t linear_fdb_top{};
  std::uint8_t default_port{};
  std::uint8_t default_multicast_primary_port{};
  std::uint8_t default_multicast_not_primary_port{};
  std::uint8_t life_time_value{};  // 4.096 us x 2^n, 5 bits
  bool port_state_change{};        // written as 1 it clears
  std::uint8_t optimized_sl_to_vl{};
  std::uint16_t lids_per_port{};
  std::uint16_t partition_enforcement_cap{};
  bool inbound_enforcement_cap{};
  bool outbound_enforcement_cap{};
  bool filter_raw_inbound_cap{};
  bool filter_raw_outbound_cap{};
  bool enhanced_port0{};
  std::uint16_t multicast_fdb_top{};

  friend bool operator==(const SwitchInfo&, const SwitchInfo&) = default;
};
// The last number is the component-mask bit in SwitchInfoRecord (IBA 15.2.5.5).
template <>
struct LayoutOf<SwitchInfo>
    : Layout<
          "SwitchInfo", "IBA 14.2.5.4", 20,
          Field<&SwitchInfo::linear_fdb_cap, at(0), 16, "LinearFDBCap", Show::Decimal, 2>,
          Field<&SwitchInfo::random_fdb_cap, at(2), 16, "RandomFDBCap", Show::Decimal, 3>,
          Field<&SwitchInfo::multicast_fdb_cap, at(4), 16, "MulticastFDBCap", Show::Decimal, 4>,
          Field<&SwitchInfo::linear_fdb_top, at(6), 16, "LinearFDBTop", Show::Decimal, 5>,
          Field<&SwitchInfo::default_port, at(8), 8, "DefaultPort", Show::Decimal, 6>,
          Field<&SwitchInfo::default_multicast_primary_port, at(9), 8,
                "DefaultMulticastPrimaryPort", Show::Decimal, 7>,
          Field<&SwitchInfo::default_multicast_not_primary_port, at(10), 8,
                "DefaultMulticastNotPrimaryPort", Show::Decimal, 8>,
          Field<&SwitchInfo::life_time_value, at(11), 5, "LifeTimeValue", Show::Decimal, 9>,
          Field<&SwitchInfo::port_state_change, at(11, 5), 1, "PortStateChange", Show::Decimal, 10>,
          Field<&SwitchInfo::optimized_sl_to_vl, at(11, 6), 2, "OptimizedSLtoVLMappingProgramming">,
          Field<&SwitchInfo::lids_per_port, at(12), 16, "LIDsPerPort", Show::Decimal, 12>,
          Field<&SwitchInfo::partition_enforcement_cap, at(14), 16, "PartitionEnforcementCap",
                Show::Decimal, 13>,
          Field<&SwitchInfo::inbound_enforcement_cap, at(16), 1, "InboundEnforcementCap",
                Show::Decimal, 14>,
          Field<&SwitchInfo::outbound_enforcement_cap, at(16, 1), 1, "OutboundEnforcementCap",
                Show::Decimal, 15>,
          Field<&SwitchInfo::filter_raw_inbound_cap, at(16, 2), 1, "FilterRawInboundCap",
                Show::Decimal, 16>,
          Field<&SwitchInfo::filter_raw_outbound_cap, at(16, 3), 1, "FilterRawOutboundCap",
                Show::Decimal, 17>,
          Field<&SwitchInfo::enhanced_port0, at(16, 4), 1, "EnhancedPort0", Show::Decimal, 18>,
          Field<&SwitchInfo::multicast_fdb_top, at(18), 16, "MulticastFDBTop">> {};

/// AttributeModifier: bits 7..0 the port (0 on a CA: the port the request came in by), bit 31 "I
/// understand extended speeds".
inline constexpr std::uint32_t kPortInfoSmSupportsExtendedSpeeds = 0x80000000U;

/// PortInfo:CapabilityMask bits (IBA 14.2.5.6, table 146).
namespace port_cap {
inline constexpr std::uint32_t kIsSm = 1U << 1, kNotice = 1U << 2, kTrap = 1U << 3,
                               kSlMapping = 1U << 6, kSmDisabled = 1U << 10,
                               kSystemImageGuid = 1U << 11, kExtendedSpeeds = 1U << 14,
                               kCapabilityMask2 = 1U << 15, kCommunicationManagement = 1U << 16,
                               kVendorClass = 1U << 20, kCapabilityMaskNotice = 1U << 22,
                               kClientReregistration = 1U << 25,
                               kOtherLocalChangesNotice = 1U << 26, kMulticastFdbTop = 1U << 30;
}
namespace port_cap2 {
inline constexpr std::uint16_t kPortInfoExtended = 1U << 1, kLinkWidth2x = 1U << 4, kHdr = 1U << 5,
                               kNdr = 1U << 10, kExtendedSpeeds2 = 1U << 11, kXdr = 1U << 12;
}

struct PortInfo {
  std::uint64_t m_key{};
  std::uint64_t gid_prefix{};
  Lid lid{};
  Lid master_sm_lid{};
  std::uint32_t capability_mask{};
  std::uint16_t diag_code{};
  std::uint16_t m_key_lease_period{};  // seconds
  PortNum local_port_num{};
  std::uint8_t link_width_enabled{};  // bits: 1 1x, 2 4x, 4 8x, 8 12x, 16 2x
  std::uint8_t link_width_supported{};
  std::uint8_t link_width_active{};
  std::uint8_t link_speed_supported{};  // bits: 1 2.5, 2 5, 4 10 Gb/s a lane
  PortState port_state{PortState::NoChange};
  PhysState port_physical_state{PhysState::NoChange};
  std::uint8_t link_down_default_state{};  // 1 sleep, 2 polling
  std::uint8_t m_key_protect_bits{};
  std::uint8_t lmc{};  // 0-7
  std::uint8_t link_speed_active{};
  std::uint8_t link_speed_enabled{};
  std::uint8_t neighbor_mtu{};  // 1-5 = 256-4096
  Sl master_sm_sl{};
  std::uint8_t vl_cap{};  // 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14
  std::uint8_t init_type{};
  std::uint8_t vl_high_limit{};
  std::uint8_t vl_arbitration_high_cap{};
  std::uint8_t vl_arbitration_low_cap{};
  std::uint8_t init_type_reply{};
  std::uint8_t mtu_cap{};
  std::uint8_t vl_stall_count{};
  std::uint8_t hoq_life{};
  std::uint8_t operational_vls{};
  bool partition_enforcement_inbound{};
  bool partition_enforcement_outbound{};
  bool filter_raw_inbound{};
  bool filter_raw_outbound{};
  std::uint16_t m_key_violations{};
  std::uint16_t p_key_violations{};
  std::uint16_t q_key_violations{};
  std::uint8_t guid_cap{};
  bool client_reregister{};
  std::uint8_t multicast_p_key_trap_suppression{};
  std::uint8_t subnet_timeout{};   // 4.096 us x 2^n
  std::uint8_t resp_time_value{};  // 4.096 us x 2^n
  std::uint8_t local_phy_errors{};
  std::uint8_t overrun_errors{};
  std::uint16_t max_credit_hint{};
  std::uint8_t link_speed_ext_active2{};
  std::uint8_t link_speed_ext_supported2{};
  std::uint8_t link_speed_ext_enabled2{};
  std::uint32_t link_round_trip_latency{};  // 24 bits
  std::uint16_t capability_mask2{};
  std::uint8_t link_speed_ext_active{};
  std::uint8_t link_speed_ext_supported{};
  std::uint8_t link_speed_ext_enabled{};

  friend bool operator==(const PortInfo&, const PortInfo&) = default;
};
// The last number is the component-mask bit in PortInfoRecord (IBA 15.2.5.3); reserved fields have
// bits of their own there (19, 46, 51, 56).
template <>
struct LayoutOf<PortInfo>
    : Layout<
          "PortInfo", "IBA 14.2.5.6", 64,
          Field<&PortInfo::m_key, at(0), 64, "M_Key", Show::Secret, 3>,
          Field<&PortInfo::gid_prefix, at(8), 64, "GidPrefix", Show::Hex, 4>,
          Field<&PortInfo::lid, at(16), 16, "LID", Show::Decimal, 5>,
          Field<&PortInfo::master_sm_lid, at(18), 16, "MasterSMLID", Show::Decimal, 6>,
          Field<&PortInfo::capability_mask, at(20), 32, "CapabilityMask", Show::Flags, 7>,
          Field<&PortInfo::diag_code, at(24), 16, "DiagCode", Show::Hex, 8>,
          Field<&PortInfo::m_key_lease_period, at(26), 16, "M_KeyLeasePeriod", Show::Decimal, 9>,
          Field<&PortInfo::local_port_num, at(28), 8, "LocalPortNum", Show::Decimal, 10>,
          Field<&PortInfo::link_width_enabled, at(29), 8, "LinkWidthEnabled", Show::Flags, 11>,
          Field<&PortInfo::link_width_supported, at(30), 8, "LinkWidthSupported", Show::Flags, 12>,
          Field<&PortInfo::link_width_active, at(31), 8, "LinkWidthActive", Show::Named, 13>,
          Field<&PortInfo::link_speed_supported, at(32), 4, "LinkSpeedSupported", Show::Flags, 14>,
          Field<&PortInfo::port_state, at(32, 4), 4, "PortState", Show::Named, 15>,
          Field<&PortInfo::port_physical_state, at(33), 4, "PortPhysicalState", Show::Named, 16>,
          Field<&PortInfo::link_down_default_state, at(33, 4), 4, "LinkDownDefaultState",
                Show::Named, 17>,
          Field<&PortInfo::m_key_protect_bits, at(34), 2, "M_KeyProtectBits", Show::Decimal, 18>,
          Field<&PortInfo::lmc, at(34, 5), 3, "LMC", Show::Decimal, 20>,
          Field<&PortInfo::link_speed_active, at(35), 4, "LinkSpeedActive", Show::Named, 21>,
          Field<&PortInfo::link_speed_enabled, at(35, 4), 4, "LinkSpeedEnabled", Show::Flags, 22>,
          Field<&PortInfo::neighbor_mtu, at(36), 4, "NeighborMTU", Show::Named, 23>,
          Field<&PortInfo::master_sm_sl, at(36, 4), 4, "MasterSMSL", Show::Decimal, 24>,
          Field<&PortInfo::vl_cap, at(37), 4, "VLCap", Show::Named, 25>,
          Field<&PortInfo::init_type, at(37, 4), 4, "InitType", Show::Hex, 26>,
          Field<&PortInfo::vl_high_limit, at(38), 8, "VLHighLimit", Show::Decimal, 27>,
          Field<&PortInfo::vl_arbitration_high_cap, at(39), 8, "VLArbitrationHighCap",
                Show::Decimal, 28>,
          Field<&PortInfo::vl_arbitration_low_cap, at(40), 8, "VLArbitrationLowCap", Show::Decimal,
                29>,
          Field<&PortInfo::init_type_reply, at(41), 4, "InitTypeReply", Show::Hex, 30>,
          Field<&PortInfo::mtu_cap, at(41, 4), 4, "MTUCap", Show::Named, 31>,
          Field<&PortInfo::vl_stall_count, at(42), 3, "VLStallCount", Show::Decimal, 32>,
          Field<&PortInfo::hoq_life, at(42, 3), 5, "HOQLife", Show::Decimal, 33>,
          Field<&PortInfo::operational_vls, at(43), 4, "OperationalVLs", Show::Named, 34>,
          Field<&PortInfo::partition_enforcement_inbound, at(43, 4), 1,
                "PartitionEnforcementInbound", Show::Decimal, 35>,
          Field<&PortInfo::partition_enforcement_outbound, at(43, 5), 1,
                "PartitionEnforcementOutbound", Show::Decimal, 36>,
          Field<&PortInfo::filter_raw_inbound, at(43, 6), 1, "FilterRawInbound", Show::Decimal, 37>,
          Field<&PortInfo::filter_raw_outbound, at(43, 7), 1, "FilterRawOutbound", Show::Decimal,
                38>,
          Field<&PortInfo::m_key_violations, at(44), 16, "M_KeyViolations", Show::Decimal, 39>,
          Field<&PortInfo::p_key_violations, at(46), 16, "P_KeyViolations", Show::Decimal, 40>,
          Field<&PortInfo::q_key_violations, at(48), 16, "Q_KeyViolations", Show::Decimal, 41>,
          Field<&PortInfo::guid_cap, at(50), 8, "GUIDCap", Show::Decimal, 42>,
          Field<&PortInfo::client_reregister, at(51), 1, "ClientReregister", Show::Decimal, 43>,
          Field<&PortInfo::multicast_p_key_trap_suppression, at(51, 1), 2,
                "MulticastPKeyTrapSuppressionEnabled", Show::Decimal, 44>,
          Field<&PortInfo::subnet_timeout, at(51, 3), 5, "SubnetTimeOut", Show::Decimal, 45>,
          Field<&PortInfo::resp_time_value, at(52, 3), 5, "RespTimeValue", Show::Decimal, 47>,
          Field<&PortInfo::local_phy_errors, at(53), 4, "LocalPhyErrors", Show::Decimal, 48>,
          Field<&PortInfo::overrun_errors, at(53, 4), 4, "OverrunErrors", Show::Decimal, 49>,
          Field<&PortInfo::max_credit_hint, at(54), 16, "MaxCreditHint", Show::Decimal, 50>,
          Field<&PortInfo::link_speed_ext_active2, at(56, 1), 2, "LinkSpeedExtActive2">,
          Field<&PortInfo::link_speed_ext_supported2, at(56, 3), 2, "LinkSpeedExtSupported2">,
          Field<&PortInfo::link_speed_ext_enabled2, at(56, 5), 3, "LinkSpeedExtEnabled2">,
          Field<&PortInfo::link_round_trip_latency, at(57), 24, "LinkRoundTripLatency",
                Show::Decimal, 52>,
          Field<&PortInfo::capability_mask2, at(60), 16, "CapabilityMask2", Show::Flags, 53>,
          Field<&PortInfo::link_speed_ext_active, at(62), 4, "LinkSpeedExtActive", Show::Named, 54>,
          Field<&PortInfo::link_speed_ext_supported, at(62, 4), 4, "LinkSpeedExtSupported",
                Show::Flags, 55>,
          Field<&PortInfo::link_speed_ext_enabled, at(63, 3), 5, "LinkSpeedExtEnabled", Show::Flags,
                57>> {};

/// AttributeModifier: block, and on a switch's external port the port << 16.
struct PKeyTable {
  std::array<PKey, 32> p_keys{};
  friend bool operator==(const PKeyTable&, const PKeyTable&) = default;
};
template <>
struct LayoutOf<PKeyTable>
    : Layout<"P_KeyTable", "IBA 14.2.5.7", 64,
             Field<&PKeyTable::p_keys, at(0), 16, "P_KeyTableBlock", Show::Hex>> {};

/// AttributeModifier: input port << 8 | output port; the optimized form has bit 16 for all outputs,
/// bit 17 for all inputs. The last number is the first of the sixteen component-mask bits in
/// SLtoVLMappingTableRecord (IBA 15.2.5.4).
struct SlToVlTable {
  std::array<std::uint8_t, 16> vl{};  // by SL
  friend bool operator==(const SlToVlTable&, const SlToVlTable&) = default;
};
template <>
struct LayoutOf<SlToVlTable>
    : Layout<"SLtoVLMappingTable", "IBA 14.2.5.8", 8,
             Field<&SlToVlTable::vl, at(0), 4, "SLtoVL", Show::Decimal, 4>> {};

/// AttributeModifier: block (1 low-low, 2 low-high, 3 high-low, 4 high-high) << 16 | port.
struct VlArbitrationTable {
  std::array<std::uint8_t, 32> vl{};
  std::array<std::uint8_t, 32> weight{};
  friend bool operator==(const VlArbitrationTable&, const VlArbitrationTable&) = default;
};
template <>
struct LayoutOf<VlArbitrationTable>
    : Layout<"VLArbitrationTable", "IBA 14.2.5.9", 64,
             Field<&VlArbitrationTable::vl, at(0, 4), 4, "VL", Show::Decimal, -1, 16>,
             Field<&VlArbitrationTable::weight, at(1), 8, "Weight", Show::Decimal, -1, 16>> {};

/// AttributeModifier: block of 64 LIDs. 255 means "drop".
struct LinearForwardingTable {
  std::array<std::uint8_t, 64> port{};
  friend bool operator==(const LinearForwardingTable&, const LinearForwardingTable&) = default;
};
template <>
struct LayoutOf<LinearForwardingTable>
    : Layout<"LinearForwardingTable", "IBA 14.2.5.10", 64,
             Field<&LinearForwardingTable::port, at(0), 8, "Port">> {};

/// AttributeModifier: position (16 ports each) << 28 | block of 32 MLIDs.
struct MulticastForwardingTable {
  std::array<std::uint16_t, 32> port_mask{};
  friend bool operator==(const MulticastForwardingTable&,
                         const MulticastForwardingTable&) = default;
};
template <>
struct LayoutOf<MulticastForwardingTable>
    : Layout<"MulticastForwardingTable", "IBA 14.2.5.12", 64,
             Field<&MulticastForwardingTable::port_mask, at(0), 16, "PortMask", Show::Hex>> {};

/// AttributeModifier: block of 8 GUIDs. The last number is the first of the eight component-mask
/// bits in GUIDInfoRecord (IBA 15.2.5.18).
struct GuidInfo {
  std::array<Guid, 8> guid{};
  friend bool operator==(const GuidInfo&, const GuidInfo&) = default;
};
template <>
struct LayoutOf<GuidInfo> : Layout<"GUIDInfo", "IBA 14.2.5.5", 64,
                                   Field<&GuidInfo::guid, at(0), 64, "GUID", Show::Guid, 4>> {};

enum class SmState : std::uint8_t { NotActive = 0, Discovering = 1, Standby = 2, Master = 3 };

/// The last number is the component-mask bit in SMInfoRecord (IBA 15.2.5.8).
struct SmInfo {
  Guid guid{};
  std::uint64_t sm_key{};
  std::uint32_t act_count{};
  std::uint8_t priority{};
  SmState sm_state{SmState::NotActive};
  friend bool operator==(const SmInfo&, const SmInfo&) = default;
};
template <>
struct LayoutOf<SmInfo>
    : Layout<"SMInfo", "IBA 14.2.5.13", 21, Field<&SmInfo::guid, at(0), 64, "GUID", Show::Guid, 2>,
             Field<&SmInfo::sm_key, at(8), 64, "SM_Key", Show::Secret, 3>,
             Field<&SmInfo::act_count, at(16), 32, "ActCount", Show::Decimal, 4>,
             Field<&SmInfo::priority, at(20), 4, "Priority", Show::Decimal, 5>,
             Field<&SmInfo::sm_state, at(20, 4), 4, "SMState", Show::Named, 6>> {};

/// A trap's or report's Notice, generic form; `details` is read by trap number
/// (IBA 13.4.8.2, 14.2.5.1).
struct Notice {
  bool is_generic{true};
  std::uint8_t type{};  // 0 fatal, 1 urgent, 2 security, 3 subnet management, 4 informational
  std::uint32_t
      producer_type{};          // 24 bits: 1 CA, 2 switch, 3 router, 4 class manager; or the vendor
  std::uint16_t trap_number{};  // or device id
  Lid issuer_lid{};
  bool toggle{};
  std::uint16_t count{};
  std::array<std::uint8_t, 54> details{};
  friend bool operator==(const Notice&, const Notice&) = default;
};
template <>
struct LayoutOf<Notice>
    : Layout<"Notice", "IBA 13.4.8.2", 64, Field<&Notice::is_generic, at(0), 1, "IsGeneric">,
             Field<&Notice::type, at(0, 1), 7, "Type">,
             Field<&Notice::producer_type, at(1), 24, "ProducerType">,
             Field<&Notice::trap_number, at(4), 16, "TrapNumber">,
             Field<&Notice::issuer_lid, at(6), 16, "IssuerLID">,
             Field<&Notice::toggle, at(8), 1, "NoticeToggle">,
             Field<&Notice::count, at(8, 1), 15, "NoticeCount">,
             Field<&Notice::details, at(10), 8, "DataDetails", Show::Raw>> {};

namespace trap {
inline constexpr std::uint16_t kGidInService = 64, kGidOutOfService = 65, kMcGroupCreated = 66,
                               kMcGroupDeleted = 67, kLinkStateChange = 128,
                               kLocalLinkIntegrity = 129, kExcessiveBufferOverrun = 130,
                               kFlowControlWatchdog = 131, kCapabilityChange = 144,
                               kSystemImageGuidChange = 145, kBadMKey = 256, kBadPKey = 257,
                               kBadQKey = 258, kSwitchBadPKey = 259;
}

/// Vendor attribute 0xFF90 (Mellanox): bit 0 of each speed byte is FDR10.
struct MlnxExtendedPortInfo {
  std::uint8_t state_change_enable{};
  std::uint8_t link_speed_supported{};
  std::uint8_t link_speed_enabled{};
  std::uint8_t link_speed_active{};
  friend bool operator==(const MlnxExtendedPortInfo&, const MlnxExtendedPortInfo&) = default;
};
template <>
struct LayoutOf<MlnxExtendedPortInfo>
    : Layout<"MlnxExtendedPortInfo", "infiniband-diags: MLNX_EXT_PORT_INFO", 64,
             Field<&MlnxExtendedPortInfo::state_change_enable, at(3), 8, "StateChangeEnable",
                   Show::Hex>,
             Field<&MlnxExtendedPortInfo::link_speed_supported, at(7), 8, "LinkSpeedSupported",
                   Show::Hex>,
             Field<&MlnxExtendedPortInfo::link_speed_enabled, at(11), 8, "LinkSpeedEnabled",
                   Show::Hex>,
             Field<&MlnxExtendedPortInfo::link_speed_active, at(15), 8, "LinkSpeedActive",
                   Show::Hex>> {};

/// Vendor attribute 0xFF17 (Mellanox) with modifier 4: what a device can do, bit b in bit b % 32 of
/// word b / 32.
struct MlnxGeneralInfo {
  std::array<std::uint32_t, 4> capability_mask{};
  friend bool operator==(const MlnxGeneralInfo&, const MlnxGeneralInfo&) = default;
};
template <>
struct LayoutOf<MlnxGeneralInfo>
    : Layout<"MlnxGeneralInfo", "Mellanox: SMP_GeneralInfo, capability mask", 16,
             Field<&MlnxGeneralInfo::capability_mask, at(0), 32, "CapabilityMask", Show::Hex>> {};
namespace mlnx_cap {
inline constexpr std::uint32_t kSlRateLimit = 1U << 24;  // of word 0: QosConfigSL limits rates
}

/// Vendor attribute 0xFF82 (Mellanox), the modifier is the port: by SL the share of the bandwidth
/// in the upper 12 bits, the rate limit in Mb/s in the lower 20; 0: none.
struct MlnxQosConfigSl {
  std::array<std::uint32_t, 16> sl{};
  friend bool operator==(const MlnxQosConfigSl&, const MlnxQosConfigSl&) = default;
};
template <>
struct LayoutOf<MlnxQosConfigSl>
    : Layout<"MlnxQosConfigSL", "Mellanox: SMP_QosConfigSL", 64,
             Field<&MlnxQosConfigSl::sl, at(0), 32, "ShareAndRateLimit", Show::Hex>> {};

}  // namespace ib::wire
