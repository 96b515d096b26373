// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/block_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/fabric/labels.h"

namespace sm::apply {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using plan::WantedBlock;

namespace {

/// What a slot is to hold; nullptr: nobody wants to change it.
const device::Block* wanted_block(const plan::Desired& desired, NodeIndex node,
                                  const device::TableKind& kind, device::Slot slot) {
  if (desired.vl_tables)
    if (const auto* block = desired.vl_tables->find(kind, node, slot)) return block;
  for (const WantedBlock& want : blocks_of(desired, node))
    if (want.kind == &kind && want.slot == slot) return &want.block;
  return nullptr;
}

}  // namespace

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
  return at != blocks_.end() && at->second.asked == *ask.block;
}

void RefusedBlocks::note(ib::Guid node, const Ask& ask, std::string_view method,
                         std::uint16_t status) {
  blocks_[place_of(node, ask)] = {ask.kind, *ask.block, method, status};
}

void RefusedBlocks::took(ib::Guid node, const Ask& ask) {
  blocks_.erase(place_of(node, ask));
  taken_.insert({node, ask.kind->attribute});
}

std::set<ib::Guid> RefusedBlocks::nodes(const device::TableKind& kind) const {
  std::set<ib::Guid> out;
  for (const auto& [place, refused] : blocks_)
    if (refused.kind == &kind) out.insert(std::get<ib::Guid>(place));
  return out;
}

std::vector<Refusal> RefusedBlocks::of(const plan::Desired& desired, const Observed& seen,
                                       const device::Inventory& inventory) const {
  std::vector<Refusal> out;
  std::vector<unsigned> others;  // of each, blocks behind the first
  for (const auto& [place, refused] : blocks_) {
    const auto& [guid, attribute, slot, all_inputs, all_outputs] = place;
    const auto node = seen.fabric.find_node(guid);
    // What was asked for many rows at once was asked row by row then.
    if (!node || !desired.node_managed[*node] || all_inputs || all_outputs) continue;
    const device::Block* wanted = wanted_block(desired, *node, *refused.kind, slot);
    const device::Block* held = inventory.held(*refused.kind, guid, slot);
    if (wanted == nullptr ||
        (held != nullptr && means_the_same(*refused.kind, seen, *node, slot, *wanted, *held)))
      continue;
    if (!out.empty() && out.back().node == *node && out.back().kind == refused.kind) {
      ++others.back();
      continue;
    }
    out.push_back(
        {*node, refused.kind,
         fmt::format("{}({}) to {} {}: {}", refused.method, refused.kind->name,
                     ib::fabric::node_label(seen.fabric.node(*node)),
                     apply::place_of({refused.kind, slot, wanted}),
                     refused.status != 0 ? fmt::format("status 0x{:04x}", refused.status)
                                         : "the device holds something else than it was told")});
    others.push_back(0);
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    if (others[i] > 0)
      out[i].message +=
          fmt::format(" (and so {} other block{})", others[i], others[i] == 1 ? "" : "s");
  return out;
}

void RefusedBlocks::forget_restarted(const Observed& observed) {
  taken_.clear();
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
