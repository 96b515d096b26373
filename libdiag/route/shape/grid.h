// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Grid: finds out that a switch graph is a torus, mesh, hypercube, HyperX or another product of
// smaller graphs, whatever its ports and GUIDs look like and though some links are missing.
#pragma once

#include <optional>
#include <vector>

#include "libdiag/route/shape/channels.h"

namespace ib::route {

struct Grid {
  struct Dimension {
    unsigned size{};   // coordinates 0..size - 1
    bool ring{false};  // neighbours differ by one, the last is the first's neighbour
    bool path{false};  // neighbours differ by one
  };
  std::vector<Dimension> dimensions;
  std::vector<std::uint8_t> dimension;     // by CompactGraph::arc_index
  std::vector<std::uint16_t> coordinates;  // by switch * dimensions.size() + dimension

  std::span<const std::uint16_t> at(fabric::SwitchIndex s) const {
    return {coordinates.data() + s * dimensions.size(), dimensions.size()};
  }
};

/// The same grid, its dimensions in the opposite order.
Grid with_last_dimension_first(const Grid& grid);

/// nullopt when it is none. A ring of four switches counts as two dimensions of two: it is both.
std::optional<Grid> find_grid(const fabric::CompactGraph& graph);

}  // namespace ib::route
