// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Daemon: the machines of ibsm joined to their ports, the store, the log and the clock. The subnet
// manager has this thread, subnet administration one of its own, the store a third; the ports have
// receiver threads.
#pragma once

#include <memory>

#include "libdiag/base/result.h"
#include "sm/daemon/background.h"
#include "sm/daemon/log_file.h"
#include "sm/daemon/options.h"

namespace sm::daemon {

/// Runs ibsm until it is told to end, or with `once` until the first result. The exit status.
/// `background` hears the first result.
int run_daemon(const DaemonOptions& options, LogFile& log, Background& background);

/// Prints the local ports (-g 0).
int print_ports();

}  // namespace sm::daemon
