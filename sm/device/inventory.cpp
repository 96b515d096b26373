// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/device/inventory.h"

#include <algorithm>

namespace sm::device {

using ib::wire::PortInfo;
using ib::wire::PortState;

bool may_have_lost(const ib::discover::Observed& found, ib::fabric::NodeIndex n) {
  const auto& node = found.fabric.node(n);
  for (unsigned p = 0; p <= (node.is_switch() ? 0U : node.num_ports); ++p) {
    const auto* port = found.known_port({n, static_cast<std::uint8_t>(p)});
    if (port == nullptr) continue;
    if (node.is_switch() ? !port->get<&PortInfo::lid>().is_unicast()
                         : port->state() == PortState::Initialize)
      return true;
  }
  return false;
}

const NodeTables* Inventory::find(ib::Guid node) const {
  const auto at = by_node_.find(node);
  return at == by_node_.end() ? nullptr : at->second.tables.get();
}

const Block* Inventory::held(const TableKind& kind, ib::Guid node, Slot slot) const {
  const NodeTables* tables = find(node);
  return tables == nullptr ? nullptr : tables->held(kind, slot);
}

NodeTables& Inventory::own(ib::Guid node, unsigned num_ports) {
  ++revision_;
  auto& [tables, ours_since] = by_node_[node];
  if (!tables) {
    tables = std::make_shared<NodeTables>(num_ports);
  } else if (ours_since < published_) {
    tables = std::make_shared<NodeTables>(*tables);  // who has the old one keeps it
  }
  ours_since = published_;
  return *tables;
}

void Inventory::put(const TableKind& kind, ib::Guid node, unsigned num_ports, Slot slot,
                    const Block& block) {
  const Block* known = held(kind, node, slot);
  if (known != nullptr && *known == block) return;
  const Block* kept = stored(block);
  own(node, num_ports).put(kind, slot, kept);
}

void Inventory::forget(const TableKind& kind, ib::Guid node, Slot slot) {
  if (held(kind, node, slot) == nullptr) return;
  auto& tables = own(node, 0);
  tables.forget(kind, slot);
  tables.set_read(false);
}

void Inventory::forget(const TableKind& kind, ib::Guid node) {
  if (find(node) == nullptr) return;
  auto& tables = own(node, 0);
  tables.forget(kind);
  tables.set_read(false);
}

void Inventory::forget(ib::Guid node) {
  if (by_node_.erase(node) > 0) ++revision_;
}

void Inventory::forget_lost(const ib::discover::Observed& found) {
  const auto before = by_node_.size();
  std::erase_if(by_node_, [&](const auto& entry) {
    const auto n = found.fabric.find_node(entry.first);
    return !n || may_have_lost(found, *n);
  });
  if (by_node_.size() != before) ++revision_;
}

void Inventory::clear() {
  by_node_.clear();
  ++revision_;
}

std::shared_ptr<const Inventory> Inventory::publish() {
  ++published_;
  return std::shared_ptr<const Inventory>(new Inventory(*this));
}

bool Inventory::is_read(ib::Guid node) const {
  const NodeTables* tables = find(node);
  return tables != nullptr && tables->is_read();
}

void Inventory::mark_read(ib::Guid node, unsigned num_ports) {
  if (!is_read(node)) own(node, num_ports).set_read(true);
}

std::size_t Inventory::nodes_read() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      by_node_, [](const auto& entry) { return entry.second.tables->is_read(); }));
}

}  // namespace sm::device
