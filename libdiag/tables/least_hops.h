// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LeastHops: which arcs lie on a shortest path to which switch, for up to 64 target switches at
// once: one bit a target, so a breadth-first step for all of them is one OR per arc.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "libdiag/fabric/graph.h"

namespace ib::tables {

inline constexpr std::size_t kTargetsPerBatch = 64;

struct LeastHops {
  /// at[d][s]: bit b is set when target b is exactly d hops from switch s. at[0] are the targets
  /// themselves; a target in no level of a switch cannot be reached from it.
  std::vector<std::vector<std::uint64_t>> at;
  /// By CompactGraph::arc_index: bit b is set when the arc is the first step of a shortest path to
  /// target b.
  std::vector<std::uint64_t> arcs;

  /// visit(b, s, d): target b is d hops from switch s, once for each pair that is joined.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t d = 0; d < at.size(); ++d)
      for (fabric::SwitchIndex s = 0; s < at[d].size(); ++s)
        for (std::uint64_t bits = at[d][s]; bits != 0; bits &= bits - 1)
          visit(static_cast<std::size_t>(std::countr_zero(bits)), s, d);
  }
};

/// Precondition: at most kTargetsPerBatch targets. Cost: arcs x (largest distance), whatever the
/// number of targets.
LeastHops least_hops(const fabric::CompactGraph& graph,
                     std::span<const fabric::SwitchIndex> targets);

/// The same where arcs are not all one hop long: `lengths` by CompactGraph::arc_index, 0 counts as
/// 1 since ways of length 0 could lead in circles. Levels are in order of length; lengths that no
/// switch has get none.
LeastHops least_hops(const fabric::CompactGraph& graph,
                     std::span<const fabric::SwitchIndex> targets,
                     std::span<const std::uint8_t> lengths);

/// Transposes a 64 x 64 bit matrix in place: bit j of word i becomes bit i of word j.
void transpose64(std::span<std::uint64_t, 64> rows);

}  // namespace ib::tables
