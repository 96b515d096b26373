// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What `ibsm plan --json` prints when there is no plan.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace sm::daemon {

inline constexpr const char* kPlanSchema = "ibkit.ibsm-plan/1";

std::string plan_failure(const std::string& version, const ib::Error& error);

}  // namespace sm::daemon
