// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Lanes by turn: SL2VL lets a switch choose the VL by input port, output port and SL, so packets
// may change lanes on their way. This finds such tables for given paths, so that no lane's channel
// ever waits for itself, with as few lanes as it can.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "libdiag/route/channels.h"
#include "libdiag/routes/lanes.h"
#include "libdiag/routes/tables.h"

namespace ib::route {

struct TurnLanes {
  routes::Lanes lanes;
  unsigned vls{1};
};

/// Why there are none.
struct NoLane {
  fabric::SwitchIndex at{};  // a path from here fits on no lane
  bool too_long{false};      // not tried: paths of more than six links between switches
};

/// Lanes for the paths that `lfts` gives to all pairs of CAs and routers. Pairs of switches are
/// taken in the order of their longest path, longest first; each takes the first SL under which
/// both directions fit. Under an SL a turn has one lane: the one its first path needed.
/// Preconditions: the tables do not loop; 1 <= vls_max <= 15.
std::variant<TurnLanes, NoLane> lanes_by_turn(const fabric::CompactGraph& graph,
                                              const routes::LinearTables& lfts, unsigned vls_max);

}  // namespace ib::route
