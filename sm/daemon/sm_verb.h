// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm ctl sm`: which subnet managers there are, who is master, and since when and why.
#pragma once

#include "sm/control/protocol.h"
#include "sm/core/mastership.h"

namespace sm::daemon {

/// `sm`, with the option json. `own_lid`: of this one's port, 0 where it is not known.
control::Answer sm_verb(const control::Request& request, const core::Mastership& mastership,
                        ib::Lid own_lid, ib::Instant now);

}  // namespace sm::daemon
