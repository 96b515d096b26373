// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/path_table.h"

#include <algorithm>
#include <array>

#include "libdiag/wire/rates.h"

namespace sm::sa {
namespace {

using ib::Lid;
using ib::fabric::SwitchIndex;

// No route is longer than a directed one can be; also what ends a loop in the tables.
constexpr unsigned kSwitchesMax = 64;

/// Codes from slow to fast.
struct RateOrder {
  std::array<std::uint8_t, 64> rank{};
  std::array<std::uint8_t, kNoRank + 1> code{};

  RateOrder() {
    std::vector<std::uint8_t> codes;
    for (std::uint8_t c = 0; c < rank.size(); ++c)
      if (ib::wire::rate_gbps(c) > 0) codes.push_back(c);
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

PathTable::PathTable(Terrain terrain, std::size_t bytes_max)
    : terrain_(std::move(terrain)), bytes_max_(bytes_max) {
  const std::size_t switches = terrain_.routing->graph.switch_count();
  const auto& targets = terrain_.targets;
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

std::uint32_t PathTable::find(SwitchIndex from, SwitchIndex leaf, Lid dlid) {
  auto& row = rows_[from];
  std::uint32_t cell = row ? row[leaf] : kUnknown;
  if (cell == kUnknown) {
    if (bytes_ > bytes_max_) forget();
    if (!row) {
      row = std::make_unique<std::uint32_t[]>(rows_.size());
      std::fill_n(row.get(), rows_.size(), kUnknown);
      bytes_ += rows_.size() * sizeof(std::uint32_t);
    }
    cell = row[leaf] = fill(from, leaf);
  }
  return (cell & kNotOne) == 0 ? cell : differing_[(cell & ~kNotOne) + slot_[dlid.value]];
}

std::uint32_t PathTable::fill(SwitchIndex from, SwitchIndex leaf) {
  const std::size_t place = differing_.size();
  bool one = true;
  for (std::uint32_t i = first_[leaf]; i < first_[leaf + 1]; ++i) {
    differing_.push_back(static_cast<std::uint16_t>(pack(walk(from, lids_[i]))));
    one = one && differing_.back() == differing_[place];
  }
  if (one) {
    const std::uint32_t value = differing_[place];
    differing_.resize(place);
    return value;
  }
  bytes_ += (differing_.size() - place) * sizeof(std::uint16_t);
  return kNotOne | static_cast<std::uint32_t>(place);
}

Trunk PathTable::walk(SwitchIndex from, Lid dlid) const {
  const auto& lfts = terrain_.routing->lfts;
  const Target& target = terrain_.targets[dlid.value];
  Trunk trunk;
  SwitchIndex at = from;
  for (unsigned switches = 1; switches <= kSwitchesMax; ++switches) {
    const auto out = lfts.at(at, dlid);
    if (at == target.leaf) {
      if (out != target.port) return {};
      trunk.switches = switches;
      return trunk;
    }
    if (out >= terrain_.stride) return {};
    const Exit& exit = terrain_.exits[at * terrain_.stride + out];
    if (exit.to == ib::fabric::kNoSwitch) return {};
    trunk.allowed = least(trunk.allowed, exit.allowed);
    at = exit.to;
  }
  return {};
}

void PathTable::forget() {
  for (auto& row : rows_) row.reset();
  differing_ = {};
  bytes_ = 0;
}

}  // namespace sm::sa
