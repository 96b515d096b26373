// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/quality.h"

#include <algorithm>
#include <vector>

#include "libdiag/route/spread/exits.h"
#include "libdiag/route/spread/spread.h"
#include "libdiag/tables/figures.h"
#include "libdiag/tables/loads.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Shifts looked at: enough that the mean of a second sample differs by a few per cent at most.
constexpr std::size_t kShifts = 64;

/// What a route over the fastest link costs; 1 where all are alike or ignored.
double unit_of(std::span<const std::uint32_t> costs) {
  std::uint32_t least = 0;
  for (const std::uint32_t cost : costs)
    if (cost != 0 && (least == 0 || cost < least)) least = cost;
  return std::max(least, 1U);
}

}  // namespace

double greatest_load(const Request& request, const tables::LinearTables& tables) {
  const auto costs = route_costs(request);
  const auto loads = tables::loads_by_arc(*request.graph, tables);
  std::uint64_t most = 0;
  for (std::size_t a = 0; a < loads.size(); ++a) most = std::max(most, loads[a] * costs[a]);
  return static_cast<double>(most) / unit_of(costs);
}

double least_load(const Request& request) {
  const fabric::CompactGraph& graph = *request.graph;
  const auto costs = route_costs(request);
  const auto pieces = fabric::pieces_of(graph);
  const Targets targets(request);
  std::vector<double> senders(pieces.count, 0), lids(pieces.count, 0);
  std::vector<double> own(graph.switch_count(), 0);
  for (const Target& target : targets.all()) {
    own[target.leaf] = static_cast<double>(target.columns());
    senders[pieces.of[target.leaf]] += targets.sources(target.leaf);
    lids[pieces.of[target.leaf]] += own[target.leaf];
  }
  double floor = 0;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    double links = 0;  // in links as fast as the fastest
    bool limited = true;
    for (std::size_t i = 0; i < graph.arcs(s).size(); ++i) {
      const std::uint32_t cost = costs[graph.arc_index(s, i)];
      limited &= cost != 0;
      if (cost != 0) links += 1.0 / cost;
    }
    if (links == 0 || !limited) continue;
    const std::uint32_t piece = pieces.of[s];
    const double out = targets.sources(s) * (lids[piece] - own[s]);
    const double in = (senders[piece] - targets.sources(s)) * own[s];
    floor = std::max(floor, std::max(out, in) / links);
  }
  return floor / unit_of(costs);
}

double sampled_contention(const fabric::CompactGraph& graph, const tables::LinearTables& tables) {
  return tables::shift_contention(graph, tables, {1, kShifts, kShifts}).mean;
}

bool is_perfect(const Quality& quality, double least_load) {
  return quality.load <= least_load * kEqualLoad && quality.contention &&
         *quality.contention <= 1.0 && quality.vls == 1;
}

std::size_t best_of(std::span<const Quality> of) {
  const double load = std::ranges::min(of, {}, &Quality::load).load * kEqualLoad;
  std::optional<double> contention;
  for (const Quality& q : of)
    if (q.load <= load && q.contention && (!contention || *q.contention < *contention))
      contention = q.contention;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of[i].load > load) continue;
    if (contention && of[i].contention && *of[i].contention > *contention * kEqualContention)
      continue;
    if (!best || of[i].vls < of[*best].vls) best = i;
  }
  return *best;
}

}  // namespace ib::route
