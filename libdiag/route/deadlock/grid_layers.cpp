// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/grid_layers.h"

#include <algorithm>

#include "libdiag/route/shape/grid_rows.h"

namespace ib::route {

GridLayers::GridLayers(const Grid& grid, const Turns& turns) : kind_(turns.size(), kFree) {
  const Channels& channels = turns.channels();
  const GridRows rows(grid, channels);
  std::vector<std::uint8_t> dimension(channels.size());
  for (std::size_t i = 0; i < grid.dimension.size(); ++i)
    dimension[channels.of_arc(i)] = grid.dimension[i];
  for (std::size_t d = 0; d < grid.dimensions.size(); ++d)
    if (grid.dimensions[d].ring && grid.dimensions[d].size > 3) rings_.push_back(d);
  for (Turn t = 0; t < turns.size(); ++t) {
    const auto [a, b] = turns.dependency(t);
    if (dimension[a] > dimension[b]) kind_[t] = kOutOfOrder;
    if (dimension[a] != dimension[b]) continue;
    const auto at = std::find(rings_.begin(), rings_.end(), dimension[a]);
    if (at == rings_.end() || !rows.whole_ring(channels.to(a), *at)) continue;
    const auto ring = static_cast<unsigned>(at - rings_.begin());
    const unsigned place = grid.at(channels.to(a))[*at];
    if (place == 0) kind_[t] = static_cast<std::uint8_t>(2 * ring);
    if (place == grid.dimensions[*at].size / 2) kind_[t] = static_cast<std::uint8_t>(2 * ring + 1);
  }
}

std::uint32_t GridLayers::fitting(std::span<const Turn> turns) const {
  std::uint32_t layers = (std::uint32_t{1} << count()) - 1;
  for (const Turn t : turns) {
    if (kind_[t] == kFree) continue;
    if (kind_[t] == kOutOfOrder) return 0;
    // Layer l cuts ring r at 0 where bit r of l is clear, at n/2 where it is set.
    for (unsigned l = 0; l < count(); ++l)
      if (((l >> (kind_[t] / 2)) & 1U) == (kind_[t] & 1U)) layers &= ~(std::uint32_t{1} << l);
  }
  return layers;
}

}  // namespace ib::route
