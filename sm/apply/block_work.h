// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tables that are written by difference: which of the wanted blocks of one node must be read, which
// written. What devices hold is in the Inventory; here is what they refused. Inside sm/apply only.
#pragma once

#include <map>
#include <span>
#include <tuple>

#include "sm/device/inventory.h"
#include "sm/plan/desired.h"

namespace sm::apply {

/// Blocks that a device did not take; asked the same again it would answer the same again.
class RefusedBlocks {
 public:
  bool contains(ib::Guid node, const plan::WantedBlock& want) const;
  /// The device answered the Set of `want` with another block, or a status; or took it.
  void note(ib::Guid node, const plan::WantedBlock& want, bool refused);
  /// Nodes that restarted, or are not there, may have changed their mind.
  void forget_restarted(const ib::discover::Observed& observed);
  void clear() { blocks_.clear(); }

 private:
  using Place = std::tuple<ib::Guid, std::uint16_t, device::Slot>;  // node, attribute, slot
  std::map<Place, device::Block> blocks_;
};

/// The wanted blocks of one node.
std::span<const plan::WantedBlock> blocks_of(const plan::Desired& desired,
                                             ib::fabric::NodeIndex node);

/// Nothing is known of what the device holds there.
bool must_read(const device::Inventory& inventory, const RefusedBlocks& refused, ib::Guid node,
               const plan::WantedBlock& want);
/// It holds something else.
bool must_write(const device::Inventory& inventory, const RefusedBlocks& refused, ib::Guid node,
                const plan::WantedBlock& want);

}  // namespace sm::apply
