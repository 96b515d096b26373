// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Layered shortest paths: one way of fewest hops for each ordered pair of switches, parallel links
// as one, and as few layers as it takes for none to have a cycle.
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/engines/layered.h"

namespace ib::route {

Result<Routes> lash(const Request& request) {
  const unsigned start = request.options.lash_start_vl;
  if (start >= request.vls)
    return too_few_vls("lash", request, 1,
                       request.graph->switch_count() > 0 ? 0 : fabric::kNoSwitch, start);
  const Targets targets(request);
  const GridAttempts in_grid(*request.graph, targets, request.vls - start);
  std::vector<Attempt> attempts = in_grid.all();
  attempts.push_back({{Grain::Leaf}});
  unsigned needed = ~0U;
  fabric::SwitchIndex crossing = fabric::kNoSwitch;
  for (const Attempt& attempt : attempts) {
    const auto [ways, layers] = layered_ways(
        request, targets, attempt, {.layers_max = request.vls - start, .first_sl = start});
    if (layers.needed <= request.vls - start)
      return layered_routes("lash", request, targets, ways, layers, start);
    if (layers.needed < needed) needed = layers.needed, crossing = layers.crossing;
  }
  return too_few_vls("lash", request, needed, crossing, start);
}

}  // namespace ib::route
