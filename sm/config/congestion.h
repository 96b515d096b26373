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

/// The name in event_plugin_name of what ibsm has of its own.
inline constexpr std::string_view kCongestionPlugin = "ccmgr";
/// With blanks or commas between them, as event_plugin_name has names.
std::vector<std::string> plugin_words(std::string_view text);

/// What opensm's keys say of switches and channel adapters, nothing of it computed. The values were
/// checked when they were read.
policy::CongestionSettings congestion_settings(const Configuration& configuration);

/// FILE of `ccmgr --conf_file FILE` in event_plugin_options, among what other plug-ins are told;
/// empty: there is none. An error of kind Usage says what was expected.
ib::Result<std::string> congestion_file(std::string_view plugin_options);

/// The keys that apply wherever the other settings come from: the CC_Key, and how much is under
/// way.
void take_congestion_key(const Settings& settings, policy::CongestionSettings& to);

}  // namespace sm::config
