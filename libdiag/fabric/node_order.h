// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The order of nodes that whatever must not depend on which node was seen, or written, first stands
// on.
#pragma once

#include "libdiag/fabric/fabric.h"

namespace ib::fabric {

/// Nodes by GUID, those of one GUID as they are.
std::vector<NodeIndex> nodes_by_guid(const Fabric& fabric);
/// The same fabric with its nodes in this order. Nodes that it leaves out are gone, and their
/// cables with them.
Fabric with_nodes_in(const Fabric& fabric, std::span<const NodeIndex> order);
/// The same fabric with its nodes by GUID.
Fabric sorted_by_guid(const Fabric& fabric);

}  // namespace ib::fabric
