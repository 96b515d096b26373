// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What `ibsm plan --json` prints when there is no plan, and `ibsm --explain-policy --json` when
// there is nothing to explain.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace sm::daemon {

inline constexpr const char* kPlanSchema = "ibkit.ibsm-plan/1";

std::string plan_failure(const std::string& version, const ib::Error& error);

inline constexpr const char* kExplainSchema = "ibkit.ibsm-explain/1";

std::string explain_failure(const std::string& version, const ib::Error& error);

}  // namespace sm::daemon
