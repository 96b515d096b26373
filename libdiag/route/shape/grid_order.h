// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// In which order ways through a grid take its dimensions, where an end port has several LIDs: each
// LID in another, so that its way shares no link with the others. Ways stay the shortest.
//
// Orders cannot be mixed at will. Layers (grid_layers.h) tell apart which way the first few
// dimensions, the free ones, are gone along; those may be taken in any order. A later dimension may
// come before an earlier one only where that is then gone up: nothing turns into going down except
// what comes from an earlier dimension, so no cycle has a link that goes down, hence none that goes
// up, dimension by dimension. That is done in long rings only, where up is everywhere the same;
// elsewhere links at one end of a dimension would carry more than those at the other.
#pragma once

#include <algorithm>
#include <vector>

#include "libdiag/route/shape/grid.h"

namespace ib::route {

class GridOrder {
 public:
  GridOrder(const Grid& grid, unsigned free_dimensions);

  /// The dimension that is next on the way of LID number `sibling` of an end port at `target`: what
  /// is left is gone the same way by all that come by. Precondition: s is not the target.
  std::size_t next(fabric::SwitchIndex s, fabric::SwitchIndex target, std::size_t sibling) const;

  /// Half way round a ring: by way of the positions between the two. All ways of a pair of switches
  /// use the same half.
  static bool by_low_half(unsigned here, unsigned there) { return std::min(here, there) % 2 == 0; }

  /// Whether dimension d is gone along towards larger positions, in a ring by the shorter way.
  static bool goes_up(const Grid::Dimension& d, unsigned here, unsigned there);

 private:
  const Grid* grid_;
  unsigned free_dimensions_;
  bool all_long_rings_;
};

/// Rings of more than three switches: what a layer has to cut.
std::vector<std::size_t> long_rings(const Grid& grid);

/// How many dimensions layers can leave free when there are so many layers; 1 at least.
unsigned free_dimensions(const Grid& grid, unsigned layers_max);

}  // namespace ib::route
