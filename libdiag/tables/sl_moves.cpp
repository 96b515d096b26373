// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/sl_moves.h"

namespace ib::tables {

SlMoves sl_moves(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                 const LinearTables& lfts, const VirtualLanes& virtual_lanes,
                 const PathSls& earlier, VerifyOptions options) {
  SlMoves moves{moved_pairs(graph, earlier, virtual_lanes.sls), 0};
  if (moves.pairs.empty()) return moves;
  options.earlier_sls = &earlier;
  moves.credit_loop_channels =
      verify(fabric, graph, lfts, virtual_lanes, {}, options).credit_loop_channels;
  return moves;
}

}  // namespace ib::tables
