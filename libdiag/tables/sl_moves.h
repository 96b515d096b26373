// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a change of routes means to connections, which go on with the SLs that they got.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "libdiag/tables/verify.h"

namespace ib::tables {

struct SlMoves {
  /// Pairs of switches whose SL is another one than connections between their hosts got.
  std::vector<std::pair<fabric::SwitchIndex, fabric::SwitchIndex>> pairs;
  /// Of what is in flight until these are set up again: the new tables, with the SLs of now and
  /// those of before together. None where no pair has moved.
  std::size_t credit_loop_channels{0};
};

/// `earlier`: the SLs of before, by the switches of `graph` (carried_over()). `options` are those
/// that `lfts` and `virtual_lanes` were verified with.
SlMoves sl_moves(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                 const LinearTables& lfts, const VirtualLanes& virtual_lanes,
                 const PathSls& earlier, VerifyOptions options);

}  // namespace ib::tables
