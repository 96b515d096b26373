// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/shape/ranks.h"

namespace ib::route {

UpDownOrder dnup_order(const Request& request) {
  const Ranks ranks = ranks_from_leaves(*request.graph);
  return with_single_tops(*request.graph, order_by_rank(request, ranks));
}

Result<CandidateRule> dnup_candidates(const Request& request) {
  return candidates_by(*request.graph, dnup_order(request));
}

Result<Routes> dnup(const Request& request) {
  return up_down_routes(request, "dnup", dnup_order(request));
}

}  // namespace ib::route
