// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/shape/grid_rows.h"

#include <algorithm>

namespace ib::route {

using fabric::kNoSwitch;
using fabric::SwitchIndex;

GridRows::GridRows(const Grid& grid, const Channels& channels)
    : grid_(&grid), channels_(&channels), dimension_(channels.size()) {
  for (std::size_t arc = 0; arc < grid.dimension.size(); ++arc)
    dimension_[channels.of_arc(arc)] = grid.dimension[arc];
  const std::size_t dimensions = grid.dimensions.size();
  steps_.assign(channels.switch_count() * dimensions * 2, kNoSwitch);
  runs_.assign(steps_.size(), 0);
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (!is_line(d)) continue;
    const unsigned size = grid.dimensions[d].size;
    for (SwitchIndex s = 0; s < channels.switch_count(); ++s) {
      const unsigned here = grid.at(s)[d];
      const bool ring = grid.dimensions[d].ring;
      if (ring || here + 1 < size) steps_[index(s, d, 0)] = neighbour(s, d, (here + 1) % size);
      if (ring || here > 0) steps_[index(s, d, 1)] = neighbour(s, d, (here + size - 1) % size);
    }
    for (SwitchIndex s = 0; s < channels.switch_count(); ++s)
      for (const unsigned way : {0U, 1U}) {
        unsigned run = 0;
        for (SwitchIndex at = s; run < size && step(at, d, way) != kNoSwitch; ++run)
          at = step(at, d, way);
        runs_[index(s, d, way)] = run;
      }
  }
}

SwitchIndex GridRows::neighbour(SwitchIndex s, std::size_t d, unsigned position) const {
  for (Channel c = channels_->first(s); c < channels_->first(s + 1); ++c)
    if (dimension_[c] == d && grid_->at(channels_->to(c))[d] == position) return channels_->to(c);
  return kNoSwitch;
}

bool GridRows::whole() const {
  for (SwitchIndex s = 0; s < channels_->switch_count(); ++s)
    for (std::size_t d = 0; d < grid_->dimensions.size(); ++d)
      for (unsigned to = 0; to < grid_->dimensions[d].size; ++to)
        if (to != grid_->at(s)[d] && !has_short_way(s, d, to)) return false;
  return true;
}

bool GridRows::has_short_way(SwitchIndex s, std::size_t d, unsigned to) const {
  if (!is_line(d)) return neighbour(s, d, to) != kNoSwitch;
  if (grid_->dimensions[d].ring) return whole_ring(s, d);
  const unsigned here = grid_->at(s)[d];
  return run(s, d, here < to ? 0 : 1) >= std::max(here, to) - std::min(here, to);
}

SwitchIndex GridRows::towards(SwitchIndex s, std::size_t d, unsigned to, bool low) const {
  if (!is_line(d)) return neighbour(s, d, to);
  const unsigned here = grid_->at(s)[d], size = grid_->dimensions[d].size;
  // On a path one of the two ways comes to its end before.
  const unsigned up = (to + size - here) % size, down = (here + size - to) % size;
  const bool up_first = up == down ? low == (here < to) : up < down;
  for (const unsigned way : {up_first ? 0U : 1U, up_first ? 1U : 0U})
    if (run(s, d, way) >= (way == 0 ? up : down)) return step(s, d, way);
  return kNoSwitch;
}

}  // namespace ib::route
