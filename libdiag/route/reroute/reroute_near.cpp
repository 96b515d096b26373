// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How tables come near to what a fresh computation would load links with: single entries leave
// links that carry more than they may, and where that is not enough, LIDs take their fresh ways.
// Candidates mix as they like, LID by LID and entry by entry, so nothing else has to change.
#include <algorithm>
#include <tuple>

#include "libdiag/route/reroute/reroute_state.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Entries that are looked at for others they could be: a second's worth.
constexpr std::uint64_t kLooksMax = 1'000'000;

}  // namespace

double Rerouter::State::load_floor() const {
  double floor = floor_.load();
  // Without an order all ways of an engine are as short as can be, so in all links carry what they
  // carry now.
  if (!rule_.up_order.empty() || weighted_ || !follows()) return floor;
  double hops = 0, room = 0;
  for (std::size_t a = 0; a < load_.size(); ++a) {
    if (links.alive[a] == 0) continue;
    if (cost_[a] == 0) return floor;
    hops += static_cast<double>(load_[a]) / cost_[a];
    room += 1.0 / cost_[a];
  }
  if (room != 0) floor = std::max(floor, hops / room);
  return floor;
}

std::uint64_t Rerouter::State::load_max_of(const State& other) const {
  std::uint64_t top = 0;
  std::vector<SwitchIndex> ours(other.links.graph.switch_count());
  for (SwitchIndex s = 0; s < place_.size(); ++s)
    if (!is_gone(s)) ours[place_[s]] = s;
  for (std::uint32_t a = 0; a < other.load_.size(); ++a) {
    if (other.load_[a] == 0) continue;
    const std::uint32_t own = arc_by_port(ours[other.links.from[a]], other.arc(a).out_port);
    top = std::max(top, other.load_[a] / other.cost_[a] * cost_[own]);
  }
  return top;
}

/// What so many sources more would put on the way that begins with an arc beyond the limit.
std::uint64_t Rerouter::State::excess(std::uint32_t a, Lid lid, std::uint64_t more,
                                      std::uint64_t limit) const {
  std::uint64_t sum = 0;
  const auto add = [&](std::uint32_t next) {
    const std::uint64_t room = limit > load_[next] ? limit - load_[next] : 0;
    if (more * cost_[next] > room) sum += more * cost_[next] - room;
  };
  add(a);
  along(arc(a).to, lid, goals_[lid.value].leaf, add);
  return sum;
}

/// Sends what comes by to a LID over another candidate if all links together then carry less beyond
/// the limit.
bool Rerouter::State::turn_aside(SwitchIndex s, Lid lid, std::uint64_t limit) {
  using Key = std::tuple<std::uint64_t, int, std::uint64_t, std::uint32_t>;
  if (++looks_ > kLooksMax) return false;
  const std::uint64_t more = sources(s, lid);
  if (more == 0) return false;
  const Goal& goal = goals_[lid.value];
  const bool siblings = targets_.all()[goal.target].has_siblings;
  const std::uint32_t now = arc_of(s, lid);
  drop_load(s, lid, more);
  Key choice{excess(now, lid, more, limit), 0, 0, now};
  for (std::size_t i = 0; i < links.graph.arcs(s).size(); ++i) {
    const auto a = static_cast<std::uint32_t>(links.graph.arc_index(s, i));
    if (a == now || !is_candidate(a, goal.target)) continue;
    const std::uint64_t sum = excess(a, lid, more, limit);
    if (sum > std::get<0>(choice) || (sum == std::get<0>(choice) && std::get<3>(choice) == now))
      continue;
    choice =
        std::min(choice, {sum, siblings ? overlap(s, lid, arc(a).to) : 0, crest(a, lid, more), a});
  }
  const std::uint32_t way = std::get<3>(choice);
  if (way != now) set(s, lid, arc(way).out_port);
  add_load(s, lid, more);
  return way != now;
}

/// Turns what goes to a LID over an arc aside: at s, whose way leads there, or else farther up.
bool Rerouter::State::divert(std::uint32_t a, SwitchIndex s, Lid lid, std::uint64_t limit) {
  if (turn_aside(s, lid, limit)) return true;
  bool moved = false;
  for (const auto& out : links.graph.arcs(s)) {
    if (row(out.to)[lid.value] != out.in_port) continue;
    moved |= divert(a, out.to, lid, limit);
    if (load_[a] <= limit) break;
  }
  return moved;
}

