// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What switches send themselves where the order leaves them no way, on tables that follow links.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "libdiag/route/reroute/reroute_state.h"

namespace ib::route {

using fabric::SwitchIndex;

void Rerouter::State::lay_own_ways(const fabric::CompactGraph& now) {
  own_ways_.clear();
  if (rule_.up_order.empty()) return;
  std::vector<SwitchIndex> at;
  for (SwitchIndex s = 0; s < may_lack_.size(); ++s)
    if (may_lack_[s] != 0 && !is_gone(s)) at.push_back(place_[s]);
  const auto missing = missing_ways(now, routes.lfts, at);
  std::vector<std::uint8_t> lacks(now.switch_count(), 0);
  for (const MissingWay& way : missing) lacks[way.at] = 1;
  for (SwitchIndex s = 0; s < may_lack_.size(); ++s)
    may_lack_[s] = is_gone(s) ? std::uint8_t{1} : lacks[place_[s]];
  own_ways_ = add_own_ways(now, routes.lfts, missing);
}

/// An entry was cleared. LIDs of what went are nobody's.
void Rerouter::State::note_lack(SwitchIndex s, Lid lid) {
  const auto ends = links.graph.end_ports();
  const SwitchIndex leaf = goals_[lid.value].leaf;
  if (ends[s] == 0 && ends[leaf] != 0 && !std::ranges::binary_search(went_, leaf)) may_lack_[s] = 1;
}

/// Where the rule has no way to what came back, no entry was cleared.
void Rerouter::State::note_lacks_of_what_came() {
  const auto ends = links.graph.end_ports();
  for (const auto& to : links.graph.destinations()) {
    if (ends[to.leaf] == 0 || !std::ranges::binary_search(came_, to.leaf)) continue;
    for (SwitchIndex s = 0; s < may_lack_.size(); ++s)
      if (ends[s] == 0 && !is_gone(s) && row(s)[to.lid.value] == tables::kNoPort) may_lack_[s] = 1;
  }
}

void Rerouter::State::lift_own_ways() { clear(own_ways_); }

void Rerouter::State::restore_own_ways() {
  for (const OwnWay& way : own_ways_) routes.lfts.set(way.at, way.lid, way.port);
}

std::vector<OwnWay> Rerouter::State::own_ways(const fabric::CompactGraph& now) const {
  if (own_ways_.empty()) return {};
  std::unordered_map<Guid, SwitchIndex> named;
  for (SwitchIndex s = 0; s < now.switch_count(); ++s) named.emplace(now.guid(s), s);
  std::vector<OwnWay> ways;
  for (const OwnWay& way : own_ways_)
    if (const auto at = named.find(here().guid(way.at));
        at != named.end() && way.lid <= now.max_lid())
      ways.push_back({at->second, way.lid, way.port});
  return ways;
}

}  // namespace ib::route
