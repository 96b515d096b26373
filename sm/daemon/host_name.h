// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The name of this host, by which subnet managers that share a store tell each other apart.
#pragma once

#include <string>

namespace sm::daemon {

/// A word; "?" where it has none.
std::string host_name();

}  // namespace sm::daemon
