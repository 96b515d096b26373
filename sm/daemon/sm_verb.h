// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm ctl sm`: which subnet managers there are, who is master, and since when and why.
#pragma once

#include "sm/control/protocol.h"
#include "sm/core/mastership.h"
#include "sm/daemon/consistency.h"

namespace sm::daemon {

/// `sm`, with the option json. `own_lid`: of this one's port, 0 where it is not known.
/// `consistency`: what is configured otherwise at others; null: nothing is compared.
control::Answer sm_verb(const control::Request& request, const core::Mastership& mastership,
                        ib::Lid own_lid, ib::Instant now, const Consistency* consistency = nullptr);

}  // namespace sm::daemon
