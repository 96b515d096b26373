// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Unknown ways: links that are up and of which nobody knows where they lead, since who is behind
// did not answer. Entries that still send packets there may close a loop with others that change,
// by cables and switches that no graph has. So these entries go before any other changes. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "libdiag/route/reroute/transition.h"

namespace ib::route {

/// Switch and port.
using UnknownWays = std::set<std::pair<fabric::SwitchIndex, std::uint8_t>>;

/// The writes of a round before those of plan_transition(), in any order: entries of `held` that
/// differ from `after` and lead by an unknown way get the new port where the way from there is
/// known to its end and stays as it is meanwhile, else none. `held` is what switches hold then.
std::vector<Transition::Write> leave_unknown_ways(const fabric::CompactGraph& graph,
                                                  const UnknownWays& unknown,
                                                  const tables::LinearTables& after,
                                                  std::vector<Transition::Write>& held);

}  // namespace ib::route
