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

/// What a slot is to hold, nothing where that waits for what it holds now; nullptr: nobody wants to
/// change it.
const device::Block* wanted_block(const plan::Desired& desired, NodeIndex node,
                                  const device::TableKind& kind, device::Slot slot) {
  if (desired.vl_tables)
    if (const auto* block = desired.vl_tables->find(kind, node, slot)) return block;
  const auto among = [&](std::span<const WantedBlock> blocks) -> const device::Block* {
    const auto at = std::ranges::find_if(
        blocks, [&](const WantedBlock& want) { return want.kind == &kind && want.slot == slot; });
    return at == blocks.end() ? nullptr : &at->block;
  };
  if (const auto* block = among(blocks_of(desired, node))) return block;
  const auto of_node = [&](const std::vector<WantedBlock>& blocks) {
    const auto range = std::ranges::equal_range(blocks, node, {}, &WantedBlock::node);
    return std::span<const WantedBlock>(range.begin(), range.end());
  };
  if (const auto* block = among(of_node(desired.unread_p_keys))) return block;
  return among(of_node(desired.adaptive_blocks));
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
  if (ask.wide()) return;
  for (auto at = blocks_.lower_bound({node, ask.kind->attribute, {}, false, false});
       at != blocks_.end() && std::get<ib::Guid>(at->first) == node && at->second.kind == ask.kind;
       ++at)
    at->second.rows_taken = true;
}

bool RefusedBlocks::refuses(ib::Guid node, const device::TableKind& kind) const {
  const auto at = blocks_.lower_bound({node, kind.attribute, {}, false, false});
  return at != blocks_.end() && std::get<ib::Guid>(at->first) == node && at->second.kind == &kind;
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
    if (!node || !desired.node_managed[*node]) continue;
    Ask ask{refused.kind, slot, &refused.asked, all_inputs, all_outputs};
    bool holds_it = false;
    if (ask.wide()) {
      // The rows were looked at one by one then: of one that differs there is a place of its own.
      if (refused.rows_taken || !desired.vl_tables) continue;
      holds_it = true;
    } else {
      ask.block = wanted_block(desired, *node, *refused.kind, slot);
      if (ask.block == nullptr) continue;
      const device::Block* held = inventory.held(*refused.kind, guid, slot);
      holds_it =
          held != nullptr && means_the_same(*refused.kind, seen, *node, slot, *ask.block, *held);
      // What is wanted by now is another one than it refused.
      if (holds_it && *ask.block != refused.asked) continue;
    }
    const bool same_table =
        !out.empty() && out.back().node == *node && out.back().kind == refused.kind;
    if (same_table && holds_it) continue;
    if (same_table && !out.back().holds_it) {
      ++others.back();
    } else {
      if (same_table) out.pop_back(), others.pop_back();
      out.push_back({*node, refused.kind, describe(seen, *node, ask, refused, holds_it), holds_it});
      others.push_back(0);
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    if (others[i] > 0)
      out[i].message +=
          fmt::format(" (and so {} other block{})", others[i], others[i] == 1 ? "" : "s");
  return out;
}

std::string RefusedBlocks::describe(const Observed& seen, NodeIndex node, const Ask& ask,
                                    const Refused& refused, bool holds_it) {
  std::string text =
      fmt::format("{}({}) to {} {}: ", refused.method, refused.kind->name,
                  ib::fabric::node_label(seen.fabric.node(node)), apply::place_of(ask));
  if (refused.status != 0)
    text += fmt::format("status 0x{:04x}", refused.status);
  else
    text += holds_it ? "the device answered with another value than was set"
                     : "the device holds another value than was set";
  return text + (holds_it ? "; it holds what it is to all the same" : "");
}

void RefusedBlocks::forget_restarted(const Observed& observed) {
  taken_.clear();
  std::erase_if(blocks_, [&](const auto& entry) {
    const auto n = observed.fabric.find_node(std::get<ib::Guid>(entry.first));
    return !n || device::may_have_lost(observed, *n);
  });
}

void RefusedBlocks::forget(ib::Guid node) {
  std::erase_if(blocks_,
                [&](const auto& entry) { return std::get<ib::Guid>(entry.first) == node; });
}

void RefusedBlocks::forget(const device::TableKind& kind, ib::Guid node) {
  std::erase_if(blocks_, [&](const auto& entry) {
    return std::get<ib::Guid>(entry.first) == node && entry.second.kind == &kind;
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

bool may_write(const Holder& holder, const Ask& ask) {
  return holder.inventory.held(*ask.kind, holder.guid(), ask.slot) != nullptr &&
         !holder.refused.contains(holder.guid(), ask);
}

}  // namespace sm::apply
