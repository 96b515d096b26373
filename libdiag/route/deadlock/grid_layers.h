// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which layers of a grid a pair of switches fits, by rule. A ring of n switches has no cycle while
// nothing passes straight through one of them. Minimal ways pass at most n/2 - 1, so they miss
// position 0 or position n/2: with both choices in every ring, 2^rings layers hold every pair that
// takes the dimensions in order. A ring that has lost a link has no cycle anyway.
#pragma once

#include "libdiag/route/deadlock/turns.h"
#include "libdiag/route/shape/grid.h"

namespace ib::route {

class GridLayers {
 public:
  GridLayers(const Grid& grid, const Turns& turns);

  /// 0 when there are no rings, or too many for a bit each.
  unsigned count() const { return rings_.empty() || rings_.size() > 4 ? 0 : 1U << rings_.size(); }

  /// As bits; 0 when the pair does not keep to the order of dimensions.
  std::uint32_t fitting(std::span<const Turn> turns) const;

 private:
  static constexpr std::uint8_t kFree = 255, kOutOfOrder = 254;

  std::vector<std::size_t> rings_;  // dimensions
  std::vector<std::uint8_t> kind_;  // by turn: 2 * ring, + 1 at n/2; or the constants above
};

}  // namespace ib::route
