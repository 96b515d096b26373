// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/fresh.h"

#include <utility>

namespace sm::plan {

FreshRoutes compute_afresh(const FreshRequest& request) {
  FreshRoutes out;
  const Desired& desired = *request.desired;
  const Routing& held = *desired.routing;
  out.held_load = request.held_load;
  const auto fabric = routed_fabric(request.observed->fabric, desired.node_managed, desired.lids);
  auto routes =
      request.engine->compute({&fabric, &held.graph, request.options, nullptr, request.vls});
  if (!routes) {
    out.refused = std::move(routes.error().message);
    return out;
  }
  // A transition that changes lanes needs traffic to drain first; load alone is not worth that.
  if (!routes->lanes.trivial()) {
    out.refused = "fresh routes take several VLs";
    return out;
  }
  ib::route::Rerouter rerouter(*request.engine, request.options, request.vls);
  rerouter.adopt(fabric, held.graph, *std::move(routes));
  out.load = rerouter.load_max();
  if (ib::route::is_near(out.held_load, out.load)) return out;

  const ib::route::Routes& fresh = rerouter.routes();
  out.verifier = std::make_shared<ib::routes::Verifier>(request.checks);
  out.verdict = out.verifier->verify(fabric, held.graph, fresh.lfts, fresh.lanes);
  if (!out.verdict.must_ok()) {
    out.refused = first_must(out.verdict);
    return out;
  }
  out.blocks = ib::route::difference(held.lfts, fresh.lfts).blocks.size();
  out.routing = std::make_shared<const Routing>(
      Routing{held.graph, fresh.lfts, fresh.engine, fresh.lanes, fresh.multicast});
  out.rerouter.emplace(std::move(rerouter));
  return out;
}

}  // namespace sm::plan
