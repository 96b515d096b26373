// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// VLs by turn: SL2VL lets a switch choose the VL by input port, output port and SL, so packets
// may change VLs on their way. This finds such tables for given paths, so that no VL's channel
// ever waits for itself, with as few VLs as it can.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "libdiag/route/shape/channels.h"
#include "libdiag/route/ways/ways.h"
#include "libdiag/tables/tables.h"
#include "libdiag/tables/virtual_lanes.h"

namespace ib::route {

struct TurnVls {
  tables::VirtualLanes virtual_lanes;
  unsigned vls{1};
  std::size_t left_out{0};     // pairs with a switch that has no CA, for which no SL was found
  std::size_t ways_parted{0};  // that changed in PartByTurns::ways
};

/// Why there are none.
struct NoVl {
  fabric::SwitchIndex at{};  // a path from here fits on no VL
  bool too_long{false};      // not tried: paths of more than six links between switches
};

/// What there was before, by the switches of now; null: nothing, or it is not known.
struct FormerVls {
  const tables::PathSls* sls{};
  const tables::SlToVl* sl_to_vl{};
  const tables::LinearTables* lfts{};
};

/// Ways of the LIDs of a port that share links change where VLs allow (part_ways.h). `ways`: those
/// that the tables follow.
struct PartByTurns {
  const Request& request;
  const Targets& targets;
  Ways& ways;
};

/// VLs for the paths that `lfts` gives to all pairs of CAs and routers. Pairs of switches are
/// taken in the order of their longest path, longest first, those before all others that keep the
/// SL they had; the others take the first under which both directions fit. Under an SL a turn has
/// one VL: the one its first path needed. Behind them come the paths between CAs and switches that
/// have none, each with an SL under which it fits, as far as there is one; where hosts need one VL
/// only, each on the first VL that takes it. Preconditions: the tables do not loop; LIDs of a
/// switch with CAs follow those of a CA; 1 <= vls_max <= 15.
/// Null: ways stay as they are.
std::variant<TurnVls, NoVl> vls_by_turn(const fabric::CompactGraph& graph,
                                        const tables::LinearTables& lfts, unsigned vls_max,
                                        const FormerVls& former = {},
                                        const PartByTurns* part = nullptr);

}  // namespace ib::route
