// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Aggregation nodes: CAs inside switches that reduce data in the network (SHARP). They send and
// receive, but no host is behind them.
#pragma once

#include "libdiag/fabric/fabric.h"

namespace ib::fabric {

/// True for a CA with the device ID that aggregation nodes of Quantum switches have, and for one
/// that calls itself so in its NodeDescription.
bool is_aggregation_node(const Node& node);

}  // namespace ib::fabric
