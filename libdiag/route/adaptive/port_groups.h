// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which ports a switch may choose among for a LID, beside the one of its LFT. They are proposals:
// tables/adaptive.h proves them.
#pragma once

#include <string>

#include "libdiag/route/engine.h"
#include "libdiag/tables/adaptive.h"

namespace ib::route {

/// All links to the switch that the LFT leads to. LIDs of switches, and those with one such link,
/// have no group.
tables::PortGroups parallel_links(const fabric::CompactGraph& graph,
                                  const tables::LinearTables& lfts);

/// All ports by which the engine might have routed the LID: those on a shortest way of its tree.
/// LIDs of switches, those with one such port, and those that the LFT leads elsewhere have no
/// group. `order`: that the routes keep to, where it is not the one that the engine would make now;
/// nullptr: it is. An error says, in one sentence, why the engine has no such ports.
Result<tables::PortGroups> shortest_ways(const Request& request, std::string_view engine,
                                         std::shared_ptr<const PlacedSwitches> order,
                                         const tables::LinearTables& lfts);

}  // namespace ib::route
