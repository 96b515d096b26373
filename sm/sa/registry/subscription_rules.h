// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who may subscribe to which notices (IBA 13.4.8.3), as a function from the present state and a
// request to a change or a refusal that says why.
#pragma once

#include "sm/sa/registry/change.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

/// Set(InformInfo): subscribes or unsubscribes.
Outcome set_subscription(const World& world, const WriteRequest& request);

}  // namespace sm::sa
