// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Inventory: the tables of all devices as they answered, by node GUID, so that they outlive a
// sweep. A value; copies share what they hold, so publishing one costs no more than its list of
// nodes.
#pragma once

#include <memory>
#include <unordered_map>

#include "libdiag/base/ids.h"
#include "sm/device/node_tables.h"

namespace sm::device {

class Inventory {
 public:
  /// nullptr: nothing was read of this node.
  const NodeTables* find(ib::Guid node) const;
  /// nullptr: not known.
  const Block* held(const TableKind& kind, ib::Guid node, Slot slot) const;

  /// One block has become another; false: it says nothing new, or nothing was read of the node.
  bool note(const TableKind& kind, ib::Guid node, Slot slot, const Block& block);
  void put(ib::Guid node, std::shared_ptr<const NodeTables> tables);
  /// False: nothing was read of it.
  bool forget(ib::Guid node) { return by_node_.erase(node) > 0; }
  /// Forgets nodes that may have lost what they held: a port waits for us, a switch has no LID.
  /// False: none was.
  bool forget_restarted(const ib::discover::Observed& found);
  void clear() { by_node_.clear(); }
  std::size_t size() const { return by_node_.size(); }
  /// The one copy of `block`.
  const Block* stored(const Block& block) { return pool_->stored(block); }

 private:
  std::unordered_map<ib::Guid, std::shared_ptr<const NodeTables>> by_node_;
  std::shared_ptr<BlockPool> pool_{std::make_shared<BlockPool>()};
};

}  // namespace sm::device
