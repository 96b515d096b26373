// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Least hops through the levels of a tree with hosts above the leaves. Between two of those the
// least hops may lead through a valley, down and then up again:
//
//      S1   S2       S1 to S2: down to any L, then up
//       |\ /|
//       | X |
//       |/ \|
//      L1   L2
#pragma once

#include <cstdint>
#include <span>

#include "libdiag/route/up_down/up_down.h"

namespace ib::route {

/// What a path does on its way: only the order of climbs and descents counts, not how many links
/// each of them has.
enum class PathShape : std::uint8_t {
  Empty,
  Down,
  Up,
  UpDown,
  DownUp,
  DownUpDown,
  Other,
};

/// The shape of a path that goes up or down first and then has the shape `rest`.
PathShape after_step(bool up, PathShape rest);

/// What is up on a tree.
struct TreeOrders {
  UpDownOrder levels;       // by rank
  UpDownOrder single_tops;  // the same with_single_tops()
};

/// Which valleys paths turn in that lead to the bottom of a tree, where something is missing.
enum class Valleys {
  All,  // loads are as even as with all least hops
  Few,  // as many paths as possible turn in the same one, and need fewer layers
};

/// Of the arcs of least hops those that avoid valleys: a switch from which least hops need none
/// keeps to ways without, any other descends first where it can, so that as many paths as possible
/// are of one shape in both directions. Where a valley is shared it is that of the single top as
/// far as it can be.
tables::LeastHops valley_hops(const fabric::CompactGraph& graph, const TreeOrders& orders,
                              std::span<const fabric::SwitchIndex> targets, Valleys valleys);

}  // namespace ib::route
