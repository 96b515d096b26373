// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// nue: no credit loop on any fabric, with any number of VLs. Where the VLs are enough for balanced
// short paths, those are what it takes; the engines that find them are asked first. Otherwise
// all pairs get trees on one VL, by the best of several orders of channels, and with the VLs that
// are left as many switches as possible get their shortest paths back.
#include <algorithm>
#include <optional>
#include <utility>

#include "libdiag/route/deadlock/vl_trees.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/tables/names.h"

namespace ib::route {
namespace {

constexpr double kWorkToCompare = 3e6;  // arcs looked at: beyond, one order has to do
constexpr unsigned kRounds = 4;         // in which all trees are grown again

struct Candidate {
  VlTrees trees;
  std::optional<UpDownOrder> order;  // none: the order came about with the trees
};

Candidate grown(Candidate candidate) {
  candidate.trees.grow_all();
  candidate.trees.improve(1);
  return candidate;
}

/// Balanced short paths as another engine finds them, where it fits and these VLs do.
std::optional<Routes> known_way(Request request) {
  request.options.torus.reset();
  constexpr std::pair<const char*, Engine> kEngines[] = {
      {"dfsssp", dfsssp}, {"ftree", ftree}, {"torus-2QoS", torus_2qos}, {"dfp", dfp}};
  for (const auto& [name, engine] : kEngines) {
    if (std::ranges::find(request.unfit, name) != request.unfit.end()) continue;
    auto routes = engine(request);
    if (!routes) continue;
    routes->engine = "nue";
    return std::move(*routes);
  }
  return std::nullopt;
}

/// All pairs on one VL: the order with the least of the greatest loads. Up*/down* orders are the
/// better ones where there is a middle to keep clear of, orders that come about with the trees
/// where there is none.
Candidate best_on_one_vl(const Request& request, const Targets& targets) {
  const Channels channels(*request.graph);
  const auto by_order = [&](UpDownOrder order) {
    VlTrees trees(request, targets, channel_order(channels, order));
    return grown({std::move(trees), std::move(order)});
  };
  Candidate best = by_order(dnup_order(request));
  const auto compare = [&](Candidate other) {
    if (other.trees.greatest_load() < best.trees.greatest_load()) best = std::move(other);
  };
  std::vector<std::string> notes;
  if (auto order = updn_order(request, notes)) compare(by_order(std::move(*order)));
  if (VlTrees::work(*request.graph, targets) <= kWorkToCompare)
    compare(grown({VlTrees(request, targets), std::nullopt}));
  return best;
}

MulticastRule multicast_of(const Candidate& chosen) {
  MulticastRule rule;
  if (chosen.order) {
    const auto positions = chosen.order->positions();
    rule.up_order.assign(positions.begin(), positions.end());
  } else {
    rule.up_order = chosen.trees.escape_tree().number;
    rule.parent = chosen.trees.escape_tree().parent;
  }
  return rule;
}

}  // namespace

Result<Routes> nue(const Request& asked) {
  Request request = asked;
  const unsigned most = request.options.nue_max_num_vls;
  request.vls = std::max(1U, most == 0 ? request.vls : std::min(request.vls, most));
  if (auto known = known_way(request)) return std::move(*known);

  const Targets targets(request);
  // A few times the arcs that kWorkToCompare stands for, however large the fabric.
  const double work = VlTrees::work(*request.graph, targets);
  const unsigned rounds = work > 20 * kWorkToCompare ? 1 : work > kWorkToCompare ? 3 : kRounds;
  Candidate chosen = best_on_one_vl(request, targets);
  chosen.trees.improve(rounds);
  Routes result;
  result.engine = "nue";
  if (request.vls > 1) {
    const std::size_t shortened = chosen.trees.shorten(request.vls, request.previous_sls);
    chosen.trees.improve(rounds);
    result.notes.push_back(
        "nue: " + std::to_string(request.vls) + " VLs do for shortest paths of " +
        tables::counted(shortened, "switch", "switches") + ", others take detours");
  } else {
    result.notes.push_back(
        "nue: with one VL loads are less even, or paths longer, than more VLs would allow");
  }
  auto tables = chosen.trees.tables();
  if (tables.switches_beside != 0)
    result.notes.push_back("nue: routes to " + std::to_string(tables.switches_beside) +
                           " switches without CAs may close credit loops");
  result.lfts = std::move(tables.lfts);
  result.virtual_lanes.sls = chosen.trees.sls();
  result.vls_used = static_cast<std::uint8_t>(chosen.trees.vls_used());
  if (result.vls_used > 1)
    result.virtual_lanes.sl_to_vl = tables::SlToVl(tables::SlToVlRow::modulo(asked.vls));
  result.promises_deadlock_freedom = true;
  result.multicast = multicast_of(chosen);
  return result;
}

}  // namespace ib::route
