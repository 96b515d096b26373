// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/reroute/own_ways.h"
#include "libdiag/route/ways/even_out.h"

namespace ib::route {

Routes up_down_routes(const Request& request, std::string engine, const UpDownOrder& order) {
  const Targets targets(request);
  Routes result;
  result.engine = std::move(engine);
  result.lfts = spread_evenly(request, targets, up_down_candidates(*request.graph, order, targets),
                              candidates_by(*request.graph, order));
  add_own_ways(*request.graph, result.lfts);
  result.promises_deadlock_freedom = true;
  result.multicast.up_order.assign(order.positions().begin(), order.positions().end());
  return result;
}

}  // namespace ib::route
