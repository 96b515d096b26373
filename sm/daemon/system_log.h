// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What matters to who administers the host, in the system's log (syslog(3), as "ibsm").
#pragma once

#include "sm/daemon/log_file.h"

namespace sm::daemon {

/// Lines of bring-ups as notices, errors as errors. Nothing under ibfabric: what becomes of a
/// simulated fabric is nobody's concern.
LogFile::Major system_log();

}  // namespace sm::daemon
