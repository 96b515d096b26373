// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// RateFile: an enhanced QoS policy file: rate limits by SL for ports and port groups (BW_NAMES and
// BW_RULES of the managers document). Ports are not looked up here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/ids.h"

namespace sm::policy {

/// The limits of a port by SL, in Mb/s; 0: unlimited.
using SlRates = std::array<std::uint32_t, 16>;

struct RateRule {
  /// A port group by name, or else the port, physical or virtual, with this GUID.
  std::string group;
  ib::Guid guid{};
  SlRates rates{};
  ib::TextPlace place;
};

struct RateFile {
  std::vector<RateRule> rules;
  SlRates others{};  // of ports that no rule names ("default"); all 0 without that rule
  std::vector<ib::Diagnostic> diagnostics;
};

/// Reads and checks the whole of `text`. With an error among the diagnostics the rest is not to be
/// used.
RateFile read_rate_file(std::string_view text, const std::string& file);

}  // namespace sm::policy
