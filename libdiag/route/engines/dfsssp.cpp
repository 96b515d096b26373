// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// sssp without deadlocks: pairs of switches are put into as many layers as it takes for none to
// have a cycle, and dealt over all VLs there are. Where links form a grid its dimensions are taken
// in order first; where LIDs each with ways of their own need too many layers, those behind a
// switch share one.
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/engines/layered.h"

namespace ib::route {

Result<Routes> dfsssp(const Request& asked) {
  const Request request = listed_nodes_first(asked);
  const Targets targets(request);
  const GridAttempts in_grid(*request.graph, targets, request.vls);
  // In a grid all LIDs of a leaf would take the same way, so it need not be found for each.
  std::vector<Attempt> attempts = in_grid.all();
  attempts.push_back({{Grain::Lid}});
  attempts.push_back({{Grain::Leaf}});
  unsigned needed = ~0U;
  fabric::SwitchIndex crossing = fabric::kNoSwitch;
  for (const Attempt& attempt : attempts) {
    const auto [ways, layers] =
        layered_ways(request, targets, attempt, {.layers_max = request.vls, .use_all = true});
    if (layers.needed <= request.vls)
      return layered_routes("dfsssp", request, targets, ways, layers, 0);
    if (layers.needed < needed) needed = layers.needed, crossing = layers.crossing;
  }
  return too_few_vls("dfsssp", request, needed, crossing, 0);
}

}  // namespace ib::route
