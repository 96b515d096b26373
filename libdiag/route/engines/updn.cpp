// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/shape/ranks.h"

namespace ib::route {

Result<UpDownOrder> updn_order(const Request& request, std::vector<std::string>& notes) {
  auto ranks = ranks_from_roots(request);
  if (!ranks) return tl::unexpected(ranks.error());
  notes = std::move(ranks->notes);
  return with_single_tops(*request.graph, order_by_rank(request, *ranks));
}

Result<CandidateRule> updn_candidates(const Request& request) {
  std::vector<std::string> notes;
  auto order = updn_order(request, notes);
  if (!order) return tl::unexpected(order.error());
  CandidateRule rule = candidates_by(*request.graph, std::move(*order));
  rule.notes = std::move(notes);
  return rule;
}

Result<Routes> updn(const Request& request) {
  std::vector<std::string> notes;
  const auto order = updn_order(request, notes);
  if (!order) return tl::unexpected(order.error());
  Routes result = up_down_routes(request, "updn", *order);
  result.notes = std::move(notes);
  return result;
}

}  // namespace ib::route
