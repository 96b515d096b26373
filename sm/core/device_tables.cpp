// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/device_tables.h"

#include <algorithm>

namespace sm {
namespace {

constexpr unsigned kIndexMax = 0xFFFF;  // of a block, which is 11 bits of an attribute modifier

}  // namespace

const TableBlock* NodeTables::block(Kind kind, unsigned port, unsigned index) const {
  if (port >= port_count_ || index > kIndexMax) return nullptr;
  const std::uint32_t key = key_of(kind, port, index);
  const auto at = std::ranges::lower_bound(blocks_, key, {}, &Block::key);
  return at != blocks_.end() && at->key == key ? at->stored : nullptr;
}

const NodeTables::Row* NodeTables::row(unsigned input, unsigned output) const {
  if (input >= port_count_ || output >= port_count_ || row_of_.empty()) return nullptr;
  const auto at = row_of_[input * port_count_ + output];
  return at == kNoRow ? nullptr : &rows_[at];
}

void NodeTables::set_block(Kind kind, unsigned port, unsigned index, const TableBlock* stored) {
  if (port >= port_count_ || index > kIndexMax) return;
  const std::uint32_t key = key_of(kind, port, index);
  const auto at = std::ranges::lower_bound(blocks_, key, {}, &Block::key);
  if (at != blocks_.end() && at->key == key) {
    at->stored = stored;
  } else {
    blocks_.insert(at, {key, stored});
  }
}

void NodeTables::set_row(unsigned input, unsigned output, Row row) {
  if (input >= port_count_ || output >= port_count_) return;
  if (row_of_.empty()) row_of_.assign(port_count_ * port_count_, kNoRow);
  auto known = std::find(rows_.begin(), rows_.end(), row);
  if (known == rows_.end()) {
    if (rows_.size() == kNoRow) return;
    known = rows_.insert(rows_.end(), row);
  }
  row_of_[input * port_count_ + output] = static_cast<std::uint16_t>(known - rows_.begin());
}

const NodeTables* DeviceTables::find(ib::Guid node) const {
  const auto at = by_node_.find(node);
  return at == by_node_.end() ? nullptr : at->second.get();
}

bool DeviceTables::note(ib::Guid node, NodeTables::Kind kind, unsigned port, unsigned index,
                        const TableBlock& block) {
  const auto at = by_node_.find(node);
  if (at == by_node_.end()) return false;
  const TableBlock* held = at->second->block(kind, port, index);
  if (held != nullptr && *held == block) return false;
  auto changed = std::make_shared<NodeTables>(*at->second);  // who has the old one keeps it
  changed->set_block(kind, port, index, stored(block));
  at->second = std::move(changed);
  return true;
}

void DeviceTables::put(ib::Guid node, std::shared_ptr<const NodeTables> tables) {
  by_node_[node] = std::move(tables);
}

const TableBlock* DeviceTables::stored(const TableBlock& block) {
  return &*pool_->insert(block).first;
}

bool DeviceTables::forget_restarted(const ib::discover::Observed& found) {
  bool any = false;
  for (ib::fabric::NodeIndex n = 0; n < found.nodes.size(); ++n) {
    const auto& node = found.fabric.node(n);
    for (unsigned p = 0; p <= (node.is_switch() ? 0U : node.num_ports); ++p) {
      const auto* port = found.known_port({n, static_cast<std::uint8_t>(p)});
      if (port == nullptr) continue;
      const bool restarted = node.is_switch() ? !port->get<&ib::wire::PortInfo::lid>().is_unicast()
                                              : port->state() == ib::wire::PortState::Initialize;
      any = (restarted && forget(node.guid)) || any;
    }
  }
  return any;
}

}  // namespace sm
