// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The file of prefix routes: ways to other subnets.
#pragma once

#include "sm/daemon/last_good.h"
#include "sm/daemon/sa_options.h"
#include "sm/sa/subnet/prefix_routes.h"

namespace sm::daemon {

/// The file of prefix routes; nothing when there is none to read. Read with the command line, and
/// again on SIGHUP.
ib::Result<std::vector<sa::PrefixRoute>> read_prefix_routes(const SaOptions& options,
                                                            PolicyFiles& files);

}  // namespace sm::daemon
