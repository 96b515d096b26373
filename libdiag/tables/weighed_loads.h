// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Loads of links by what these can carry: a route over a link half as fast as the fastest counts
// twice.
#pragma once

#include <cstdint>
#include <span>

#include "libdiag/fabric/fabric.h"
#include "libdiag/fabric/graph.h"

namespace ib::tables {

/// Of links between switches, each direction by itself.
struct WeighedLoads {
  double max{};
  double mean{};   // if all links shared all of the load by their speed
  double floor{};  // no routing has a smaller maximum
};

/// `loads` by CompactGraph::arc_index; `hops_least`: of all routes together, if each were a
/// shortest path. A link whose speed nobody knows is as fast as the fastest.
WeighedLoads weighed_loads(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                           std::span<const std::uint64_t> loads, double hops_least);

}  // namespace ib::tables
