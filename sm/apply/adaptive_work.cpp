// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/adaptive_work.h"

#include <algorithm>

#include "sm/device/tables/kinds.h"

namespace sm::apply {

using ib::fabric::NodeIndex;
using ib::wire::MlnxArInfo;
using plan::WantedBlock;

namespace {

/// Steps of next_on().
constexpr std::uint8_t kAsk = 0, kPrepare = 1, kPrepared = 2, kTables = 3, kTurnOn = 4, kDone = 5;

bool is_on(const MlnxArInfo& info) { return info.enabled || info.fr_enabled; }

}  // namespace

AdaptiveWork::AdaptiveWork(const plan::Desired& desired, const ib::discover::Observed& seen,
                           Known& known, const TableWork& tables, const ApplyOptions& options)
    : desired_(desired), seen_(seen), known_(known), tables_(tables), options_(options) {}

void AdaptiveWork::begin(bool off) {
  off_ = off;
  cursors_.assign(seen_.nodes.size(), {});
  if (off) tables_change_ = options_.rewrite || tables_.any_lft_is_due();
}

std::optional<Work> AdaptiveWork::next(NodeIndex n, std::uint32_t in_flight, bool& wait) {
  if (info_of(n) == nullptr) return std::nullopt;
  return off_ ? next_off(n, cursors_[n], in_flight, wait)
              : next_on(n, cursors_[n], in_flight, wait);
}

/// What is known of a switch that has it on is compared; what is not is read, but where all is
/// written anyway.
std::optional<Work> AdaptiveWork::next_off(NodeIndex n, Cursor& c, std::uint32_t in_flight,
                                           bool& wait) {
  const auto info = held_info(n);
  if (!info || !is_on(*info) || c.step != 0) return std::nullopt;
  if (!must_be_off(n)) {
    const auto tables = tables_of(n);
    while (c.at < tables.size()) {
      const Ask ask = ask_for(tables[c.at++]);
      if (must_read(holder(n), ask)) return Work{Kind::GetBlock, 0, ask};
    }
    if (in_flight > 0) {
      wait = true;
      return std::nullopt;
    }
    if (!std::ranges::any_of(tables, [&](const WantedBlock& want) { return differs(n, want); })) {
      c.step = 1;
      return std::nullopt;
    }
  }
  c.step = 1;
  return set_off(n);
}

std::optional<Work> AdaptiveWork::next_on(NodeIndex n, Cursor& c, std::uint32_t in_flight,
                                          bool& wait) {
  const WantedBlock& want = *info_of(n);
  const auto wanted = ib::wire::decode<MlnxArInfo>(want.block.data());
  if (!is_on(wanted)) return std::nullopt;
  if (c.step != kTables && in_flight > 0) {
    wait = true;
    return std::nullopt;
  }
  if (c.step == kAsk) {
    c.step = kPrepare;
    if (const Ask ask = ask_for(want); must_read(holder(n), ask))
      return Work{Kind::GetBlock, 0, ask};
  }
  const auto info = held_info(n);
  if (!info) return std::nullopt;
  const auto tables = tables_of(n);
  // How a table of groups is laid out depends on how many parts groups have.
  if (c.step == kPrepare) {
    c.step = kPrepared;
    if (info->sub_groups_active != wanted.sub_groups_active) return set_off(n);
  }
  if (c.step == kPrepared) {
    const bool ready =
        info->sub_groups_active == wanted.sub_groups_active && info->group_cap > wanted.group_top;
    c.step = ready ? kTables : kDone;  // a refusal is told
  }
  if (c.step == kTables) {
    while (c.at < tables.size()) {
      const WantedBlock& table = tables[c.at++];
      if (options_.rewrites(n) || differs(n, table)) return Work{Kind::SetBlock, 0, ask_for(table)};
    }
    if (in_flight > 0) {
      wait = true;
      return std::nullopt;
    }
    c.step = kTurnOn;
  }
  if (c.step != kTurnOn) return std::nullopt;
  c.step = kDone;
  const bool stand = std::ranges::all_of(tables, [&](const WantedBlock& table) {
    const device::Block* held = known_.inventory.held(*table.kind, holder(n).guid(), table.slot);
    return held != nullptr && *held == table.block;
  });
  if (!stand || !must_write(holder(n), ask_for(want))) return std::nullopt;
  return Work{Kind::SetBlock, 0, ask_for(want)};
}

/// The last of its blocks is ARInfo.
const WantedBlock* AdaptiveWork::info_of(NodeIndex n) const {
  const auto range = std::ranges::equal_range(desired_.adaptive_blocks, n, {}, &WantedBlock::node);
  return range.empty() ? nullptr : &range.back();
}

std::span<const WantedBlock> AdaptiveWork::tables_of(NodeIndex n) const {
  const auto range = std::ranges::equal_range(desired_.adaptive_blocks, n, {}, &WantedBlock::node);
  return {range.begin(), range.end() - 1};
}

std::optional<MlnxArInfo> AdaptiveWork::held_info(NodeIndex n) const {
  const device::Block* block = known_.inventory.held(device::kArInfo, holder(n).guid(), {});
  if (block == nullptr) return std::nullopt;
  return ib::wire::decode<MlnxArInfo>(block->data());
}

/// Or is not known, and the switch does not refuse it.
bool AdaptiveWork::differs(NodeIndex n, const WantedBlock& want) const {
  const Ask ask = ask_for(want);
  const device::Block* held = known_.inventory.held(*want.kind, holder(n).guid(), want.slot);
  return (held == nullptr || *held != want.block) &&
         !known_.refused.contains(holder(n).guid(), ask);
}

bool AdaptiveWork::must_be_off(NodeIndex n) const {
  return tables_change_ || !is_on(ib::wire::decode<MlnxArInfo>(info_of(n)->block.data()));
}

Work AdaptiveWork::set_off(NodeIndex n) {
  const WantedBlock& want = *info_of(n);
  device::Block& block = off_blocks_[n];
  block = want.block;
  ib::wire::View<MlnxArInfo> view(block.data());
  view.set<&MlnxArInfo::enabled>(false);
  view.set<&MlnxArInfo::fr_enabled>(false);
  return {Kind::SetBlock, 0, {want.kind, want.slot, &block}};
}

}  // namespace sm::apply
