// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Findings in words that name switches, ports and VLs. Inside libdiag/tables only.
#pragma once

#include "libdiag/tables/tables.h"
#include "libdiag/tables/verify_turns.h"
#include "libdiag/tables/verify_vls.h"

namespace ib::tables::check {

/// One cycle among the nodes that order_of() left over.
Finding credit_loop(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                    const VlView& virtual_lanes, const Dependencies& turns,
                    const std::vector<Node>& left, bool must);

/// Turns of switch LIDs that would close a cycle, the first of them by name. Precondition: there is
/// one.
Finding refused_turns(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                      const VlView& virtual_lanes, const Dependencies& turns,
                      const LinearTables& tables, const std::vector<Turn>& refused);

/// Why the walk from `source` does not arrive; nullopt when it does.
std::optional<Finding> explain(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                               const LinearTables& tables, const fabric::Destination& destination,
                               SwitchIndex source, bool must);

}  // namespace ib::tables::check
