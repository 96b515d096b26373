// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which layers of a grid a pair of switches fits, by rule.
//
// All take the dimensions in order: a ring of n switches has no cycle while nothing passes straight
// through one of them. Minimal ways pass at most n/2 - 1, so they miss position 0 or position n/2:
// with both choices in every ring, 2^rings layers hold every pair. A ring that has lost a link has
// no cycle anyway.
//
// Further LIDs take them in other orders (grid_order.h): then every layer lacks one link of each
// ring, that between the last position and the first or the one opposite, which leaves a mesh; and
// it says for each free dimension which way along it is up. What goes down in those comes before
// what goes up. With 2^(free dimensions - 1) choices every pair only goes up or only goes down.
#pragma once

#include "libdiag/route/deadlock/turns.h"
#include "libdiag/route/shape/grid.h"

namespace ib::route {

class GridLayers {
 public:
  /// free_dimensions 0: all ways take the dimensions in order.
  GridLayers(const Grid& grid, const Turns& turns, unsigned free_dimensions);

  /// 0 when there is nothing to choose, or too many for a bit each.
  unsigned count() const { return count_; }

  /// As bits; 0 when the pair keeps to no layer's order.
  std::uint32_t fitting(std::span<const Turn> turns) const;

 private:
  static constexpr unsigned kMost = 16;

  void in_order(const Grid& grid, const Turns& turns);
  void in_any_order(const Grid& grid, const Turns& turns, unsigned free_dimensions);
  std::uint32_t all() const { return (std::uint32_t{1} << count_) - 1; }

  unsigned count_{0};
  std::vector<std::uint8_t> dimension_;  // by channel
  std::vector<std::uint32_t> refusing_;  // by turn, layers as bits
};

}  // namespace ib::route
