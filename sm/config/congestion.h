// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The cc_* keys as values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "sm/config/configuration.h"
#include "sm/policy/congestion_settings.h"

namespace sm::config {

/// What opensm's keys say of switches and channel adapters, nothing of it computed. The values were
/// checked when they were read.
policy::CongestionSettings congestion_settings(const Configuration& configuration);

/// The keys that apply wherever the other settings come from: the CC_Key, and how much is under
/// way.
void take_congestion_key(const Settings& settings, policy::CongestionSettings& to);

}  // namespace sm::config
