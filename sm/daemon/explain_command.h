// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm --explain-policy SRC DST --against TOPOLOGY`: the path between two ports of a saved
// topology as ibsm would grant it by the operator's options, who decided each of its values, and
// the VL and its share of each link on the way. No fabric is attached.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sm/daemon/options.h"

namespace sm::daemon {

/// Returns the exit status: 0 a path that works, 1 none, or one whose packets are dropped, 2 a bad
/// file or name.
int run_explain_command(const ExplainCommand& command, std::ostream& out, std::ostream& complaints);

}  // namespace sm::daemon
