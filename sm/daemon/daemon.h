// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Daemon: the machines of ibsm joined to their ports, the store, the log and the clock. The subnet
// manager has this thread, subnet administration one of its own, the store a third; the ports have
// receiver threads.
#pragma once

#include <functional>
#include <memory>

#include "libdiag/base/result.h"
#include "sm/daemon/background.h"
#include "sm/daemon/log_file.h"
#include "sm/daemon/options.h"

namespace sm::daemon {

/// Runs ibsm until it is told to end, or with `once` until the first result. The exit status.
/// `background` hears the first result.
int run_daemon(const DaemonOptions& options, LogFile& log, Background& background);

/// `-g 0`: on a terminal asks which local port to work by, and goes on with that one; elsewhere
/// there is nobody to ask, and the ports are printed. The exit status.
int with_chosen_port(const DaemonOptions& options,
                     const std::function<int(const DaemonOptions&)>& go_on);

}  // namespace sm::daemon
