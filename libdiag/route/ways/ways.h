// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Ways: shortest paths chosen by what is on the links along the whole of them, not only at the
// switch that chooses. What sssp, dfsssp and lash have in common.
#pragma once

#include <optional>
#include <vector>

#include "libdiag/route/engine.h"
#include "libdiag/route/shape/grid.h"
#include "libdiag/route/spread/spread.h"

namespace ib::route {

inline constexpr std::uint8_t kNoExit = 255;

/// Trees of shortest paths: each tells every switch which of its arcs leads to one target.
class Ways {
 public:
  Ways(std::size_t switches, std::size_t trees)
      : switches_(switches), exits_(switches * trees, kNoExit) {}

  std::size_t switch_count() const { return switches_; }
  std::size_t tree_count() const { return switches_ == 0 ? 0 : exits_.size() / switches_; }
  /// By switch: a position in graph.arcs(s); kNoExit at the target and where there is no way.
  std::span<std::uint8_t> tree(std::size_t t) { return {exits_.data() + t * switches_, switches_}; }
  std::span<const std::uint8_t> tree(std::size_t t) const {
    return {exits_.data() + t * switches_, switches_};
  }

  /// Trees of targets.all()[i] are first[i] up to, not including, first[i + 1]: at least one. LIDs
  /// of the switch itself follow the first.
  std::vector<std::size_t> first;
  /// The tree of each of targets.columns().
  std::vector<std::uint32_t> of_column;
  /// Of previous tables (deadlock/part_ways.h): ways that stay, by tree, then switch, and the
  /// greatest load that there was without them.
  struct Kept {
    std::vector<bool> ways;
    double load_max{};
    std::size_t parted{};  // ways of hosts that are not the shortest
  };
  std::optional<Kept> kept;
  /// So many LIDs of an end port go different ways as far as that can be, then they repeat.
  std::size_t orders{1};

 private:
  std::size_t switches_;
  std::vector<std::uint8_t> exits_;
};

/// How many trees a target gets.
enum class Grain {
  Lid,   // one for each LID of its CAs: the most even loads
  Leaf,  // one (with LMC one for each offset): the ways of a pair of switches stay together
};

struct WayOptions {
  Grain grain{Grain::Lid};
  /// If given: one dimension is finished before the next, which leaves few cycles.
  const Grid* grid{nullptr};
  /// In a grid: where something is missing ways may be longer, and keep to that order (grid_fan.h).
  bool round_damage{false};
  /// In a grid: further LIDs of an end port take its dimensions in other orders (grid_order.h), and
  /// so many of them in any; 0: all in one order.
  unsigned free_dimensions{0};
  /// Rounds after the first, in which each tree is chosen again with all others in place, as long
  /// as they lower the greatest load.
  unsigned rounds_more{3};
};

Ways find_ways(const Request& request, const Targets& targets, const WayOptions& options);

/// The trees that tables follow, one for each LID of a host and one for each switch without hosts.
/// Precondition: the tables do not loop.
Ways ways_along(const fabric::CompactGraph& graph, const Targets& targets,
                const tables::LinearTables& tables);

/// Tables that follow the trees. Where a tree is shared by several LIDs, those are spread over
/// parallel links.
tables::LinearTables tables_from(const Request& request, const Targets& targets, const Ways& ways);

}  // namespace ib::route
