// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Multicast trees: are they trees, do they reach their members, and which turns do they take.
// Inside libdiag/tables only.
#pragma once

#include "libdiag/tables/verify_turns.h"
#include "libdiag/tables/verify_vls.h"

namespace ib::tables::check {

/// Counts faults into `verdict`. True when all are trees that reach their members.
bool check_trees(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                 const MulticastCheck& multicast, const VerifyOptions& options, Verdict& verdict);

/// Adds every in-port to every other out-port of each mask, and what `carried` (VLs by channel)
/// gets from it.
void add_multicast_turns(const SwitchGraph& switch_graph, const VlView& virtual_lanes,
                         const MulticastCheck& multicast, Dependencies& turns,
                         std::vector<std::uint16_t>& carried);

}  // namespace ib::tables::check
