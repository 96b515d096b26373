// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Records of subnet administration (IBA 15.2.5). The number behind Show is the field's
// component-mask bit.
#pragma once

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

/// Bytes from one record to the next in a table: whole 8-byte words, the unit of AttributeOffset
/// (IBA 15.2.1.1).
template <class T>
constexpr std::size_t record_bytes() {
  return (LayoutOf<T>::kBytes + 7) / 8 * 8;
}

}  // namespace ib::wire
