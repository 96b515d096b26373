// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/loads.h"

#include "libdiag/tables/verify_walk.h"

namespace ib::tables {

std::vector<std::uint64_t> loads_by_arc(const fabric::CompactGraph& graph,
                                        const LinearTables& tables) {
  using namespace check;
  const Terrain terrain(graph, kNoLid);
  const VirtualLanes virtual_lanes;
  const VlView view(terrain, virtual_lanes);
  const auto load = walk_lids(terrain, view, tables, kNoLid, {true, false, false}, Lids::Ends).load;
  std::vector<std::uint64_t> result(graph.arc_count(), 0);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (std::size_t i = 0; i < graph.arcs(s).size(); ++i)
      result[graph.arc_index(s, i)] = load[terrain.channel(s, graph.arcs(s)[i].out_port)];
  return result;
}

}  // namespace ib::tables
