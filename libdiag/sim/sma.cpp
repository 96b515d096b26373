// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The subnet management agent: M_Key, then one attribute after the other (IBA 14.2.4, 14.2.5).
// PortInfo has its own file; tables are in sma_tables.cpp.
#include <cstring>

#include "libdiag/sim/device.h"
#include "libdiag/sim/impl.h"
#include "libdiag/wire/port_attributes.h"
#include "libdiag/wire/virtualization_attributes.h"

namespace ib::sim {

namespace attr = wire::attr;
namespace status = wire::status;

/// IBA 14.2.4.1, table 117. A SMP that fails is dropped without an answer.
bool Model::Impl::m_key_allows(const Flight& f, PortIndex end) {
  SimPort& p = ports_[end];
  if (p.info.m_key == 0) return true;
  if (f.mad.get<&wire::SmpHeader::m_key>() == p.info.m_key) {
    p.lease = 0;  // a request with the key keeps the lease alive (IBA 14.2.4.2)
    return true;
  }
  if (f.mad.method() == wire::Method::Get && p.info.m_key_protect_bits < 2) return true;
  if (p.info.m_key_violations < 0xFFFF) ++p.info.m_key_violations;
  start_lease(end);
  trap_bad_m_key(f, end);
  return false;
}

/// A device may say of a port what no other says.
void Model::Impl::show_state(Flight& f, PortIndex end, const DeviceTraits& traits) const {
  const PortIndex p = addressed_port(f, end, f.mad.attribute_modifier() & 0xFF);
  if (p == kNoPort || ports_[p].number >= traits.shown_state.size()) return;
  if (const auto state = traits.shown_state[ports_[p].number])
    wire::View<wire::PortInfo>(f.mad.data())
        .set<&wire::PortInfo::port_state>(static_cast<wire::PortState>(*state));
}

bool Model::Impl::sma_answer(Flight& f, PortIndex end) {
  if (!m_key_allows(f, end)) return false;
  std::uint16_t result = status::kOk;
  // Get's data is not looked at, so what it carried must not come back as ours.
  bool set = f.mad.method() == wire::Method::Set;
  DeviceTraits* const traits = node_of(end).traits.get();
  const std::uint16_t attribute = f.mad.attribute_id();
  if (traits != nullptr && traits->kept.contains(attribute)) set = false;
  if (f.mad.get<&wire::MadHeader::base_version>() != 1 ||
      f.mad.get<&wire::MadHeader::class_version>() != 1) {
    result = status::kBadVersion;
  } else if (traits != nullptr && traits->unsupported.contains(attribute)) {
    result = status::kBadAttribute;
  } else if (traits != nullptr && set && traits->refused.contains(attribute)) {
    result = status::kBadValue;
  } else {
    if (!set) std::memset(f.mad.bytes.data() + wire::kSmpDataOffset, 0, wire::kSmpDataBytes);
    result = sma_attribute(f, end, set);
    if (traits != nullptr && attribute == attr::kPortInfo) show_state(f, end, *traits);
  }
  f.mad.set<&wire::SmpHeader::status>(result);
  if (!f.mad.is_directed()) f.mad.set<&wire::MadHeader::status>(result);
  return true;
}

std::uint16_t Model::Impl::sma_attribute(Flight& f, PortIndex end, bool set) {
  switch (f.mad.attribute_id()) {
    case attr::kNodeInfo:
      return sma_node_info(f, end, set);
    case attr::kNodeDescription:
      if (set) return status::kBadAttribute;
      std::memcpy(f.mad.data(), node_of(end).description.data(), 64);
      return status::kOk;
    case attr::kSwitchInfo:
      return sma_switch_info(f, end, set);
    case attr::kPortInfo:
      return sma_port_info(f, end, set);
    case attr::kGuidInfo:
      return sma_guid_info(f, end, set);
    case attr::kPKeyTable:
      return sma_p_keys(f, end, set);
    case attr::kSlToVl:
      return sma_sl_to_vl(f, end, set);
    case attr::kVlArbitration:
      return sma_vl_arbitration(f, end, set);
    case attr::kLinearForwarding:
      return sma_linear_forwarding(f, end, set);
    case attr::kMulticastForwarding:
      return sma_multicast_forwarding(f, end, set);
    case attr::kMlnxGeneralInfo:
      return sma_general_info(f, end, set);
    case attr::kMlnxArInfo:
      return sma_ar_info(f, end, set);
    case attr::kMlnxArGroupTable:
      return sma_ar_group(f, end, set);
    case attr::kMlnxArLft:
      return sma_ar_lft(f, end, set);
    case attr::kMlnxQosConfigSl:
      return sma_qos_config_sl(f, end, set);
    case attr::kPortInfoExtended:
      return sma_port_info_extended(f, end, set);
    case attr::kSwitchPortStateTable:
      return sma_port_states(f, end, set);
    case attr::kMlnxExtendedPortInfo:
      return sma_extended_port_info(f, end, set);
    case attr::kVirtualizationInfo:
    case attr::kVPortInfo:
    case attr::kVNodeInfo:
    case attr::kVPortState:
    case attr::kVNodeDescription:
    case attr::kVPortGuidInfo:
    case attr::kVPortPKeyTable:
      return sma_virtualization(f, end, set);
    default:
      // IBA 13.4.7: a method and attribute that this class and device do not have together.
      return status::kBadAttribute;
  }
}

wire::NodeInfo Model::Impl::make_node_info(NodeIndex n, PortIndex by) const {
  const fabric::Node& from = fabric_.node(n);
  const SimNode& node = nodes_[n];
  wire::NodeInfo info;
  info.node_type = node.type;
  info.num_ports = node.num_ports;
  info.system_image_guid = from.system_image_guid;
  info.node_guid = from.guid;
  info.port_guid = ports_[node.is_switch() ? node.first_port : by].guid;
  info.partition_cap = node.partition_cap;
  info.device_id = from.device_id;
  info.revision = from.revision;
  info.local_port_num = PortNum{ports_[by].number};
  info.vendor_id = from.vendor_id;
  return info;
}

std::uint16_t Model::Impl::sma_node_info(Flight& f, PortIndex end, bool set) {
  if (set) return status::kBadAttribute;
  wire::set_body(f.mad, make_node_info(ports_[end].node, f.ingress));
  return status::kOk;
}

std::uint16_t Model::Impl::sma_switch_info(Flight& f, PortIndex end, bool set) {
  SimNode& node = node_of(end);
  if (!node.is_switch()) return status::kBadAttribute;
  wire::SwitchInfo& info = node.sw->info;
  std::uint16_t result = status::kOk;
  if (set) {
    const auto wanted = wire::body<wire::SwitchInfo>(f.mad);
    const std::uint32_t mft_end = 0xC000U + info.multicast_fdb_cap;
    const bool top_valid =
        wanted.multicast_fdb_top == 0 || wanted.multicast_fdb_top == 0xBFFF ||
        (wanted.multicast_fdb_top >= 0xC000 && wanted.multicast_fdb_top < mft_end);
    if (wanted.linear_fdb_top >= info.linear_fdb_cap || !top_valid) {
      result = status::kBadValue;
    } else {
      info.linear_fdb_top = wanted.linear_fdb_top;
      info.default_port = wanted.default_port;
      info.default_multicast_primary_port = wanted.default_multicast_primary_port;
      info.default_multicast_not_primary_port = wanted.default_multicast_not_primary_port;
      info.life_time_value = wanted.life_time_value;
      info.multicast_fdb_top = wanted.multicast_fdb_top;
      // Written as 1 it clears, written as 0 it stays (IBA 14.2.5.4).
      if (wanted.port_state_change) info.port_state_change = false;
    }
    std::memset(f.mad.bytes.data() + wire::kSmpDataOffset, 0, wire::kSmpDataBytes);
  }
  wire::set_body(f.mad, info);
  return result;
}

PortIndex Model::Impl::addressed_port(const Flight&, PortIndex end, std::uint32_t number) const {
  const SimNode& node = nodes_[ports_[end].node];
  if (number > node.num_ports) return kNoPort;
  // On a CA or router port 0 means the port that the SMP came in by (IBA 14.2.5.6).
  if (number == 0 && !node.is_switch()) return end;
  return node.first_port + number;
}

/// What a broken device answers: its header is right, its data is noise.
void Model::Impl::garble(Flight& f) {
  for (std::size_t i = 0; i < wire::kSmpDataBytes; i += 8)
    store_be<std::uint64_t>(f.mad.bytes.data() + wire::kSmpDataOffset + i, random_.next());
}

}  // namespace ib::sim
