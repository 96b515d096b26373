// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm ctl pause`, `resume`, `rewrite` and `enable`: whether ibsm asks devices and sets something
// at all, that it sets everything once more, and that it enables a port.
#pragma once

#include <optional>

#include "sm/control/protocol.h"
#include "sm/core/subnet_manager.h"

namespace sm::daemon {

/// nullopt: the verb is another one.
std::optional<control::Answer> sweep_verb(const control::Request& request,
                                          core::SubnetManager& manager, ib::Instant now);

}  // namespace sm::daemon
