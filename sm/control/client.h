// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The other end of the control socket.
#pragma once

#include <chrono>
#include <string>

#include "sm/control/protocol.h"

namespace sm::control {

/// Asks the daemon at `path` and waits for its answer. An error of kind Unavailable says that no
/// daemon listens there, one of kind Io that it did not answer.
ib::Result<Answer> ask(const std::string& path, const Request& request,
                       std::chrono::milliseconds patience = std::chrono::seconds(30));

}  // namespace sm::control
