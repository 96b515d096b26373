// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What started again between two sweeps, and looks the same otherwise: nodes that lost what they
// were told, and links whose ports are not ACTIVE any more although nobody set them so. Pure.
#pragma once

#include <memory>

#include "libdiag/discover/observed.h"
#include "sm/device/restarts.h"

namespace sm::core {

/// Adds to `known` what shows between `before`, as it was left, and `now`, as a sweep found it;
/// null: nothing yet.
std::shared_ptr<const Restarts> with_restarts(std::shared_ptr<const Restarts> known,
                                              const ib::discover::Observed& before,
                                              const ib::discover::Observed& now);

}  // namespace sm::core
