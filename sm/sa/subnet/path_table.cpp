// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/subnet/path_table.h"

#include <algorithm>
#include <array>

#include "libdiag/wire/rates.h"

namespace sm::sa {
namespace {

using ib::Lid;
using ib::fabric::SwitchIndex;

// No route is longer than a directed one can be; also what ends a loop in the tables.
constexpr unsigned kSwitchesMax = 64;
// LIDs that are followed side by side.
constexpr std::size_t kAtOnce = 64;

/// Codes from slow to fast.
struct RateOrder {
  std::array<std::uint8_t, 64> rank{};
  std::array<std::uint8_t, kNoRank + 1> code{};

  RateOrder() {
    std::vector<std::uint8_t> codes;
    for (unsigned c = 0; c < rank.size(); ++c) {
      const auto rate = static_cast<std::uint8_t>(c);
      if (ib::wire::rate_gbps(rate) > 0) codes.push_back(rate);
    }
    std::sort(codes.begin(), codes.end(),
              [](std::uint8_t a, std::uint8_t b) { return ib::wire::compare_rates(a, b) < 0; });
    for (std::size_t i = 0; i < codes.size() && i < kNoRank; ++i) {
      rank[codes[i]] = static_cast<std::uint8_t>(i);
      code[i] = codes[i];
    }
  }
};

const RateOrder& rates() {
  static const RateOrder order;
  return order;
}

}  // namespace

std::uint8_t rank_of_rate(std::uint8_t code) { return rates().rank[code % 64U]; }
std::uint8_t rate_of_rank(std::uint8_t rank) { return rates().code[rank % 32U]; }

PathTable::PathTable(Inputs inputs, std::size_t bytes_max)
    : inputs_(std::move(inputs)), bytes_max_(bytes_max) {
  const std::size_t switches = inputs_.routing->graph.switch_count();
  const auto& targets = inputs_.targets;
  rows_.resize(switches);
  first_.assign(switches + 1, 0);
  slot_.assign(targets.size(), 0);
  for (std::size_t lid = 0; lid < targets.size(); ++lid)
    if (targets[lid].leaf != ib::fabric::kNoSwitch) slot_[lid] = first_[targets[lid].leaf + 1]++;
  for (std::size_t s = 0; s < switches; ++s) first_[s + 1] += first_[s];
  lids_.resize(first_.back());
  for (std::size_t lid = 0; lid < targets.size(); ++lid)
    if (targets[lid].leaf != ib::fabric::kNoSwitch)
      lids_[first_[targets[lid].leaf] + slot_[lid]] = Lid{static_cast<std::uint16_t>(lid)};
}

PathTable::Cell PathTable::find(SwitchIndex from, SwitchIndex leaf, Lid dlid) {
  auto& row = rows_[from];
  Cell cell = row ? row[leaf] : kUnknown;
  if (cell == kUnknown) {
    if (bytes_ > bytes_max_) forget();
    if (!row) {
      row = std::make_unique<Cell[]>(rows_.size());
      std::fill_n(row.get(), rows_.size(), kUnknown);
      bytes_ += rows_.size() * sizeof(Cell);
    }
    cell = row[leaf] = fill(from, leaf);
  }
  if ((cell & kNotOne) == 0) return cell;
  return differing_[places_.at(pair_of(from, leaf)) + slot_[dlid.value]];
}

PathTable::Cell PathTable::fill(SwitchIndex from, SwitchIndex leaf) {
  const std::size_t place = differing_.size();
  const std::size_t lids = first_[leaf + 1] - first_[leaf];
  differing_.resize(place + lids);
  for (std::size_t i = 0; i < lids; i += kAtOnce)
    walk(from, {lids_.data() + first_[leaf] + i, std::min(kAtOnce, lids - i)},
         differing_.data() + place + i);
  const Cell value = differing_[place];
  if (std::all_of(differing_.begin() + static_cast<std::ptrdiff_t>(place), differing_.end(),
                  [&](Cell other) { return other == value; })) {
    differing_.resize(place);
    return value;
  }
  constexpr std::size_t kPlaceBytes = 40;  // of a hash table's node
  bytes_ += lids * sizeof(Cell) + kPlaceBytes;
  places_[pair_of(from, leaf)] = place;
  return kDiffering;
}

/// All LIDs go a step at a time, so that the memory their tables lie in is waited for together.
void PathTable::walk(SwitchIndex from, std::span<const Lid> dlids, Cell* result) const {
  const auto& lfts = inputs_.routing->lfts;
  const Target& target = inputs_.targets[dlids[0].value];  // but for the port all are alike
  std::array<SwitchIndex, kAtOnce> at;
  std::array<Allowed, kAtOnce> allowed;
  std::array<std::uint8_t, kAtOnce> going;
  std::size_t left = dlids.size();
  for (std::size_t i = 0; i < left; ++i) {
    at[i] = from;
    allowed[i] = {};
    going[i] = static_cast<std::uint8_t>(i);
    result[i] = pack({});
  }
  for (unsigned switches = 1; left != 0 && switches <= kSwitchesMax; ++switches) {
    std::size_t still = 0;
    for (std::size_t g = 0; g < left; ++g) {
      const auto i = going[g];
      const auto out = lfts.at(at[i], dlids[i]);
      if (at[i] == target.leaf) {
        if (out == inputs_.targets[dlids[i].value].port) result[i] = pack({allowed[i], switches});
        continue;
      }
      if (out >= inputs_.stride) continue;
      const Exit& exit = inputs_.exits[at[i] * inputs_.stride + out];
      if (exit.to == ib::fabric::kNoSwitch) continue;
      allowed[i] = least(allowed[i], exit.allowed);
      at[i] = exit.to;
      going[still++] = i;
    }
    left = still;
  }
}

void PathTable::forget() {
  for (auto& row : rows_) row.reset();
  places_ = {};
  differing_ = {};
  bytes_ = 0;
}

}  // namespace sm::sa
