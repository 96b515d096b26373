// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who may register and remove services (IBA 15.2.5.14), as functions from the present state and a
// request to a change or a refusal that says why.
#pragma once

#include "sm/sa/registry/change.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

/// Set of ServiceRecord: registers, or renews and changes what was registered.
Outcome register_service(const World& world, const WriteRequest& request);
/// Delete of ServiceRecord.
Outcome remove_service(const World& world, const WriteRequest& request);

}  // namespace sm::sa
