// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Ways of the LIDs of one end port that share no link. Between two switches of a row of a grid, or
// of a dragonfly's groups, there is one shortest way, so all LIDs of a port would take it. Here a
// switch that sends to a port sends some of its LIDs by another exit, up to two hops farther.
#pragma once

#include <functional>

#include "libdiag/route/ways/ways.h"

namespace ib::route {

/// Whether the ways between two switches still close no credit loop, of which the one there on
/// `tree` is new. True: they count from now on. False: nothing changes.
using AdmitWay =
    std::function<bool(fabric::SwitchIndex from, fabric::SwitchIndex to, std::size_t tree)>;

/// Changes exits of switches that nobody else sends through to that LID. A link gets at most a
/// tenth more than the greatest load before. How many ways changed, those that were kept so with
/// them; none where there are very many.
std::size_t part_ways(const Request& request, const Targets& targets, Ways& ways,
                      const AdmitWay& admit);

/// Ways that were parted and still can be stay so (Options::honour_previous); `ways` are the
/// shortest. False: nothing changed.
bool keep_parted_ways(const Request& request, const Targets& targets, Ways& ways);

}  // namespace ib::route
