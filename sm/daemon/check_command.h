// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm --check-config --against TOPOLOGY`: what the files name that the topology has not, and
// levels of service that its routes would have to merge.
#pragma once

#include <iosfwd>

#include "sm/daemon/options.h"

namespace sm::daemon {

/// A line on `complaints` for each warning. The exit status: 0 none, 1 some, 2 no such topology.
int run_check_command(const CheckCommand& command, std::ostream& complaints);

}  // namespace sm::daemon
