// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/block_work.h"

#include <fmt/format.h>

#include <algorithm>

namespace sm::apply {

using plan::WantedBlock;

Ask ask_for(const WantedBlock& want) { return {want.kind, want.slot, &want.block}; }

std::string place_of(const Ask& ask) {
  if (ask.kind->scope != device::Scope::PortPair)
    return fmt::format("port {} block {}", ask.slot.port, ask.slot.block);
  const auto side = [](bool all, unsigned one) {
    return all ? std::string("all") : std::to_string(one);
  };
  return fmt::format("input {} output {}", side(ask.all_inputs, ask.slot.input),
                     side(ask.all_outputs, ask.slot.port));
}

RefusedBlocks::Place RefusedBlocks::place_of(ib::Guid node, const Ask& ask) {
  return {node, ask.kind->attribute, ask.slot, ask.all_inputs, ask.all_outputs};
}

bool RefusedBlocks::contains(ib::Guid node, const Ask& ask) const {
  const auto at = blocks_.find(place_of(node, ask));
  return at != blocks_.end() && at->second == *ask.block;
}

void RefusedBlocks::note(ib::Guid node, const Ask& ask, bool refused) {
  if (refused) {
    blocks_[place_of(node, ask)] = *ask.block;
  } else {
    blocks_.erase(place_of(node, ask));
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

bool must_read(const Holder& holder, const Ask& ask) {
  return holder.inventory.held(*ask.kind, holder.guid(), ask.slot) == nullptr &&
         !holder.refused.contains(holder.guid(), ask);
}

bool must_write(const Holder& holder, const Ask& ask) {
  const device::Block* held = holder.inventory.held(*ask.kind, holder.guid(), ask.slot);
  return held != nullptr &&
         !means_the_same(*ask.kind, holder.seen, holder.node, ask.slot, *ask.block, *held) &&
         !holder.refused.contains(holder.guid(), ask);
}

}  // namespace sm::apply
