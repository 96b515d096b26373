// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/grid_layers.h"

#include <algorithm>

#include "libdiag/route/shape/grid_order.h"
#include "libdiag/route/shape/grid_rows.h"

namespace ib::route {

GridLayers::GridLayers(const Grid& grid, const Turns& turns, unsigned free_dimensions)
    : dimension_(turns.channels().size()) {
  for (std::size_t i = 0; i < grid.dimension.size(); ++i)
    dimension_[turns.channels().of_arc(i)] = grid.dimension[i];
  const std::size_t choices =
      long_rings(grid).size() + (free_dimensions == 0 ? 0 : free_dimensions - 1);
  if ((choices == 0 && free_dimensions == 0) || (std::size_t{1} << choices) > kMost) return;
  count_ = 1U << choices;
  refusing_.assign(turns.size(), 0);
  if (free_dimensions == 0)
    in_order(grid, turns);
  else
    in_any_order(grid, turns, free_dimensions);
}

void GridLayers::in_order(const Grid& grid, const Turns& turns) {
  const Channels& channels = turns.channels();
  const GridRows rows(grid, channels);
  const auto rings = long_rings(grid);
  for (Turn t = 0; t < turns.size(); ++t) {
    const auto [a, b] = turns.dependency(t);
    if (dimension_[a] > dimension_[b]) refusing_[t] = all();
    if (dimension_[a] != dimension_[b]) continue;
    const auto at = std::find(rings.begin(), rings.end(), dimension_[a]);
    if (at == rings.end() || !rows.whole_ring(channels.to(a), *at)) continue;
    const auto ring = static_cast<unsigned>(at - rings.begin());
    const unsigned place = grid.at(channels.to(a))[*at];
    const bool low = place == 0, high = place == grid.dimensions[*at].size / 2;
    // Layer l cuts ring r at 0 where bit r of l is clear, at n/2 where it is set.
    for (unsigned l = 0; l < count_; ++l)
      if (((l >> ring) & 1U) == 0 ? low : high) refusing_[t] |= 1U << l;
  }
}

void GridLayers::in_any_order(const Grid& grid, const Turns& turns, unsigned free_dimensions) {
  const Channels& channels = turns.channels();
  const auto rings = long_rings(grid);
  const auto position = [&](fabric::SwitchIndex s, std::size_t d) { return grid.at(s)[d]; };
  // By channel: layers that lack it, and those in which it goes up.
  std::vector<std::uint32_t> lacking(channels.size(), 0), rising(channels.size(), 0);
  for (Channel c = 0; c < channels.size(); ++c) {
    const std::size_t d = dimension_[c];
    const unsigned here = position(channels.from(c), d), there = position(channels.to(c), d);
    const bool up = GridOrder::goes_up(grid.dimensions[d], here, there);
    const unsigned lower = up ? here : there, last = grid.dimensions[d].size - 1;
    for (unsigned l = 0; l < count_; ++l) {
      for (std::size_t r = 0; r < rings.size(); ++r)
        if (rings[r] == d && lower == (((l >> r) & 1U) == 0 ? last : last / 2))
          lacking[c] |= 1U << l;
      // The first dimension goes up by its positions in every layer, as all do that are not free.
      const bool turned = d > 0 && d < free_dimensions && ((l >> (rings.size() + d - 1)) & 1U) != 0;
      if (up != turned) rising[c] |= 1U << l;
    }
  }
  for (Turn t = 0; t < turns.size(); ++t) {
    const auto [a, b] = turns.dependency(t);
    refusing_[t] = lacking[a] | lacking[b];
    if (dimension_[a] == dimension_[b]) continue;
    const bool both_free = dimension_[a] < free_dimensions && dimension_[b] < free_dimensions;
    if (both_free)
      refusing_[t] |= rising[a] & ~rising[b];
    else if (dimension_[a] > dimension_[b])
      refusing_[t] |= all() & ~rising[b];
  }
}

std::uint32_t GridLayers::fitting(std::span<const Turn> turns) const {
  std::uint32_t layers = all();
  for (const Turn t : turns) layers &= ~refusing_[t];
  return layers;
}

}  // namespace ib::route
