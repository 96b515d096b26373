// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Programs on a simulated port: their environment and how they are started; and the client end of
// the control connection.
#pragma once

#include <string>
#include <vector>

#include "libdiag/base/result.h"
#include "tools/ibfabric/control.h"

namespace ibfabric {

/// Absolute path of libibfabric-umad.so: $IBFABRIC_PRELOAD, else ../lib beside this program.
ib::Result<std::string> preload_library();

/// `path` made absolute, so that it holds after a change of directory.
std::string absolute_path(const std::string& path);

/// Sets LD_PRELOAD, IBFABRIC_SOCKET and IBFABRIC_AT for what is executed next.
void enter_environment(const std::string& library, const std::string& socket,
                       const std::string& at);

/// Replaces this process; returns only if that failed: 127 no such command, 126 otherwise.
int replace_by(const std::vector<std::string>& command);

/// Executes a command in the server at `socket`. Unavailable: there is none.
ib::Result<CtlResult> call_server(const std::string& socket, const CtlCommand& command);

}  // namespace ibfabric
