// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// WantedTables: what blocks of tables are to say of which there are many and few differ (SL2VL has
// one for each pair of ports), in the form in which the Inventory keeps what devices hold.
#pragma once

#include <vector>

#include "sm/device/node_tables.h"

namespace sm::plan {

class WantedTables {
 public:
  explicit WantedTables(const ib::fabric::Fabric& fabric);
  WantedTables(const WantedTables&) = delete;  // blocks are pointed to
  WantedTables& operator=(const WantedTables&) = delete;

  /// nullptr: nobody wants to change it.
  const device::Block* find(const device::TableKind& kind, ib::fabric::NodeIndex node,
                            device::Slot slot) const {
    return nodes_[node].held(kind, slot);
  }

  /// The block, for set(); equal ones are kept once.
  const device::Block* keep(const device::Block& block) { return pool_.stored(block); }
  /// Slots of one node ascend.
  void set(const device::TableKind& kind, ib::fabric::NodeIndex node, device::Slot slot,
           const device::Block* kept) {
    nodes_[node].put(kind, slot, kept);
  }

 private:
  device::BlockPool pool_;
  std::vector<device::NodeTables> nodes_;  // by node
};

}  // namespace sm::plan
