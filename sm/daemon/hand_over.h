// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm plan` is another program, which takes the place of this one.
#pragma once

#include "libdiag/base/result.h"

namespace sm::daemon {

/// Becomes ../libexec/ibkit/ibsm-plan, seen from the folder of this program, with the same words.
/// Returns only when that cannot be.
ib::Error become_planner(char** argv);

}  // namespace sm::daemon
