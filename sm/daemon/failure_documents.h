// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What `ibsm --explain-policy --json` and `ibsm --dry-run --json` print when there is nothing else
// to print.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace sm::daemon {

inline constexpr const char* kExplainSchema = "ibkit.ibsm-explain/2";

std::string explain_failure(const std::string& version, const ib::Error& error);

inline constexpr const char* kDryRunSchema = "ibkit.ibsm-dry-run/2";

std::string dry_run_failure(const std::string& version, const ib::Error& error);

}  // namespace sm::daemon
