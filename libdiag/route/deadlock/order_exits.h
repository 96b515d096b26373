// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Trees whose ways are partly taken from an up*/down* order: where nobody comes by who needs a
// shorter one.
#pragma once

#include <functional>
#include <span>

#include "libdiag/route/up_down/up_down.h"
#include "libdiag/route/ways/ways.h"

namespace ib::route {

/// In the trees to `which` of targets.all() the routes from switches for which stays(from, to) is
/// so remain what they are. All other switches, as far as none of those routes comes by, take an
/// exit of up_down_hops(): that of Request::previous if that is one and is honoured. Nothing loops:
/// a way by the order ends at the target or joins a route that stays, which never leads back.
void take_exits_by_order(
    const Request& request, const Targets& targets, const UpDownOrder& order,
    std::span<const std::size_t> which,
    const std::function<bool(fabric::SwitchIndex from, fabric::SwitchIndex to)>& stays, Ways& ways);

}  // namespace ib::route
