// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/device/inventory.h"

namespace sm::device {

using ib::wire::PortInfo;
using ib::wire::PortState;

const NodeTables* Inventory::find(ib::Guid node) const {
  const auto at = by_node_.find(node);
  return at == by_node_.end() ? nullptr : at->second.get();
}

const Block* Inventory::held(const TableKind& kind, ib::Guid node, Slot slot) const {
  const NodeTables* tables = find(node);
  return tables == nullptr ? nullptr : tables->held(kind, slot);
}

bool Inventory::note(const TableKind& kind, ib::Guid node, Slot slot, const Block& block) {
  const auto at = by_node_.find(node);
  if (at == by_node_.end()) return false;
  const Block* held = at->second->held(kind, slot);
  if (held != nullptr && *held == block) return false;
  auto changed = std::make_shared<NodeTables>(*at->second);  // who has the old one keeps it
  changed->put(kind, slot, stored(block));
  at->second = std::move(changed);
  return true;
}

void Inventory::put(ib::Guid node, std::shared_ptr<const NodeTables> tables) {
  by_node_[node] = std::move(tables);
}

bool Inventory::forget_restarted(const ib::discover::Observed& found) {
  bool any = false;
  for (ib::fabric::NodeIndex n = 0; n < found.nodes.size(); ++n) {
    const auto& node = found.fabric.node(n);
    for (unsigned p = 0; p <= (node.is_switch() ? 0U : node.num_ports); ++p) {
      const auto* port = found.known_port({n, static_cast<std::uint8_t>(p)});
      if (port == nullptr) continue;
      const bool restarted = node.is_switch() ? !port->get<&PortInfo::lid>().is_unicast()
                                              : port->state() == PortState::Initialize;
      any = (restarted && forget(node.guid)) || any;
    }
  }
  return any;
}

}  // namespace sm::device
