// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/ways/grid_fan.h"

#include <algorithm>
#include <tuple>

namespace ib::route {

using fabric::kNoSwitch;
using fabric::SwitchIndex;

namespace {
constexpr std::uint32_t kFar = ~0U;
/// Ways past a broken row may be so much longer than the shortest of them: loads choose.
constexpr std::uint32_t kSlack = 2;
}  // namespace

GridFans::GridFans(const fabric::CompactGraph& graph, const Grid& grid, const Exits& exits)
    : graph_(graph), grid_(grid), exits_(exits), channels_(graph), rows_(grid, channels_) {}

/// One fan under way. A switch is settled once its way to the target is known.
class GridFans::Maker {
 public:
  Maker(const GridFans& fans, SwitchIndex leaf, Fan& fan)
      : fans_(fans),
        graph_(fans.graph_),
        leaf_(leaf),
        fan_(fan),
        next_(graph_.switch_count(), kNoSwitch),
        first_behind_(graph_.switch_count(), kNoSwitch),
        other_behind_(graph_.switch_count(), kNoSwitch),
        distance_(graph_.switch_count(), kFar) {}

  void run() {
    fan_.order.clear();
    fan_.first.clear();
    fan_.candidates.clear();
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      next_[s] = along_row(s);
      if (next_[s] == kNoSwitch) continue;
      other_behind_[s] = first_behind_[next_[s]];
      first_behind_[next_[s]] = s;
    }
    distance_[leaf_] = 0;
    settle_behind(leaf_);
    while (detour()) {
    }
    fan_.first.push_back(static_cast<std::uint32_t>(fan_.candidates.size()));
  }

 private:
  /// The next switch in the first dimension in which s is not where the target is.
  SwitchIndex along_row(SwitchIndex s) const {
    const Grid& grid = fans_.grid_;
    const auto here = grid.at(s), there = grid.at(leaf_);
    std::size_t d = 0;
    while (d < here.size() && here[d] == there[d]) ++d;
    if (d == here.size()) return kNoSwitch;
    // Half way round a ring both directions of a pair use the same half; see ways.cpp.
    unsigned sum = std::min(here[d], there[d]);
    for (std::size_t later = d + 1; later < here.size(); ++later) sum += here[later] + there[later];
    return fans_.rows_.towards(s, d, there[d], sum % 2 == 0);
  }

  /// Everything whose way along rows leads to s.
  void settle_behind(SwitchIndex s) {
    std::vector<SwitchIndex> queue{s};
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (SwitchIndex b = first_behind_[queue[i]]; b != kNoSwitch; b = other_behind_[b]) {
        if (distance_[b] != kFar || next_[b] != queue[i]) continue;
        add(b, [&](SwitchIndex to) { return to == queue[i]; });
        distance_[b] = distance_[queue[i]] + 1;
        queue.push_back(b);
      }
  }

  /// Leads the switch without a way along its row that has the shortest one beside it there; where
  /// there is none, one of those whose rows lead to such a switch. False: there is no way more.
  bool detour() {
    using Key = std::tuple<bool, std::uint32_t, SwitchIndex>;
    Key best{true, kFar, kNoSwitch};
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      if (distance_[s] != kFar) continue;
      for (const auto& arc : graph_.arcs(s))
        if (distance_[arc.to] != kFar)
          best = std::min(best, Key{next_[s] != kNoSwitch, distance_[arc.to], s});
    }
    const auto [has_row, distance, s] = best;
    if (s == kNoSwitch) return false;
    next_[s] = kNoSwitch;
    add(s, [&](SwitchIndex to) { return distance_[to] <= distance + kSlack; });
    distance_[s] = distance + 1;
    settle_behind(s);
    return true;
  }

  template <class May>
  void add(SwitchIndex s, May may) {
    fan_.order.push_back(s);
    fan_.first.push_back(static_cast<std::uint32_t>(fan_.candidates.size()));
    const std::size_t first = graph_.arc_index(s, 0);
    for (std::size_t i = 0; i < graph_.arcs(s).size(); ++i) {
      const Exit& exit = fans_.exits_.all[first + i];
      if (distance_[exit.to] != kFar && may(exit.to))
        fan_.candidates.push_back({fans_.exits_.arc[first + i], exit.to});
    }
  }

  const GridFans& fans_;
  const fabric::CompactGraph& graph_;
  const SwitchIndex leaf_;
  Fan& fan_;
  std::vector<SwitchIndex> next_;                         // along rows
  std::vector<SwitchIndex> first_behind_, other_behind_;  // whose next is a switch, as a list
  std::vector<std::uint32_t> distance_;
};

void GridFans::make(SwitchIndex leaf, Fan& fan) const { Maker(*this, leaf, fan).run(); }

}  // namespace ib::route