bool Rerouter::State::unload(std::uint32_t a, std::uint64_t limit, const Lids& kept) {
  const SwitchIndex s = links.from[a];
  bool moved = false;
  for (std::size_t lid = 1; lid < goals_.size() && load_[a] > limit; ++lid) {
    const Lid of{static_cast<std::uint16_t>(lid)};
    if (kept[lid] == 0 && goals_[lid].counts && goals_[lid].leaf != s && arc_of(s, of) == a)
      moved |= divert(a, s, of, limit);
  }
  return moved;
}

/// Each move takes something off what is beyond the limit, so it ends. `kept`: LIDs to leave alone.
bool Rerouter::State::lower_to(std::uint64_t limit, const Lids& kept) {
  for (bool moved = true; moved;) {
    std::vector<std::uint32_t> crowded;
    for (std::uint32_t a = 0; a < load_.size(); ++a)
      if (load_[a] > limit) crowded.push_back(a);
    if (crowded.empty()) return true;
    std::ranges::stable_sort(crowded, std::greater{}, [&](std::uint32_t a) { return load_[a]; });
    moved = false;
    for (const std::uint32_t a : crowded) moved |= unload(a, limit, kept);
  }
  return false;
}

bool Rerouter::State::approach(const State& fresh, std::uint64_t limit) {
  Lids kept(goals_.size(), 0), without(goals_.size(), 0);
  looks_ = 0;
  while (!lower_to(limit, kept)) {
    // A few at a time, so that entries may move in between.
    const auto lids = helped_by(fresh, limit, without);
    if (lids.empty()) return false;
    const std::size_t some = 1 + lids.size() / 32;
    for (std::size_t i = 0, taken = 0; i < lids.size() && taken < some; ++i) {
      without[lids[i].value] = 1;
      if (!fits(fresh, lids[i])) continue;
      take_ways(fresh, lids[i]);
      kept[lids[i].value] = 1;
      ++taken;
    }
  }
  return true;
}

/// LIDs whose fresh ways put less on the links that carry too much, the most helpful first. While
/// fresh routes keep within the limit there are such LIDs, or none is left.
std::vector<Lid> Rerouter::State::helped_by(const State& fresh, std::uint64_t limit,
                                            const Lids& without) const {
  std::vector<std::int64_t> gain(goals_.size(), 0);
  for (std::uint32_t a = 0; a < load_.size(); ++a) {
    if (load_[a] <= limit) continue;
    const SwitchIndex s = links.from[a];
    const std::uint8_t port = arc(a).out_port;
    for (std::size_t lid = 1; lid < goals_.size(); ++lid) {
      const Lid of{static_cast<std::uint16_t>(lid)};
      if (without[lid] != 0 || !goals_[lid].counts || goals_[lid].leaf == s) continue;
      const bool here = row(s)[lid] == port, there = fresh.row(place_[s])[lid] == port;
      const auto cost = static_cast<std::int64_t>(cost_[a]);
      if (here) gain[lid] += static_cast<std::int64_t>(sources(s, of)) * cost;
      if (there) gain[lid] -= static_cast<std::int64_t>(fresh.sources(place_[s], of)) * cost;
    }
  }
  std::vector<Lid> lids;
  for (std::size_t lid = 1; lid < goals_.size(); ++lid)
    if (gain[lid] > 0) lids.push_back(Lid{static_cast<std::uint16_t>(lid)});
  std::ranges::stable_sort(lids, std::greater{}, [&](Lid lid) { return gain[lid.value]; });
  return lids;
}

/// Whether all fresh entries of a LID are candidates. Detours are not: those of two states may not
/// mix.
bool Rerouter::State::fits(const State& fresh, Lid lid) const {
  for (SwitchIndex s = 0; s < links.graph.switch_count(); ++s) {
    if (is_gone(s)) continue;
    const std::uint8_t port = fresh.row(place_[s])[lid.value];
    if (port == row(s)[lid.value]) continue;
    const std::uint32_t a = arc_by_port(s, port);
    if (a == kNoArc || !is_candidate(a, goals_[lid.value].target)) return false;
  }
  return true;
}

/// Changes its entries to the fresh ones. Precondition: they fit.
void Rerouter::State::take_ways(const State& fresh, Lid lid) {
  for (SwitchIndex s = 0; s < links.graph.switch_count(); ++s) {
    if (is_gone(s)) continue;
    const std::uint8_t port = fresh.row(place_[s])[lid.value];
    if (port == row(s)[lid.value]) continue;
    const std::uint64_t moved = sources_of(s, lid);
    drop_load(s, lid, moved);
    set(s, lid, port);
    add_load(s, lid, moved);
  }
}

}  // namespace ib::route
