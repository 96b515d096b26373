// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The part of a fabric that a step of a chain routes, as a fabric of its own: the switches of the
// topology, the links of which both ports are in it, and its hosts.
#pragma once

#include <vector>

#include "libdiag/route/chain/chain.h"
#include "libdiag/tables/tables.h"

namespace ib::route {

struct ChainPart {
  fabric::Fabric fabric;
  fabric::CompactGraph graph;
  /// Switches of the whole graph, by those of this one.
  std::vector<fabric::SwitchIndex> whole;
  /// `tables` of the whole, by the switches of this one.
  tables::LinearTables part_of(const tables::LinearTables& tables) const;
};

/// Hosts of `graph` behind which is none stay such.
ChainPart chain_part(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                     const fabric::PortGroups& groups, const ChainTopology& topology);

}  // namespace ib::route
