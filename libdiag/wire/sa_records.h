// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Records of subnet administration (IBA 15.2.5). The number behind Show is the field's
// component-mask bit.
#pragma once

#include "libdiag/wire/gmp_attributes.h"
#include "libdiag/wire/smp_attributes.h"

namespace ib::wire {

/// How mtu, rate and packet life are compared (IBA 15.2.5.16).
enum class Selector : std::uint8_t { GreaterThan = 0, LessThan = 1, Exactly = 2, Largest = 3 };

struct NodeRecord {
  Lid lid{};
  NodeInfo node_info{};
  NodeDescription node_description{};
  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};
// Component mask: LID 0, reserved 1, NodeInfo's fields 2-13 by NodeInfo's own layout,
// NodeDescription 14 (IBA 15.2.5.2).
template <>
struct LayoutOf<NodeRecord>
    : Layout<
          "NodeRecord", "IBA 15.2.5.2", 108,
          Field<&NodeRecord::lid, at(0), 16, "LID", Show::Decimal, 0>,
          Field<&NodeRecord::node_info, at(4), 320, "NodeInfo", Show::Nested>,
          Field<&NodeRecord::node_description, at(44), 512, "NodeDescription", Show::Nested, 14>> {
};

struct PortInfoRecord {
  Lid end_port_lid{};
  PortNum port_num{};
  std::uint8_t options{};
  PortInfo port_info{};
  friend bool operator==(const PortInfoRecord&, const PortInfoRecord&) = default;
};
template <>
struct LayoutOf<PortInfoRecord>
    : Layout<"PortInfoRecord", "IBA 15.2.5.3", 68,
             Field<&PortInfoRecord::end_port_lid, at(0), 16, "EndportLID", Show::Decimal, 0>,
             Field<&PortInfoRecord::port_num, at(2), 8, "PortNum", Show::Decimal, 1>,
             Field<&PortInfoRecord::options, at(3), 8, "Options", Show::Hex, 2>,
             Field<&PortInfoRecord::port_info, at(4), 512, "PortInfo", Show::Nested>> {};

struct PathRecord {
  std::uint64_t service_id{};
  Gid dgid{};
  Gid sgid{};
  Lid dlid{};
  Lid slid{};
  bool raw_traffic{};
  std::uint32_t flow_label{};
  std::uint8_t hop_limit{};
  std::uint8_t traffic_class{};
  bool reversible{};
  std::uint8_t numb_path{};
  PKey p_key{};
  std::uint16_t qos_class{};
  Sl sl{};
  Selector mtu_selector{};
  std::uint8_t mtu{};
  Selector rate_selector{};
  std::uint8_t rate{};
  Selector packet_life_selector{};
  std::uint8_t packet_life{};
  std::uint8_t preference{};
  friend bool operator==(const PathRecord&, const PathRecord&) = default;
};
template <>
struct LayoutOf<PathRecord>
    : Layout<"PathRecord", "IBA 15.2.5.16", 64,
             Field<&PathRecord::service_id, at(0), 64, "ServiceID", Show::Hex, 0>,
             Field<&PathRecord::dgid, at(8), 128, "DGID", Show::Gid, 2>,
             Field<&PathRecord::sgid, at(24), 128, "SGID", Show::Gid, 3>,
             Field<&PathRecord::dlid, at(40), 16, "DLID", Show::Decimal, 4>,
             Field<&PathRecord::slid, at(42), 16, "SLID", Show::Decimal, 5>,
             Field<&PathRecord::raw_traffic, at(44), 1, "RawTraffic", Show::Decimal, 6>,
             Field<&PathRecord::flow_label, at(44, 4), 20, "FlowLabel", Show::Hex, 8>,
             Field<&PathRecord::hop_limit, at(47), 8, "HopLimit", Show::Decimal, 9>,
             Field<&PathRecord::traffic_class, at(48), 8, "TClass", Show::Decimal, 10>,
             Field<&PathRecord::reversible, at(49), 1, "Reversible", Show::Decimal, 11>,
             Field<&PathRecord::numb_path, at(49, 1), 7, "NumbPath", Show::Decimal, 12>,
             Field<&PathRecord::p_key, at(50), 16, "P_Key", Show::Hex, 13>,
             Field<&PathRecord::qos_class, at(52), 12, "QoSClass", Show::Decimal, 14>,
             Field<&PathRecord::sl, at(53, 4), 4, "SL", Show::Decimal, 15>,
             Field<&PathRecord::mtu_selector, at(54), 2, "MtuSelector", Show::Named, 16>,
             Field<&PathRecord::mtu, at(54, 2), 6, "Mtu", Show::Named, 17>,
             Field<&PathRecord::rate_selector, at(55), 2, "RateSelector", Show::Named, 18>,
             Field<&PathRecord::rate, at(55, 2), 6, "Rate", Show::Named, 19>,
             Field<&PathRecord::packet_life_selector, at(56), 2, "PacketLifeTimeSelector",
                   Show::Named, 20>,
             Field<&PathRecord::packet_life, at(56, 2), 6, "PacketLifeTime", Show::Decimal, 21>,
             Field<&PathRecord::preference, at(57), 8, "Preference", Show::Decimal, 22>> {};

struct McMemberRecord {
  Gid mgid{};
  Gid port_gid{};
  std::uint32_t q_key{};
  Lid mlid{};
  Selector mtu_selector{};
  std::uint8_t mtu{};
  std::uint8_t traffic_class{};
  PKey p_key{};
  Selector rate_selector{};
  std::uint8_t rate{};
  Selector packet_life_selector{};
  std::uint8_t packet_life{};
  Sl sl{};
  std::uint32_t flow_label{};
  std::uint8_t hop_limit{};
  std::uint8_t scope{};
  std::uint8_t join_state{};  // bits: 1 full, 2 non, 4 send-only non, 8 send-only full
  bool proxy_join{};
  friend bool operator==(const McMemberRecord&, const McMemberRecord&) = default;
};
template <>
struct LayoutOf<McMemberRecord>
    : Layout<"MCMemberRecord", "IBA 15.2.5.17", 52,
             Field<&McMemberRecord::mgid, at(0), 128, "MGID", Show::Gid, 0>,
             Field<&McMemberRecord::port_gid, at(16), 128, "PortGID", Show::Gid, 1>,
             Field<&McMemberRecord::q_key, at(32), 32, "Q_Key", Show::Hex, 2>,
             Field<&McMemberRecord::mlid, at(36), 16, "MLID", Show::Hex, 3>,
             Field<&McMemberRecord::mtu_selector, at(38), 2, "MTUSelector", Show::Named, 4>,
             Field<&McMemberRecord::mtu, at(38, 2), 6, "MTU", Show::Named, 5>,
             Field<&McMemberRecord::traffic_class, at(39), 8, "TClass", Show::Decimal, 6>,
             Field<&McMemberRecord::p_key, at(40), 16, "P_Key", Show::Hex, 7>,
             Field<&McMemberRecord::rate_selector, at(42), 2, "RateSelector", Show::Named, 8>,
             Field<&McMemberRecord::rate, at(42, 2), 6, "Rate", Show::Named, 9>,
             Field<&McMemberRecord::packet_life_selector, at(43), 2, "PacketLifeTimeSelector",
                   Show::Named, 10>,
             Field<&McMemberRecord::packet_life, at(43, 2), 6, "PacketLifeTime", Show::Decimal, 11>,
             Field<&McMemberRecord::sl, at(44), 4, "SL", Show::Decimal, 12>,
             Field<&McMemberRecord::flow_label, at(44, 4), 20, "FlowLabel", Show::Hex, 13>,
             Field<&McMemberRecord::hop_limit, at(47), 8, "HopLimit", Show::Decimal, 14>,
             Field<&McMemberRecord::scope, at(48), 4, "Scope", Show::Decimal, 15>,
             Field<&McMemberRecord::join_state, at(48, 4), 4, "JoinState", Show::Hex, 16>,
             Field<&McMemberRecord::proxy_join, at(49), 1, "ProxyJoin", Show::Decimal, 17>> {};

struct SlToVlRecord {
  Lid lid{};
  PortNum input_port{};
  PortNum output_port{};
  SlToVlTable table{};
  friend bool operator==(const SlToVlRecord&, const SlToVlRecord&) = default;
};
template <>
struct LayoutOf<SlToVlRecord>
    : Layout<"SLtoVLMappingTableRecord", "IBA 15.2.5.4", 16,
             Field<&SlToVlRecord::lid, at(0), 16, "LID", Show::Decimal, 0>,
             Field<&SlToVlRecord::input_port, at(2), 8, "InputPortNum", Show::Decimal, 1>,
             Field<&SlToVlRecord::output_port, at(3), 8, "OutputPortNum", Show::Decimal, 2>,
             Field<&SlToVlRecord::table, at(8), 64, "SLtoVLMappingTable", Show::Nested>> {};

struct SwitchInfoRecord {
  Lid lid{};
  SwitchInfo switch_info{};
  friend bool operator==(const SwitchInfoRecord&, const SwitchInfoRecord&) = default;
};
template <>
struct LayoutOf<SwitchInfoRecord>
    : Layout<"SwitchInfoRecord", "IBA 15.2.5.5", 4 + LayoutOf<SwitchInfo>::kBytes,
             Field<&SwitchInfoRecord::lid, at(0), 16, "LID", Show::Decimal, 0>,
             Field<&SwitchInfoRecord::switch_info, at(4), LayoutOf<SwitchInfo>::kBytes * 8,
                   "SwitchInfo", Show::Nested>> {};

struct LinearFdtRecord {
  Lid lid{};
  std::uint16_t block{};  // of 64 LIDs
  LinearForwardingTable table{};
  friend bool operator==(const LinearFdtRecord&, const LinearFdtRecord&) = default;
};
template <>
struct LayoutOf<LinearFdtRecord>
    : Layout<"LinearForwardingTableRecord", "IBA 15.2.5.6", 72,
             Field<&LinearFdtRecord::lid, at(0), 16, "LID", Show::Decimal, 0>,
             Field<&LinearFdtRecord::block, at(2), 16, "BlockNum", Show::Decimal, 1>,
             Field<&LinearFdtRecord::table, at(8), 512, "LinearForwardingTable", Show::Nested>> {};

struct MulticastFdtRecord {
  Lid lid{};
  std::uint8_t position{};  // of 16 ports
  std::uint16_t block{};    // of 32 MLIDs; 9 bits
  MulticastForwardingTable table{};
  friend bool operator==(const MulticastFdtRecord&, const MulticastFdtRecord&) = default;
};
template <>
struct LayoutOf<MulticastFdtRecord>
    : Layout<
          "MulticastForwardingTableRecord", "IBA 15.2.5.7", 72,
          Field<&MulticastFdtRecord::lid, at(0), 16, "LID", Show::Decimal, 0>,
          Field<&MulticastFdtRecord::position, at(2), 4, "Position", Show::Decimal, 1>,
          Field<&MulticastFdtRecord::block, at(2, 7), 9, "BlockNum", Show::Decimal, 3>,
          Field<&MulticastFdtRecord::table, at(8), 512, "MulticastForwardingTable", Show::Nested>> {
};

struct SmInfoRecord {
  Lid lid{};
  SmInfo sm_info{};
  friend bool operator==(const SmInfoRecord&, const SmInfoRecord&) = default;
};
template <>
struct LayoutOf<SmInfoRecord>
    : Layout<"SMInfoRecord", "IBA 15.2.5.8", 25,
             Field<&SmInfoRecord::lid, at(0), 16, "LID", Show::Decimal, 0>,
             Field<&SmInfoRecord::sm_info, at(4), 168, "SMInfo", Show::Nested>> {};

struct VlArbitrationRecord {
  Lid lid{};
  PortNum output_port{};
  std::uint8_t block{};  // 1 low-low, 2 low-high, 3 high-low, 4 high-high
  VlArbitrationTable table{};
  friend bool operator==(const VlArbitrationRecord&, const VlArbitrationRecord&) = default;
};
template <>
struct LayoutOf<VlArbitrationRecord>
    : Layout<"VLArbitrationTableRecord", "IBA 15.2.5.9", 72,
             Field<&VlArbitrationRecord::lid, at(0), 16, "LID", Show::Decimal, 0>,
             Field<&VlArbitrationRecord::output_port, at(2), 8, "OutputPortNum", Show::Decimal, 1>,
             Field<&VlArbitrationRecord::block, at(3), 8, "BlockNum", Show::Decimal, 2>,
             Field<&VlArbitrationRecord::table, at(8), 512, "VLArbitrationTable", Show::Nested>> {};

struct PKeyTableRecord {
  Lid lid{};
  std::uint16_t block{};  // of 32 keys
  PortNum port{};
  PKeyTable table{};
  friend bool operator==(const PKeyTableRecord&, const PKeyTableRecord&) = default;
};
template <>
struct LayoutOf<PKeyTableRecord>
    : Layout<"P_KeyTableRecord", "IBA 15.2.5.11", 72,
             Field<&PKeyTableRecord::lid, at(0), 16, "LID", Show::Decimal, 0>,
             Field<&PKeyTableRecord::block, at(2), 16, "BlockNum", Show::Decimal, 1>,
             Field<&PKeyTableRecord::port, at(4), 8, "PortNum", Show::Decimal, 2>,
             Field<&PKeyTableRecord::table, at(8), 512, "P_KeyTable", Show::Nested>> {};

struct InformInfoRecord {
  Gid subscriber_gid{};
  std::uint16_t enumeration{};
  InformInfo inform_info{};
  friend bool operator==(const InformInfoRecord&, const InformInfoRecord&) = default;
};
template <>
struct LayoutOf<InformInfoRecord>
    : Layout<"InformInfoRecord", "IBA 15.2.5.12", 60,
             Field<&InformInfoRecord::subscriber_gid, at(0), 128, "SubscriberGID", Show::Gid, 0>,
             Field<&InformInfoRecord::enumeration, at(16), 16, "Enum", Show::Decimal, 1>,
             Field<&InformInfoRecord::inform_info, at(24), 288, "InformInfo", Show::Nested>> {};

struct LinkRecord {
  Lid from_lid{};
  PortNum from_port{};
  PortNum to_port{};
  Lid to_lid{};
  friend bool operator==(const LinkRecord&, const LinkRecord&) = default;
};
template <>
struct LayoutOf<LinkRecord>
    : Layout<"LinkRecord", "IBA 15.2.5.13", 6,
             Field<&LinkRecord::from_lid, at(0), 16, "FromLID", Show::Decimal, 0>,
             Field<&LinkRecord::from_port, at(2), 8, "FromPort", Show::Decimal, 1>,
             Field<&LinkRecord::to_port, at(3), 8, "ToPort", Show::Decimal, 2>,
             Field<&LinkRecord::to_lid, at(4), 16, "ToLID", Show::Decimal, 3>> {};

struct ServiceRecord {
  std::uint64_t service_id{};
  Gid service_gid{};
  PKey service_p_key{};
  std::uint32_t lease{};  // seconds; 0xFFFFFFFF: for ever
  std::array<std::uint8_t, 16> key{};
  std::array<char, 64> name{};
  std::array<std::uint8_t, 16> data8{};
  std::array<std::uint16_t, 8> data16{};
  std::array<std::uint32_t, 4> data32{};
  std::array<std::uint64_t, 2> data64{};
  friend bool operator==(const ServiceRecord&, const ServiceRecord&) = default;
};
template <>
struct LayoutOf<ServiceRecord>
    : Layout<"ServiceRecord", "IBA 15.2.5.14", 176,
             Field<&ServiceRecord::service_id, at(0), 64, "ServiceID", Show::Hex, 0>,
             Field<&ServiceRecord::service_gid, at(8), 128, "ServiceGID", Show::Gid, 1>,
             Field<&ServiceRecord::service_p_key, at(24), 16, "ServiceP_Key", Show::Hex, 2>,
             Field<&ServiceRecord::lease, at(28), 32, "ServiceLease", Show::Hex, 4>,
             Field<&ServiceRecord::key, at(32), 8, "ServiceKey", Show::Secret, 5>,
             Field<&ServiceRecord::name, at(48), 8, "ServiceName", Show::Text, 6>,
             Field<&ServiceRecord::data8, at(112), 8, "ServiceData8", Show::Hex, 7>,
             Field<&ServiceRecord::data16, at(128), 16, "ServiceData16", Show::Hex, 23>,
             Field<&ServiceRecord::data32, at(144), 32, "ServiceData32", Show::Hex, 31>,
             Field<&ServiceRecord::data64, at(160), 64, "ServiceData64", Show::Hex, 35>> {};

struct GuidInfoRecord {
  Lid lid{};
  std::uint8_t block{};  // of 8 GUIDs
  GuidInfo guid_info{};
  friend bool operator==(const GuidInfoRecord&, const GuidInfoRecord&) = default;
};
template <>
struct LayoutOf<GuidInfoRecord>
    : Layout<"GUIDInfoRecord", "IBA 15.2.5.18", 72,
             Field<&GuidInfoRecord::lid, at(0), 16, "LID", Show::Decimal, 0>,
             Field<&GuidInfoRecord::block, at(2), 8, "BlockNum", Show::Decimal, 1>,
             Field<&GuidInfoRecord::guid_info, at(8), 512, "GUIDInfo", Show::Nested>> {};

/// The request for paths between several ports; the GIDs follow, sources first. Answered with
/// PathRecords.
struct MultiPathRecord {
  bool raw_traffic{};
  std::uint32_t flow_label{};
  std::uint8_t hop_limit{};
  std::uint8_t traffic_class{};
  bool reversible{};
  std::uint8_t numb_path{};
  PKey p_key{};
  std::uint16_t qos_class{};
  Sl sl{};
  Selector mtu_selector{};
  std::uint8_t mtu{};
  Selector rate_selector{};
  std::uint8_t rate{};
  Selector packet_life_selector{};
  std::uint8_t packet_life{};
  std::uint8_t service_id_high{};  // its first byte
  std::uint8_t independence_selector{};
  std::uint8_t sgid_count{};
  std::uint8_t dgid_count{};
  std::uint64_t service_id_low{};  // 56 bits
  friend bool operator==(const MultiPathRecord&, const MultiPathRecord&) = default;
};
template <>
struct LayoutOf<MultiPathRecord>
    : Layout<
          "MultiPathRecord", "IBA 15.2.5.20", 24,
          Field<&MultiPathRecord::raw_traffic, at(0), 1, "RawTraffic", Show::Decimal, 0>,
          Field<&MultiPathRecord::flow_label, at(0, 4), 20, "FlowLabel", Show::Hex, 2>,
          Field<&MultiPathRecord::hop_limit, at(3), 8, "HopLimit", Show::Decimal, 3>,
          Field<&MultiPathRecord::traffic_class, at(4), 8, "TClass", Show::Decimal, 4>,
          Field<&MultiPathRecord::reversible, at(5), 1, "Reversible", Show::Decimal, 5>,
          Field<&MultiPathRecord::numb_path, at(5, 1), 7, "NumbPath", Show::Decimal, 6>,
          Field<&MultiPathRecord::p_key, at(6), 16, "P_Key", Show::Hex, 7>,
          Field<&MultiPathRecord::qos_class, at(8), 12, "QoSClass", Show::Decimal, 8>,
          Field<&MultiPathRecord::sl, at(9, 4), 4, "SL", Show::Decimal, 9>,
          Field<&MultiPathRecord::mtu_selector, at(10), 2, "MtuSelector", Show::Named, 10>,
          Field<&MultiPathRecord::mtu, at(10, 2), 6, "Mtu", Show::Named, 11>,
          Field<&MultiPathRecord::rate_selector, at(11), 2, "RateSelector", Show::Named, 12>,
          Field<&MultiPathRecord::rate, at(11, 2), 6, "Rate", Show::Named, 13>,
          Field<&MultiPathRecord::packet_life_selector, at(12), 2, "PacketLifeTimeSelector",
                Show::Named, 14>,
          Field<&MultiPathRecord::packet_life, at(12, 2), 6, "PacketLifeTime", Show::Decimal, 15>,
          Field<&MultiPathRecord::service_id_high, at(13), 8, "ServiceID8MSB", Show::Hex, 16>,
          Field<&MultiPathRecord::independence_selector, at(14), 2, "IndependenceSelector",
                Show::Decimal, 17>,
          Field<&MultiPathRecord::sgid_count, at(15), 8, "SGIDCount", Show::Decimal, 19>,
          Field<&MultiPathRecord::dgid_count, at(16), 8, "DGIDCount", Show::Decimal, 20>,
          Field<&MultiPathRecord::service_id_low, at(17), 56, "ServiceID56LSB", Show::Hex, 21>> {};

/// One node on the way of a path.
struct TraceRecord {
  std::uint64_t gid_prefix{};
  std::uint16_t id_generation{};
  std::uint8_t node_type{};
  std::uint64_t node_id{};
  std::uint64_t chassis_id{};
  std::uint64_t entry_port_id{};
  std::uint64_t exit_port_id{};
  PortNum entry_port{};
  PortNum exit_port{};
  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};
template <>
struct LayoutOf<TraceRecord>
    : Layout<"TraceRecord", "IBA 15.2.5.19", 46,
             Field<&TraceRecord::gid_prefix, at(0), 64, "GIDPrefix", Show::Hex, 0>,
             Field<&TraceRecord::id_generation, at(8), 16, "IDGeneration", Show::Decimal, 1>,
             Field<&TraceRecord::node_type, at(11), 8, "NodeType", Show::Named, 3>,
             Field<&TraceRecord::node_id, at(12), 64, "NodeID", Show::Hex, 4>,
             Field<&TraceRecord::chassis_id, at(20), 64, "ChassisID", Show::Hex, 5>,
             Field<&TraceRecord::entry_port_id, at(28), 64, "EntryPortID", Show::Hex, 6>,
             Field<&TraceRecord::exit_port_id, at(36), 64, "ExitPortID", Show::Hex, 7>,
             Field<&TraceRecord::entry_port, at(44), 8, "EntryPort", Show::Decimal, 8>,
             Field<&TraceRecord::exit_port, at(45), 8, "ExitPort", Show::Decimal, 9>> {};

/// Bytes from one record to the next in a table: whole 8-byte words, the unit of AttributeOffset
/// (IBA 15.2.1.1).
template <class T>
constexpr std::size_t record_bytes() {
  return (LayoutOf<T>::kBytes + 7) / 8 * 8;
}

}  // namespace ib::wire
