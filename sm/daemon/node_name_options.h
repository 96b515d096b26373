// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The node name map: read with the options, and again on SIGHUP, whole or not at all.
#pragma once

#include <memory>
#include <string>

#include "libdiag/fabric/names.h"
#include "sm/daemon/last_good.h"

namespace sm::daemon {

/// `file` may be empty: nullptr. An error has every mistake of the file, each with its line and a
/// caret under the place.
ib::Result<std::shared_ptr<const ib::fabric::NodeNames>> read_node_names(const std::string& file,
                                                                         PolicyFiles& files);

}  // namespace sm::daemon
