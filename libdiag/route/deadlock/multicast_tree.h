// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The spanning tree that multicast is claimed for beside layers of unicast routes.
#pragma once

#include <vector>

#include "libdiag/route/deadlock/turns.h"
#include "libdiag/route/engine.h"

namespace ib::route {

/// All switches, those with the shortest way to the farthest switch with CAs first.
std::vector<fabric::SwitchIndex> tree_roots(const fabric::CompactGraph& graph,
                                            const Targets& targets);

/// A spanning tree of few levels from one of `roots`, without branches on which there is no CA; in
/// other pieces from the first of the others. Returns the turns that packets of a group take going
/// up and down in it, and fills in up_order and parent of the rule.
std::vector<Turn> multicast_tree(const fabric::CompactGraph& graph, const Turns& turns,
                                 std::vector<fabric::SwitchIndex> roots, std::size_t root,
                                 MulticastRule& rule);

}  // namespace ib::route
