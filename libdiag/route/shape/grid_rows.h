// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Rows of a grid: switches that differ in one coordinate. How far one can go along a row, either
// way, before something is missing.
#pragma once

#include <array>
#include <optional>

#include "libdiag/route/shape/grid.h"

namespace ib::route {

class GridRows {
 public:
  GridRows(const Grid& grid, const Channels& channels);

  /// The next switch from s along its row of dimension d towards position `to`, by the shorter way
  /// or, where that is broken, by the other. kNoSwitch: both are. Where both are equally long,
  /// `low` says whether to go by way of the positions between the two.
  fabric::SwitchIndex towards(fabric::SwitchIndex s, std::size_t d, unsigned to, bool low) const;

  /// No row has a gap.
  bool whole() const;
  /// The row of s along dimension d is a ring without a gap.
  bool whole_ring(fabric::SwitchIndex s, std::size_t d) const {
    return grid_->dimensions[d].ring && run(s, d, 0) >= grid_->dimensions[d].size;
  }

 private:
  // Ways along a row: 0 to larger positions, 1 to smaller ones.
  std::size_t index(fabric::SwitchIndex s, std::size_t d, unsigned way) const {
    return (s * grid_->dimensions.size() + d) * 2 + way;
  }
  fabric::SwitchIndex step(fabric::SwitchIndex s, std::size_t d, unsigned way) const {
    return steps_[index(s, d, way)];
  }
  /// Steps that can be taken; the size of the ring where there is no end.
  unsigned run(fabric::SwitchIndex s, std::size_t d, unsigned way) const {
    return runs_[index(s, d, way)];
  }
  bool is_line(std::size_t d) const {
    return grid_->dimensions[d].ring || grid_->dimensions[d].path;
  }
  bool has_short_way(fabric::SwitchIndex s, std::size_t d, unsigned to) const;
  fabric::SwitchIndex neighbour(fabric::SwitchIndex s, std::size_t d, unsigned position) const;

  const Grid* grid_;
  const Channels* channels_;
  std::vector<std::uint8_t> dimension_;     // by channel
  std::vector<fabric::SwitchIndex> steps_;  // by index()
  std::vector<std::uint32_t> runs_;         // by index()
};

}  // namespace ib::route
