// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/fabric.h"

#include <algorithm>

namespace ib::fabric {

void Fabric::reserve(std::size_t nodes, std::size_t ports) {
  nodes_.reserve(nodes);
  ports_.reserve(ports);
}

NodeIndex Fabric::add_node(Node node) {
  const auto index = static_cast<NodeIndex>(nodes_.size());
  node.first_port = static_cast<std::uint32_t>(ports_.size());
  ports_.resize(ports_.size() + node.num_ports + std::size_t{1});
  if (node.is_switch()) {
    for (unsigned p = 0; p <= node.num_ports; ++p) ports_[node.first_port + p].present = true;
  }
  by_guid_.emplace(node.guid, index);
  nodes_.push_back(std::move(node));
  indexed_ = false;
  return index;
}

void Fabric::connect(PortRef a, PortRef b, wire::LinkWidth width, wire::LinkSpeed speed) {
  disconnect(a);
  disconnect(b);
  for (const auto& [end, far] : {std::pair{a, b}, std::pair{b, a}}) {
    Port& p = port(end);
    p.present = true;
    p.peer = far;
    p.width = width;
    p.speed = speed;
  }
}

void Fabric::disconnect(PortRef end) {
  Port& p = port(end);
  if (!p.peer) return;
  port(p.peer).peer = PortRef{};
  p.peer = PortRef{};
}

std::optional<NodeIndex> Fabric::find_node(Guid guid) const {
  const auto it = by_guid_.find(guid);
  if (it == by_guid_.end()) return std::nullopt;
  return it->second;
}

std::optional<PortRef> Fabric::find_port_guid(Guid guid) const {
  if (!indexed_) const_cast<Fabric*>(this)->reindex();
  const auto it = by_port_guid_.find(guid);
  if (it == by_port_guid_.end()) return std::nullopt;
  return it->second;
}

std::optional<PortRef> Fabric::find_lid(Lid lid) const {
  if (!indexed_) const_cast<Fabric*>(this)->reindex();
  if (lid.value >= by_lid_.size() || !by_lid_[lid.value]) return std::nullopt;
  return by_lid_[lid.value];
}

void Fabric::reindex() {
  by_guid_.clear();
  by_port_guid_.clear();
  by_lid_.clear();
  by_guid_.reserve(nodes_.size());
  by_port_guid_.reserve(nodes_.size());
  for (NodeIndex n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    by_guid_.emplace(node.guid, n);
    const unsigned first = node.is_switch() ? 0 : 1;
    const unsigned last = node.is_switch() ? 0 : node.num_ports;
    for (unsigned p = first; p <= last; ++p) {
      const Port& end = port(n, p);
      const PortRef ref{n, static_cast<std::uint8_t>(p)};
      if (end.guid.value != 0) by_port_guid_.emplace(end.guid, ref);
      if (!end.lid.is_unicast()) continue;
      const std::size_t lids_end =
          std::min<std::size_t>(end.lid.value + (std::size_t{1} << (end.lmc & 7U)),
                                kLidUnicastMax.value + std::size_t{1});
      if (by_lid_.size() < lids_end) by_lid_.resize(lids_end);
      for (std::size_t lid = end.lid.value; lid < lids_end; ++lid) {
        if (!by_lid_[lid]) by_lid_[lid] = ref;
      }
    }
  }
  indexed_ = true;
}

std::size_t Fabric::count(wire::NodeType type) const {
  return static_cast<std::size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [&](const Node& n) { return n.type == type; }));
}

std::size_t Fabric::link_count() const {
  std::size_t count = 0;
  for (NodeIndex n = 0; n < nodes_.size(); ++n) {
    for (unsigned p = 0; p <= nodes_[n].num_ports; ++p) {
      const PortRef self{n, static_cast<std::uint8_t>(p)};
      const PortRef peer = port(self).peer;
      if (peer && self <= peer) ++count;
    }
  }
  return count;
}

PortRef end_port_of(const Fabric& fabric, PortRef p) {
  return fabric.node(p.node).is_switch() ? PortRef{p.node, 0} : p;
}

}  // namespace ib::fabric
