// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Giving up root once the umad devices are open. Done at run time: the binary is neither set-uid
// nor carries capabilities.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace agent {

/// Becomes `user` with no supplementary groups, no capabilities and no way back, and forbids
/// gaining privileges by exec. When not root only the latter is done. Error: the user does not
/// exist, or the kernel refused.
ib::Result<void> drop_privileges(const std::string& user);

}  // namespace agent
