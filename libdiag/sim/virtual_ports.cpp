// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The part of the SMA that is about virtual ports (vendor attributes 0xFFB0 to 0xFFB6), and what
// hosts do with them. An index or a block that is not there is an invalid attribute modifier.
#include "libdiag/sim/virtual_ports.h"

#include <algorithm>
#include <cstring>

#include "libdiag/sim/device.h"
#include "libdiag/sim/impl.h"

namespace ib::sim {

namespace attr = wire::attr;
namespace status = wire::status;
using wire::PortState;

namespace {

constexpr unsigned kVPortGuids = 8;
/// GUIDs that hosts make up: the local bit of an EUI-64, and the index.
constexpr Guid made_up(Guid guid, unsigned index) {
  return Guid{(guid.value | std::uint64_t{1} << 57) + (std::uint64_t{index} << 48)};
}

void begin(VirtualPort& v, std::size_t p_keys) {
  v.state = PortState::Down;
  v.lid = {};
  v.p_keys.assign(p_keys, PKey{0});
  v.p_keys[0] = kDefaultPKey;
  v.guids.assign(kVPortGuids, Guid{});
  v.rates = {};
}

/// A virtual port waits for a subnet manager as soon as its host wants it, and its port is up.
void follow(VirtualPort& v, bool enabled, PortState of_port) {
  const bool up = v.is_up && enabled && of_port >= PortState::Initialize;
  if (!up)
    v.state = PortState::Down;
  else if (v.state == PortState::Down)
    v.state = PortState::Initialize;
}

}  // namespace

VirtualPorts* Model::Impl::virtual_ports(PortIndex end) {
  const SimPort& p = ports_[end];
  const auto& traits = nodes_[p.node].traits;
  if (!traits) return nullptr;
  const auto at = traits->virtual_ports.find(p.number);
  return at == traits->virtual_ports.end() ? nullptr : &at->second;
}

void Model::Impl::give_virtual_ports(PortIndex end, unsigned count) {
  SimPort& p = ports_[end];
  const SimNode& node = nodes_[p.node];
  auto& of_node = node.traits->virtual_ports;
  constexpr std::uint16_t kBit = wire::port_cap2::kVirtualization;
  if (count == 0) {
    of_node.erase(p.number);
    p.info.capability_mask2 &= static_cast<std::uint16_t>(~kBit);
    return;
  }
  p.info.capability_mask2 |= kBit;
  p.info.capability_mask |= wire::port_cap::kCapabilityMask2;
  VirtualPorts& v = of_node[p.number];
  v.enabled = v.state_change = false;
  const std::size_t before = v.ports.size();
  v.ports.resize(count);
  for (std::size_t i = 0; i < v.ports.size(); ++i) {
    const auto index = static_cast<unsigned>(i + 1);
    if (i >= before) {
      v.ports[i].guid = made_up(p.guid, index);
      v.ports[i].node_guid = made_up(fabric_.node(p.node).guid, index);
    }
    begin(v.ports[i], node.partition_cap);
  }
}

/// The port went up or down.
void Model::Impl::virtual_ports_follow(PortIndex end) {
  VirtualPorts* all = virtual_ports(end);
  if (all == nullptr) return;
  for (VirtualPort& v : all->ports) {
    const PortState before = v.state;
    follow(v, all->enabled, ports_[end].info.port_state);
    all->state_change = all->state_change || v.state != before;
  }
}

/// What an index means: 0 the port itself.
PortState Model::Impl::vport_state(PortIndex end, const VirtualPorts& all, unsigned index) const {
  if (index == 0) return ports_[end].info.port_state;
  return index <= all.ports.size() ? all.ports[index - 1].state : PortState::NoChange;
}

std::uint16_t Model::Impl::sma_virtualization_info(Flight& f, PortIndex end, bool set) {
  VirtualPorts& all = *virtual_ports(end);
  bool reregister = false;
  if (set) {
    const auto wanted = wire::body<wire::VirtualizationInfo>(f.mad);
    all.enabled = wanted.enable;
    // As SwitchInfo:PortStateChange (IBA 14.2.5.4); no public source says.
    if (wanted.vport_state_change) all.state_change = false;
    reregister = wanted.client_reregister;
    for (VirtualPort& v : all.ports) follow(v, all.enabled, ports_[end].info.port_state);
  }
  wire::VirtualizationInfo info;
  info.vport_cap = static_cast<std::uint16_t>(all.ports.size() + 1);
  info.vport_index_top = static_cast<std::uint16_t>(all.enabled ? all.ports.size() : 0);
  info.enable = all.enabled;
  info.client_reregister = reregister;
  info.vport_state_change = all.state_change;
  std::memset(f.mad.data(), 0, wire::kSmpDataBytes);
  wire::set_body(f.mad, info);
  return status::kOk;
}

std::uint16_t Model::Impl::sma_vport_info(Flight& f, PortIndex end, VirtualPort* v, bool set) {
  const PortState of_port = ports_[end].info.port_state;
  std::uint16_t result = status::kOk;
  bool reregister = false;
  if (set && v != nullptr) {
    const auto wanted = wire::body<wire::VPortInfo>(f.mad);
    const bool moves = wanted.state != PortState::NoChange && wanted.state != v->state;
    // Up, and not beyond its port.
    if (moves && (wanted.state < v->state || v->state == PortState::Down ||
                  wanted.state > of_port || wanted.state > PortState::Active)) {
      result = status::kBadValue;
    } else {
      if (moves) v->state = wanted.state;
      if (v->lid_required) v->lid = wanted.lid;
      reregister = wanted.client_reregister;
    }
  }
  wire::VPortInfo info;
  info.state = v != nullptr ? v->state : of_port;
  info.client_reregister = reregister;
  info.lid_required = v != nullptr && v->lid_required;
  info.guid_cap = kVPortGuids;
  info.lid = v != nullptr ? v->lid : ports_[end].info.lid;
  info.port_guid = v != nullptr ? v->guid : ports_[end].guid;
  std::memset(f.mad.data(), 0, wire::kSmpDataBytes);
  wire::set_body(f.mad, info);
  return result;
}

std::uint16_t Model::Impl::sma_vport_p_keys(Flight& f, VirtualPort& v, std::size_t block,
                                            bool set) {
  if (block * 32 >= v.p_keys.size()) return status::kBadValue;
  const std::size_t entries = std::min<std::size_t>(32, v.p_keys.size() - block * 32);
  const auto wanted = wire::body<wire::PKeyTable>(f.mad);
  wire::PKeyTable table;
  for (std::size_t i = 0; i < entries; ++i) {
    if (set) v.p_keys[block * 32 + i] = wanted.p_keys[i];
    table.p_keys[i] = v.p_keys[block * 32 + i];
  }
  wire::set_body(f.mad, table);
  return status::kOk;
}

std::uint16_t Model::Impl::sma_vport_guids(Flight& f, VirtualPort& v, std::size_t block, bool set) {
  if (block != 0) return status::kBadValue;
  const auto wanted = wire::body<wire::GuidInfo>(f.mad);
  wire::GuidInfo info;
  for (std::size_t i = 0; i < kVPortGuids; ++i) {
    if (set) v.guids[i] = wanted.guid[i];
    info.guid[i] = i == 0 ? v.guid : v.guids[i];
  }
  wire::set_body(f.mad, info);
  return status::kOk;
}

std::uint16_t Model::Impl::sma_vport_states(Flight& f, PortIndex end, bool set) {
  const VirtualPorts& all = *virtual_ports(end);
  const unsigned top = all.enabled ? static_cast<unsigned>(all.ports.size()) : 0;
  const std::uint32_t block = f.mad.attribute_modifier();
  if (set) return status::kBadAttribute;
  if (block > top / wire::kVPortsInBlock) return status::kBadValue;
  wire::VPortStates states;
  for (unsigned i = 0; i < wire::kVPortsInBlock; ++i)
    if (const unsigned index = block * wire::kVPortsInBlock + i; index <= top)
      states.state[i] = static_cast<std::uint8_t>(vport_state(end, all, index));
  wire::set_body(f.mad, states);
  return status::kOk;
}

std::uint16_t Model::Impl::sma_virtualization(Flight& f, PortIndex end, bool set) {
  VirtualPorts* all = virtual_ports(end);
  if (all == nullptr) return status::kBadAttribute;
  const std::uint16_t attribute = f.mad.attribute_id();
  if (attribute == attr::kVirtualizationInfo) return sma_virtualization_info(f, end, set);
  if (attribute == attr::kVPortState) return sma_vport_states(f, end, set);
  const bool has_blocks = attribute == attr::kVPortGuidInfo || attribute == attr::kVPortPKeyTable;
  const std::uint32_t modifier = f.mad.attribute_modifier();
  const std::uint32_t index = has_blocks ? modifier >> 16 : modifier;
  const std::size_t top = all->enabled ? all->ports.size() : 0;
  if (index > top) return status::kBadValue;
  VirtualPort* v = index == 0 ? nullptr : &all->ports[index - 1];
  if (attribute == attr::kVPortInfo) return sma_vport_info(f, end, v, set);
  if (has_blocks) {
    // The port's own have attributes of their own.
    if (v == nullptr) return status::kBadValue;
    return attribute == attr::kVPortPKeyTable ? sma_vport_p_keys(f, *v, modifier & 0xFFFF, set)
                                              : sma_vport_guids(f, *v, modifier & 0xFFFF, set);
  }
  if (set) return status::kBadAttribute;
  const SimNode& node = node_of(end);
  if (attribute == attr::kVNodeDescription) {
    const auto& text = v != nullptr ? v->description : node.description;
    std::memcpy(f.mad.data(), text.data(), text.size());
    return status::kOk;
  }
  wire::VNodeInfo info;
  info.partition_cap = node.partition_cap;
  info.local_port_num = PortNum{1};
  info.num_ports = 1;
  info.node_guid = v != nullptr ? v->node_guid : fabric_.node(ports_[end].node).guid;
  wire::set_body(f.mad, info);
  return status::kOk;
}

std::uint16_t Model::Impl::sma_vport_rates(Flight& f, PortIndex end, bool set) {
  VirtualPorts* all = virtual_ports(end);
  const std::uint32_t index = f.mad.attribute_modifier() & ~wire::kQosConfigSlOfVPort;
  if (all == nullptr || !all->enabled || index == 0 || index > all->ports.size())
    return status::kBadValue;
  auto& rates = all->ports[index - 1].rates;
  if (set) rates = wire::body<wire::MlnxQosConfigSl>(f.mad);
  wire::set_body(f.mad, rates);
  return status::kOk;
}

// ---- what hosts do

std::vector<VPortState> Model::vports(PortRef ref) const {
  std::vector<VPortState> out;
  if (!impl_->valid(ref)) return out;
  const VirtualPorts* all = impl_->virtual_ports(impl_->index_of(ref));
  if (all == nullptr) return out;
  for (std::size_t i = 0; i < all->ports.size(); ++i) {
    const VirtualPort& v = all->ports[i];
    out.push_back({static_cast<std::uint16_t>(i + 1), v.state, v.guid, v.node_guid, v.lid_required,
                   v.lid, v.p_keys, v.rates});
  }
  return out;
}

Result<void> Model::change_vport(Instant now, PortRef ref, unsigned index,
                                 const VPortChange& change) {
  advance(now);
  Impl& m = *impl_;
  if (!m.valid(ref)) return fail(ErrorKind::NotFound, "no such port");
  const PortIndex end = m.index_of(ref);
  VirtualPorts* all = m.virtual_ports(end);
  if (all == nullptr)
    return fail(ErrorKind::NotFound, "the port has no virtual ports (ctl device NODE vports=N)");
  if (index == 0 || index > all->ports.size())
    return fail(ErrorKind::NotFound,
                "its virtual ports are 1 to " + std::to_string(all->ports.size()));
  VirtualPort& v = all->ports[index - 1];
  const PortState before = v.state;
  if (change.is_up) v.is_up = *change.is_up;
  if (change.lid_required) v.lid_required = *change.lid_required;
  if (change.guid) v.guid = *change.guid;
  // With another identity, or other needs, it comes up from the beginning.
  if (change.guid || change.lid_required) begin(v, m.node_of(end).partition_cap);
  follow(v, all->enabled, m.ports_[end].info.port_state);
  if (v.state != before || change.guid || change.lid_required) {
    all->state_change = true;
    m.trap_vport(end, wire::trap::kVPortStateChange, 0);
  }
  if (change.description) {
    v.description = {};
    std::copy_n(change.description->begin(),
                std::min(change.description->size(), v.description.size()), v.description.begin());
    m.trap_vport(end, wire::trap::kVPortDataChange, static_cast<std::uint16_t>(index));
  }
  return {};
}

}  // namespace ib::sim
