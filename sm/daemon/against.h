// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm --check-config --against TOPOLOGY`: what the operator's files name and the fabric does not
// have.
#pragma once

#include <string>
#include <vector>

#include "libdiag/fabric/fabric.h"
#include "sm/daemon/options.h"

namespace sm::daemon {

/// A warning for each GUID, node and port that a file names and that `topology` does not have, with
/// its place in the file; of a range or a port group, when it names nobody at all. A port may come
/// later, so none of this is a mistake. Files that cannot be read are left out: daemon_options()
/// complained.
std::vector<std::string> unknown_names(const ib::fabric::Fabric& topology,
                                       const DaemonOptions& options);

}  // namespace sm::daemon
