// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The keys by which other subnet managers load plug-ins: ibsm has what two of them do of its own.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"

namespace sm::config {

/// Names in event_plugin_name.
inline constexpr std::string_view kCongestionPlugin = "ccmgr", kAdaptivePlugin = "armgr";
inline constexpr std::array kPlugins{kCongestionPlugin, kAdaptivePlugin};

/// With blanks or commas between them, as event_plugin_name has names.
std::vector<std::string> plugin_words(std::string_view text);
bool has_plugin(std::string_view names, std::string_view plugin);

/// FILE of `PLUGIN --conf_file FILE` in event_plugin_options, among what other plug-ins are told;
/// empty: there is none. An error of kind Usage says what was expected.
ib::Result<std::string> plugin_file(std::string_view plugin, std::string_view plugin_options);

}  // namespace sm::config
