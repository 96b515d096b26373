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
    if (std::exchange(may_lack_[s], std::uint8_t{0}) != 0) at.push_back(s);
  const auto missing = missing_ways(now, routes.lfts, at);
  for (const MissingWay& way : missing) may_lack_[way.at] = 1;
  own_ways_ = add_own_ways(now, routes.lfts, missing);
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
    if (const auto at = named.find(links.graph.guid(way.at));
        at != named.end() && way.lid <= now.max_lid())
      ways.push_back({at->second, way.lid, way.port});
  return ways;
}

}  // namespace ib::route
