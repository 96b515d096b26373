// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How many paths that share no link routes offer between two switches, and how many there could be.
#pragma once

#include <span>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/tables/tables.h"

namespace ib::tables {

/// LIDs behind one switch, seen from another.
struct Ways {
  fabric::SwitchIndex from{}, to{};
  std::vector<Lid> lids;
};

struct DisjointPaths {
  double mean{};      // paths to the LIDs, each counted that shares no link with those before it
  double least{};     // of any of the ways
  double possible{};  // the mean of what links allow, as many as there are LIDs at most
};

/// Parallel. All zero where there are no ways.
DisjointPaths disjoint_paths(const fabric::CompactGraph& graph, const LinearTables& tables,
                             std::span<const Ways> ways);

}  // namespace ib::tables
