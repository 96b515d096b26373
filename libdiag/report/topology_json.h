// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A fabric as JSON, schema ibkit.ibtopo/2 (doc/formats.md). Nodes by type and GUID, cables by their
// ends: the same fabric gives the same document.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "libdiag/fabric/names.h"
#include "libdiag/report/json.h"

namespace ib::report {

/// `degraded`: whether the link at this port runs below what both its ends support; empty: unknown.
/// `built_in`: nodes that switches say are built in behind their ports, ascending.
std::string topology_json(const fabric::Fabric& fabric, const Envelope& envelope,
                          const fabric::NodeNames* names = nullptr,
                          const std::function<bool(fabric::PortRef)>& degraded = {},
                          const std::vector<Guid>& built_in = {});

}  // namespace ib::report
