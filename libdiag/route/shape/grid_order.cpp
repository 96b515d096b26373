// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/shape/grid_order.h"

#include <algorithm>

namespace ib::route {

using fabric::SwitchIndex;

GridOrder::GridOrder(const Grid& grid, unsigned free_dimensions)
    : grid_(&grid),
      free_dimensions_(free_dimensions),
      all_long_rings_(long_rings(grid).size() == grid.dimensions.size()) {}

std::size_t GridOrder::next(SwitchIndex s, SwitchIndex target, std::size_t sibling) const {
  const auto here = grid_->at(s), there = grid_->at(target);
  std::vector<std::size_t> left;
  for (std::size_t d = 0; d < here.size(); ++d)
    if (here[d] != there[d]) left.push_back(d);
  const std::size_t first = left.front();
  // Of what goes half way round, more goes up from some positions than from others.
  const auto& ring = grid_->dimensions[first];
  const unsigned low = std::min(here[first], there[first]);
  const unsigned high = std::max(here[first], there[first]);
  const bool half = ring.size == 2 * (high - low);
  if (!all_long_rings_ || half || !goes_up(ring, here[first], there[first]))
    std::erase_if(left, [&](std::size_t d) { return d != first && d >= free_dimensions_; });
  const std::size_t turn = sibling % here.size();
  return turn < left.size() ? left[turn] : first;
}

bool GridOrder::goes_up(const Grid::Dimension& d, unsigned here, unsigned there) {
  if (!d.ring || d.size <= 3) return here < there;
  const unsigned up = (there + d.size - here) % d.size;
  if (2 * up == d.size) return by_low_half(here, there) == (here < there);
  return 2 * up < d.size;
}

std::vector<std::size_t> long_rings(const Grid& grid) {
  std::vector<std::size_t> rings;
  for (std::size_t d = 0; d < grid.dimensions.size(); ++d)
    if (grid.dimensions[d].ring && grid.dimensions[d].size > 3) rings.push_back(d);
  return rings;
}

unsigned free_dimensions(const Grid& grid, unsigned layers_max) {
  const std::size_t rings = long_rings(grid).size();
  unsigned free = 1;
  while (free < grid.dimensions.size() && (std::uint64_t{1} << (rings + free)) <= layers_max)
    ++free;
  return free;
}

}  // namespace ib::route
