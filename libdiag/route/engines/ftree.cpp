// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/reroute/detours.h"
#include "libdiag/route/shape/ranks.h"
#include "libdiag/route/shape/tree_shape.h"
#include "libdiag/route/spread/deal.h"
#include "libdiag/route/spread/even_out.h"
#include "libdiag/route/spread/shifts.h"

namespace ib::route {

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
  result.lfts = deal(request, targets, places, hops);
  if (!is_complete_tree(request, *ranks, targets, hops)) {
    add_detours(*request.graph, order, targets, hops);
    even_out(request, targets, hops, result.lfts);
    calm_shifts(request, targets, places, hops, result.lfts);
  }
  result.promises_deadlock_freedom = true;
  result.multicast.up_order.assign(order.positions().begin(), order.positions().end());
  result.notes = std::move(ranks->notes);
  return result;
}

}  // namespace ib::route
