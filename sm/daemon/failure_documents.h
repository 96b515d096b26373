// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The schemas of ibsm's documents, and what is printed where there is nothing else to print.
#pragma once

#include <string>

#include "libdiag/base/result.h"
#include "sm/control/protocol.h"

namespace sm::daemon {

inline constexpr const char* kExplainSchema = "ibkit.ibsm-explain/3";
inline constexpr const char* kDryRunSchema = "ibkit.ibsm-dry-run/2";
inline constexpr const char* kManagersSchema = "ibkit.ibsm-managers/2";
inline constexpr const char* kSaSchema = "ibkit.ibsm-sa/2";
inline constexpr const char* kMembersSchema = "ibkit.ibsm-partitions/2";
inline constexpr const char* kCountersChangeSchema = "ibkit.ibsm-counters-change/1";
inline constexpr const char* kMembersChangeSchema = "ibkit.ibsm-partitions-change/2";

std::string explain_failure(const std::string& version, const ib::Error& error);
std::string dry_run_failure(const std::string& version, const ib::Error& error);
/// Of a request to the running ibsm; of a verb that has no documents nothing.
std::string request_failure(const control::Request& request, const std::string& version,
                            const ib::Error& error);

}  // namespace sm::daemon
