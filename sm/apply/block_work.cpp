// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/block_work.h"

#include <algorithm>

namespace sm::apply {

using device::Inventory;
using plan::WantedBlock;

bool RefusedBlocks::contains(ib::Guid node, const WantedBlock& want) const {
  const auto at = blocks_.find({node, want.kind->attribute, want.slot});
  return at != blocks_.end() && at->second == want.block;
}

void RefusedBlocks::note(ib::Guid node, const WantedBlock& want, bool refused) {
  const Place place{node, want.kind->attribute, want.slot};
  if (refused) {
    blocks_[place] = want.block;
  } else {
    blocks_.erase(place);
  }
}

void RefusedBlocks::forget_restarted(const ib::discover::Observed& observed) {
  std::erase_if(blocks_, [&](const auto& entry) {
    const auto n = observed.fabric.find_node(std::get<ib::Guid>(entry.first));
    return !n || device::may_have_lost(observed, *n);
  });
}

std::span<const WantedBlock> blocks_of(const plan::Desired& desired, ib::fabric::NodeIndex node) {
  const auto range = std::ranges::equal_range(desired.blocks, node, {}, &WantedBlock::node);
  return {range.begin(), range.end()};
}

bool must_read(const Inventory& inventory, const RefusedBlocks& refused, ib::Guid node,
               const WantedBlock& want) {
  return inventory.held(*want.kind, node, want.slot) == nullptr && !refused.contains(node, want);
}

bool must_write(const Inventory& inventory, const RefusedBlocks& refused, ib::Guid node,
                const WantedBlock& want) {
  const device::Block* held = inventory.held(*want.kind, node, want.slot);
  return held != nullptr && *held != want.block && !refused.contains(node, want);
}

}  // namespace sm::apply
