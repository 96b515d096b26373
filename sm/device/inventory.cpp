// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/device/inventory.h"

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

const NodeTables* Inventory::find(ib::Guid node) const { return by_node_.find(node); }

const Block* Inventory::held(const TableKind& kind, ib::Guid node, Slot slot) const {
  const NodeTables* tables = find(node);
  return tables == nullptr ? nullptr : tables->held(kind, slot);
}

NodeTables& Inventory::own(ib::Guid node, unsigned num_ports) {
  ++revision_;
  return by_node_.own(node, [&] { return NodeTables(num_ports); });
}

void Inventory::put(const TableKind& kind, ib::Guid node, unsigned num_ports, Slot slot,
                    const Block& block) {
  const Block* known = held(kind, node, slot);
  if (known != nullptr && *known == block) return;
  const Block* kept = stored(block);
  own(node, num_ports).put(kind, slot, kept);
}

void Inventory::note_absent(const TableKind& kind, ib::Guid node, unsigned num_ports, Slot slot) {
  const NodeTables* tables = find(node);
  if (tables == nullptr || !tables->is_absent(kind, slot))
    own(node, num_ports).note_absent(kind, slot);
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
  if (by_node_.erase(node)) ++revision_;
}

void Inventory::forget_lost(const ib::discover::Observed& found) {
  const auto gone = by_node_.erase_if([&](ib::Guid node) {
    const auto n = found.fabric.find_node(node);
    return !n || may_have_lost(found, *n);
  });
  if (gone > 0) ++revision_;
}

void Inventory::clear() {
  by_node_.clear();
  ++revision_;
}

std::shared_ptr<const Inventory> Inventory::publish() {
  by_node_.publish();
  forwarding_.publish();
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
  std::size_t read = 0;
  by_node_.for_each([&](ib::Guid, const NodeTables& tables) { read += tables.is_read() ? 1 : 0; });
  return read;
}

}  // namespace sm::device
