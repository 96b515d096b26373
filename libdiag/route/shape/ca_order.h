// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The order of hosts under which shifts meet on no link of a tree that ftree routes: what opensm
// writes as opensm-ftree-ca-order.dump, for rank files of MPI.
#pragma once

#include <optional>
#include <vector>

#include "libdiag/route/engine.h"

namespace ib::route {

/// LIDs of compute nodes leaf by leaf; nothing: a place that no host has, since every leaf gets as
/// many as the largest. An error where the graph is no tree.
Result<std::vector<std::optional<Lid>>> ca_order(const Request& request);

}  // namespace ib::route
