// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Relief: links that carry the most shed LIDs as long as that helps.
#include <algorithm>
#include <utility>
#include <vector>

#include "libdiag/route/reroute/reroute_state.h"
#include "libdiag/route/spread/quality.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// A link that carries no more than this over the mean of its neighbours is not worth relieving.
constexpr double kEvenEnough = 1.03;
/// Switches that are looked at for entries to move, LID by LID: some seconds' worth.
constexpr std::uint64_t kLooksMax = 1'000'000;

}  // namespace

void Rerouter::State::relieve_all() {
  for (std::uint32_t a = 0; a < load_.size(); ++a)
    if (load_[a] == 0) use(a);
  // With few entries evening out does better, and is tried where this is not near.
  constexpr std::size_t kEntriesMax = 1'000'000;
  const bool many = targets_.columns().size() * links.graph.switch_count() > kEntriesMax;
  level_out(many ? Moving::Fresh : Moving::All);
  changed_.clear();
}

/// Takes load off an arc by sending LIDs round it, at its own switch or farther up their ways,
/// where no link gets as loaded as this one is. False: nothing could be moved.
bool Rerouter::State::relieve(std::uint32_t a) {
  const SwitchIndex s = links.from[a];
  const std::uint8_t port = arc(a).out_port;
  bool moved = false;
  for (std::size_t lid = 1; lid < goals_.size() && !(moved && even_with_peers(a)); ++lid) {
    const Lid of{static_cast<std::uint16_t>(lid)};
    if (goals_[lid].counts && goals_[lid].leaf != s && row(s)[lid] == port)
      moved |= shift(a, s, of);
  }
  return moved;
}

/// Whether relief may move an entry at all.
bool Rerouter::State::may_shift(SwitchIndex s, Lid lid) const {
  if (moving_ != Moving::Mended) return true;
  bool is_mended = false;
  along(s, lid, goals_[lid.value].leaf, [&](std::uint32_t a) {
    is_mended = is_mended || std::ranges::binary_search(mended_, std::pair(lid, links.from[a]));
  });
  return is_mended;
}

bool Rerouter::State::shift(std::uint32_t a, SwitchIndex s, Lid lid) {
  if (++looks_ > kLooksMax) return false;
  const std::uint32_t target = goals_[lid.value].target;
  const std::uint32_t now = arc_of(s, lid);
  bool any = false;
  for (std::size_t i = 0; i < links.graph.arcs(s).size() && !any; ++i) {
    const auto other = static_cast<std::uint32_t>(links.graph.arc_index(s, i));
    any = other != now && is_candidate(other, target) && load_[other] < load_[a];
  }
  if (any && may_shift(s, lid))
    if (const std::uint64_t more = sources(s, lid); more != 0) {
      const std::uint64_t limit = load_[a];
      drop_load(s, lid, more);
      const std::uint32_t way = best(s, lid, more);
      const bool better = way != now && crest(way, lid, more) < limit;
      if (better) set(s, lid, arc(way).out_port);
      add_load(s, lid, more);
      if (better && load_[a] < limit) return true;
    }
  bool moved = false;
  for (const auto& out : links.graph.arcs(s))
    if (row(out.to)[lid.value] == out.in_port) {
      moved |= shift(a, out.to, lid);
      if (moved && even_with_peers(a)) break;
    }
  return moved;
}

/// Whether an arc carries hardly more than the mean of those beside it, out of its switch or into
/// the one it leads to.
bool Rerouter::State::even_with_peers(std::uint32_t a) const {
  const auto mean = [&](SwitchIndex s, bool in) {
    std::uint64_t sum = 0, count = 0;
    for (std::size_t i = 0; i < links.graph.arcs(s).size(); ++i) {
      const auto out = static_cast<std::uint32_t>(links.graph.arc_index(s, i));
      if (links.alive[out] == 0) continue;
      sum += load_[in ? links.reverse[out] : out];
      ++count;
    }
    return count == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(count);
  };
  const auto load = static_cast<double>(load_[a]);
  const double enough = moving_ == Moving::Fresh ? kNearLeast : kEvenEnough;
  return load <= enough * mean(links.from[a], false) || load <= enough * mean(arc(a).to, true);
}

void Rerouter::State::level_out(Moving moving) {
  moving_ = moving;
  mended_.clear();
  if (moving == Moving::Mended)
    for (const auto& entry : changed_) mended_.emplace_back(entry.lid, entry.at);
  std::ranges::sort(mended_);
  std::vector<std::uint32_t> crowded;
  looks_ = 0;
  for (unsigned rounds = 0; rounds < 64 && looks_ < kLooksMax; ++rounds) {
    const std::uint64_t top = load_max(), much = top - top / 64;
    crowded.clear();
    for (std::uint32_t a = 0; top != 0 && a < load_.size(); ++a)
      if (load_[a] >= much && !even_with_peers(a)) crowded.push_back(a);
    std::stable_sort(crowded.begin(), crowded.end(),
                     [&](std::uint32_t x, std::uint32_t y) { return load_[x] > load_[y]; });
    bool moved = false;
    for (const std::uint32_t a : crowded)
      if (load_[a] >= much && !even_with_peers(a)) moved |= relieve(a);
    if (!moved) return;
  }
}

}  // namespace ib::route
