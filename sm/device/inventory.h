// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Inventory: the tables of all devices as they answered, by node GUID, so that they outlive a
// sweep: forwarding tables of switches, and those of the kinds in tables/. Only answers write it; a
// block whose Set was not answered is unknown again. What was published stays as it was and shares
// what did not change since.
#pragma once

#include <memory>

#include "libdiag/base/ids.h"
#include "sm/device/forwarding.h"
#include "sm/device/node_tables.h"
#include "sm/device/published_map.h"

namespace sm::device {

/// Node `n` may have lost what its tables held: a port of it waits for a subnet manager, a switch
/// has no LID.
bool may_have_lost(const ib::discover::Observed& found, ib::fabric::NodeIndex n);

class Inventory {
 public:
  Inventory() = default;
  Inventory& operator=(const Inventory&) = delete;

  /// nullptr: nothing is known of this node.
  const NodeTables* find(ib::Guid node) const;
  /// nullptr: not known.
  const Block* held(const TableKind& kind, ib::Guid node, Slot slot) const;

  /// What an answer reported. `num_ports` of the node.
  void put(const TableKind& kind, ib::Guid node, unsigned num_ports, Slot slot, const Block& block);
  /// An answer that the node has no such block: NodeTables'.
  void note_absent(const TableKind& kind, ib::Guid node, unsigned num_ports, Slot slot);
  void forget(const TableKind& kind, ib::Guid node, Slot slot);
  void forget(const TableKind& kind, ib::Guid node);
  void forget(ib::Guid node);
  /// Forgets nodes that are not there, and those that may have lost what they held.
  void forget_lost(const ib::discover::Observed& found);
  void clear();

  // ---- forwarding tables, which nothing above concerns: a sweep shows what a switch lost
  /// nullptr: nothing is known of this switch.
  const Forwarding* forwarding(ib::Guid node) const { return forwarding_.find(node); }
  /// To be changed, until the next publish().
  Forwarding& own_forwarding(ib::Guid node) {
    ++revision_;
    return forwarding_.own(node, [] { return Forwarding{}; });
  }
  /// Calls run(guid, forwarding) for each switch.
  template <class Run>
  void for_each_forwarding(Run run) const {
    forwarding_.for_each(run);
  }

  /// Nodes of which everything was asked for, since a forget of them.
  bool is_read(ib::Guid node) const;
  void mark_read(ib::Guid node, unsigned num_ports);
  std::size_t nodes_read() const;

  std::shared_ptr<const Inventory> publish();
  /// Grows with every change.
  std::uint64_t revision() const { return revision_; }

  /// For many blocks of one node at once; until the next call of another member.
  NodeTables& own(ib::Guid node, unsigned num_ports);
  const Block* stored(const Block& block) { return pool_->stored(block); }

 private:
  Inventory(const Inventory&) = default;

  PublishedMap<NodeTables> by_node_;
  PublishedMap<Forwarding> forwarding_;
  std::shared_ptr<BlockPool> pool_{std::make_shared<BlockPool>()};
  std::uint64_t revision_{0};
};

}  // namespace sm::device
