// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Ways for what a switch itself sends (answers to perfquery, say), where an order of switches
// leaves it none to some host: down and then up. No packet of a host passes there, or the order
// would have a way. What such a packet may wait for is proved together with all other routes.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/tables/tables.h"

namespace ib::route {

/// A switch without end ports, and a LID behind a switch with some to which it has no entry.
struct MissingWay {
  Lid lid{};
  fabric::SwitchIndex at{};
  friend auto operator<=>(const MissingWay&, const MissingWay&) = default;
};

/// Those of the switches `at`, ascending.
std::vector<MissingWay> missing_ways(const fabric::CompactGraph& graph,
                                     const tables::LinearTables& lfts,
                                     std::span<const fabric::SwitchIndex> at);

struct OwnWay {
  fabric::SwitchIndex at{};
  Lid lid{};
  std::uint8_t port{};
};

/// Gives each an entry that leads to the nearest neighbour with a way, so nothing loops, if the
/// dependencies between channels then still close no cycle: those of all packets that any switch
/// sends by these tables, on one VL. Those that get none stay as they are. Precondition: no entry
/// leads to a switch without one. The same graph and tables get the same entries, which are
/// returned.
std::vector<OwnWay> add_own_ways(const fabric::CompactGraph& graph, tables::LinearTables& lfts,
                                 std::span<const MissingWay> missing);
/// The same for all switches.
std::vector<OwnWay> add_own_ways(const fabric::CompactGraph& graph, tables::LinearTables& lfts);

}  // namespace ib::route
