// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The way back. Every update is kept as a step, so that when the links are again what they were
// before one of them, tables and loads are what they were then, and a cable that has been out for a
// while leaves nothing behind. What is not that way undone is asked of each entry: where it led in
// the beginning it leads again as soon as that is a candidate.

#include <algorithm>
#include <tuple>
#include <utility>

#include "libdiag/route/reroute/reroute_origin.h"
#include "libdiag/route/reroute/reroute_state.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Beyond that the oldest two are one.
constexpr std::size_t kStepsMost = 32;

/// Sorts by switch and LID, or by arc, and keeps the first of each.
template <class Element, class Key>
void keep_first(std::vector<Element>& list, Key key) {
  std::ranges::stable_sort(list, {}, key);
  const auto [rest, end] = std::ranges::unique(list, {}, key);
  list.erase(rest, end);
}

auto place_of(const Difference::Entry& entry) { return std::tuple(entry.at, entry.lid); }

}  // namespace

bool Rerouter::Origin::is_made_for(const Request& request) const {
  const fabric::CompactGraph& now = *request.graph;
  if (!same_ends(now, graph)) return false;
  for (SwitchIndex s = 0; s < now.switch_count(); ++s) {
    if (!std::ranges::equal(now.arcs(s), graph.arcs(s), same_arc)) return false;
    for (std::size_t i = 0; request.options.link_capacity && i < now.arcs(s).size(); ++i)
      if (kind_of(*request.fabric, now.node_of(s), now.arcs(s)[i].out_port) !=
          kinds[graph.arc_index(s, i)])
        return false;
  }
  return true;
}

bool Rerouter::Origin::mixes_with(const Request& request) const {
  if (*request.previous_sls == routes.virtual_lanes.sls) return true;
  tables::VerifyOptions both;
  both.loads = false;
  both.earlier_sls = request.previous_sls;
  return tables::verify(*request.fabric, *request.graph, routes.lfts, routes.virtual_lanes, {},
                        both)
             .credit_loop_channels == 0;
}

Routes Rerouter::State::first_routes() const {
  Routes first = routes;
  if (here_) {
    first.lfts = carried_over(routes.lfts, *here_, links.graph);
    first.multicast.up_order = up_order_;
  }
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
    for (const auto& entry : step->entries) first.lfts.set(entry.at, entry.lid, entry.before);
  return first;
}

void Rerouter::State::begin_step() {
  step_ = {};
  if (!has_moved()) return;
  step_.dead = dead_;
  loaded_ = load_;
  for (std::size_t batch = 0; batch < detours_.size(); ++batch)
    for (const std::uint32_t a : detours_[batch].arcs)
      step_.detours.push_back({batch, a, detours_[batch].words[a]});
}

void Rerouter::State::end_step(const std::vector<Difference::Entry>& entries) {
  if (!has_moved() || returned_ || !follows()) return;
  step_.entries = entries;
  for (std::uint32_t a = 0; a < load_.size(); ++a)
    if (load_[a] != loaded_[a]) step_.load.emplace_back(a, loaded_[a]);
  steps_.push_back(std::move(step_));
  if (steps_.size() > kStepsMost) forget_a_step();
}

/// The links between the oldest two are not returned to any more; those before both still are.
void Rerouter::State::forget_a_step() {
  Step& first = steps_[0];
  const Step& second = steps_[1];
  first.entries.insert(first.entries.end(), second.entries.begin(), second.entries.end());
  keep_first(first.entries, place_of);
  first.load.insert(first.load.end(), second.load.begin(), second.load.end());
  keep_first(first.load, [](const auto& load) { return load.first; });
  steps_.erase(steps_.begin() + 1);
}

void Rerouter::State::follow_dead() {
  if (!has_moved()) return;
  std::erase_if(dead_, [this](std::uint32_t a) { return links.alive[a] != 0; });
  dead_.insert(dead_.end(), links.lost.begin(), links.lost.end());
  std::ranges::sort(dead_);
}

/// If the links are those of before some step, undoes that and all after it.
bool Rerouter::State::go_back() {
  if (!has_moved()) return false;
  std::size_t kept = steps_.size();
  while (kept != 0 && steps_[kept - 1].dead != dead_) --kept;
  if (kept == 0) return false;
  --kept;
  for (std::size_t i = steps_.size(); i-- > kept;) {
    for (const auto& entry : steps_[i].entries) set(entry.at, entry.lid, entry.before);
    for (const auto& [a, load] : steps_[i].load) load_[a] = load;
  }
  for (auto& those : detours_) {
    for (const std::uint32_t a : those.arcs) those.words[a] = 0;
    those.arcs.clear();
  }
  for (const auto& [batch, a, targets] : steps_[kept].detours) {
    detours_[batch].arcs.push_back(a);
    detours_[batch].words[a] = targets;
  }
  steps_.resize(kept);
  returned_ = true;
  return true;
}

/// Links came back, and others are still out: entries that led elsewhere in the beginning do so
/// again where that is a candidate.
void Rerouter::State::go_home() {
  std::vector<Difference::Entry> homes;
  for (const Step& step : steps_)
    homes.insert(homes.end(), step.entries.begin(), step.entries.end());
  keep_first(homes, place_of);
  for (const auto& [at, lid, before, after] : homes) {
    const std::uint32_t home = arc_by_port(at, before), now = arc_of(at, lid);
    const std::uint32_t target = goals_[lid.value].target;
    if (home == kNoArc || home == now || now == kNoArc) continue;
    const std::uint64_t word = candidates_[target / tables::kTargetsPerBatch][home];
    if (((word >> (target % tables::kTargetsPerBatch)) & 1) == 0) continue;
    const std::uint64_t moved = sources_of(at, lid);
    drop_load(at, lid, moved);
    set(at, lid, before);
    add_load(at, lid, moved);
  }
}

}  // namespace ib::route
