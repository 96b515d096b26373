// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// sssp without deadlocks: pairs of switches are put into as many layers as it takes for none to
// have a cycle, and dealt over all VLs there are. Where links form a grid its dimensions are taken
// in order; where LIDs each with ways of their own need too many layers, those behind a switch
// share one.
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/engines/layered.h"

namespace ib::route {

Result<Routes> dfsssp(const Request& request) {
  const Targets targets(request);
  const auto grid = find_grid(*request.graph);
  unsigned needed = ~0U;
  fabric::SwitchIndex crossing = fabric::kNoSwitch;
  for (const Grain grain : {Grain::Lid, Grain::Leaf}) {
    WayOptions options;
    options.grain = grain;
    options.grid = grid ? &*grid : nullptr;
    const Ways ways = find_ways(request, targets, options);
    const Layers layers = assign_layers(request, targets, ways, {request.vls, true, options.grid});
    if (layers.needed <= request.vls)
      return layered_routes("dfsssp", request, targets, ways, layers, 0);
    if (layers.needed < needed) needed = layers.needed, crossing = layers.crossing;
  }
  return too_few_vls("dfsssp", request, needed, crossing, 0);
}

}  // namespace ib::route
