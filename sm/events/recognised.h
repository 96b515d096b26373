// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What several changes of a fabric are together: a node that stands where another one stood, two
// cables that were swapped, a part that split off or joined. Pure.
#pragma once

#include <vector>

#include "libdiag/fabric/fabric.h"
#include "sm/events/event.h"

namespace sm::events {

std::vector<Event> recognised(const ib::fabric::Fabric& before, const ib::fabric::Fabric& now);

}  // namespace sm::events
