// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How many routes each link between switches carries.
#pragma once

#include <cstdint>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/tables/tables.h"

namespace ib::tables {

/// CA-to-CA routes, by CompactGraph::arc_index: each direction of a link by itself.
std::vector<std::uint64_t> loads_by_arc(const fabric::CompactGraph& graph,
                                        const LinearTables& tables);

}  // namespace ib::tables
