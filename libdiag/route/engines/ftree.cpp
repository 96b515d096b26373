// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>
#include <functional>

#include "libdiag/route/engines/engines.h"
#include "libdiag/route/reroute/own_ways.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/route/shape/ranks.h"
#include "libdiag/route/shape/tree_shape.h"
#include "libdiag/route/spread/compute_nodes.h"
#include "libdiag/route/spread/exits.h"
#include "libdiag/route/spread/quality.h"
#include "libdiag/route/up_down/detours.h"
#include "libdiag/route/ways/closed_form.h"
#include "libdiag/route/ways/even_out.h"
#include "libdiag/route/ways/shifts.h"

namespace ib::route {
namespace {

/// True when the most loaded link of `a` carries less by more than a hundredth, or as much and no
/// more packets of a shift meet on it.
bool is_as_good(const Request& request, const tables::LinearTables& a,
                const tables::LinearTables& b) {
  const double load_a = greatest_load(request, a), load_b = greatest_load(request, b);
  if (load_a * kEqualLoad < load_b || load_b * kEqualLoad < load_a) return load_a < load_b;
  return sampled_contention(*request.graph, a) <=
         sampled_contention(*request.graph, b) * kEqualContention;
}

bool links_are_alike(const Request& request) {
  const auto costs = route_costs(request);
  return std::ranges::adjacent_find(costs, std::not_equal_to{}) == costs.end();
}

/// calm_shifts() looks at the first LID of every end port, and at no speeds. Where further ones, or
/// fast links, make up for that on links that are loaded most, tables stay as they are.
void calm(const Request& request, const Targets& targets, const TreePlaces& places,
          std::span<const tables::LeastHops> hops, tables::LinearTables& lfts) {
  if (targets.lids_of_a_port() == 1 && links_are_alike(request)) {
    calm_shifts(request, targets, places, hops, lfts);
    return;
  }
  auto calmed = lfts;
  calm_shifts(request, targets, places, hops, calmed);
  if (greatest_load(request, calmed) <= greatest_load(request, lfts)) lfts = std::move(calmed);
}

/// Where something is missing: single entries on the most loaded links move, so that all others
/// stay as they were dealt and what shifts need stays with them. Only where that does not do,
/// everything is evened out: where the most loaded links, once relieved, carry more than
/// kNearLeast times the least there can be.
void mend(const Request& request, const UpDownOrder& order, const Targets& targets,
          const TreePlaces& places, std::vector<tables::LeastHops>& hops,
          tables::LinearTables& lfts) {
  add_detours(*request.graph, order, targets, hops);
  Routes dealt;
  dealt.lfts = lfts;
  auto relieved =
      Rerouter::relieved(request, candidates_by(*request.graph, order, true), std::move(dealt))
          .lfts;
  calm(request, targets, places, hops, relieved);
  const double near = kNearLeast * least_load(request);
  if (greatest_load(request, relieved) > near) {
    // Where leaves have very different numbers of hosts, counting what is on the links of a switch
    // does at once what moving LIDs one by one takes long to come near to.
    // Nor do places tell which link is slow.
    auto counted = spread(request, targets, hops);
    const bool is_near = greatest_load(request, counted) <= near;
    if (is_near || !links_are_alike(request)) lfts = std::move(counted);
    if (!is_near) even_out(request, targets, hops, lfts);
    calm(request, targets, places, hops, lfts);
    if (is_as_good(request, lfts, relieved)) return;
  }
  lfts = std::move(relieved);
}

/// The same; only routes between the hosts of `alone` count.
void mend_for_compute_nodes(const Request& request, const fabric::CompactGraph& alone,
                            const Ranks& ranks, const UpDownOrder& order,
                            tables::LinearTables& lfts) {
  Request counted = request;
  counted.graph = &alone;
  const Targets targets(counted);
  auto hops = up_down_candidates(alone, order, targets);
  mend(counted, order, targets, TreePlaces(counted, ranks, targets), hops, lfts);
}

}  // namespace

Result<CandidateRule> ftree_candidates(const Request& request) {
  auto ranks = ranks_from_roots(request);
  if (!ranks) return tl::unexpected(ranks.error());
  if (const auto tree = check_tree(request, *ranks); !tree) return tl::unexpected(tree.error());
  CandidateRule rule = candidates_by(
      *request.graph, with_single_tops(*request.graph, order_by_rank(request, *ranks)), true);
  rule.notes = std::move(ranks->notes);
  return rule;
}

Result<Routes> ftree(const Request& request) {
  auto ranks = ranks_from_roots(request);
  if (!ranks) return tl::unexpected(ranks.error());
  if (const auto tree = check_tree(request, *ranks); !tree) return tl::unexpected(tree.error());
  const auto order = with_single_tops(*request.graph, order_by_rank(request, *ranks));
  const Targets targets(request);
  auto hops = up_down_candidates(*request.graph, order, targets);

  Routes result;
  result.engine = "ftree";
  const TreePlaces places(request, *ranks, targets);
  result.lfts = closed_form_tables(request, targets, places, hops);
  if (!is_complete_tree(request, *ranks, targets, hops)) {
    if (const auto alone = graph_of_compute_nodes(request))
      mend_for_compute_nodes(request, *alone, *ranks, order, result.lfts);
    else
      mend(request, order, targets, places, hops, result.lfts);
  }
  add_own_ways(*request.graph, result.lfts);
  result.promises_deadlock_freedom = true;
  result.multicast.up_order.assign(order.positions().begin(), order.positions().end());
  result.notes = std::move(ranks->notes);
  return result;
}

}  // namespace ib::route
