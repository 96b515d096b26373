// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Engine `dfp`: least hops, loads even, and lanes by turn. For Dragonfly+ and other networks whose
// paths are short: where links have a natural order (up, across, down) one lane or two do.
#include <fmt/format.h>

#include "libdiag/route/engines/engines.h"
#include "libdiag/route/turn_lanes.h"
#include "libdiag/routes/names.h"

namespace ib::route {

Result<Routes> dfp(const Request& request) {
  auto routes = minhop(request);
  if (!routes) return routes;
  auto found = lanes_by_turn(*request.graph, routes->lfts, request.vls);
  if (const auto* none = std::get_if<NoLane>(&found))
    return fail(ErrorKind::NotFound,
                none->too_long
                    ? fmt::format("not a network of short paths: {} is more than 6 links between "
                                  "switches from another switch with hosts",
                                  routes::switch_name(*request.fabric, *request.graph, none->at))
                    : fmt::format("paths of least hops from {} close a credit loop on {} VLs",
                                  routes::switch_name(*request.fabric, *request.graph, none->at),
                                  request.vls));
  auto& lanes = std::get<TurnLanes>(found);
  routes->engine = "dfp";
  routes->lanes = std::move(lanes.lanes);
  routes->vls_used = static_cast<std::uint8_t>(lanes.vls);
  routes->promises_deadlock_freedom = true;
  return routes;
}

}  // namespace ib::route
