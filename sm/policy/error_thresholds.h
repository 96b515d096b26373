// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Error counters of ports (IBA 16.1.3.5): what each is a sign of, and how many in a window are more
// than a good link has. As the key perfmgr_error_thresholds has them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "libdiag/base/result.h"

namespace sm::policy {

struct ErrorCounter {
  std::string_view name;  // of the specification
  /// "integrity": of this cable; "remote": of another one, on the way here; "congestion",
  /// "management": what was dropped or waited for want of room; "security": what partitions or raw
  /// packets' filters dropped; "routing": what no table of the switch led on.
  std::string_view category;
  std::optional<std::uint64_t> threshold;  // nothing: no number of them is too many
};

inline constexpr std::size_t kErrorCounters = 14;
/// In the order of the performance manager's counters.
std::span<const ErrorCounter, kErrorCounters> error_counters();

/// In their order.
using ErrorThresholds = std::array<std::optional<std::uint64_t>, kErrorCounters>;
ErrorThresholds default_error_thresholds();

/// `NAME=N` or `NAME=off`, several with commas between them; a counter that is not named keeps its
/// default. Errors say what was expected and what is there.
ib::Result<ErrorThresholds> read_error_thresholds(std::string_view text);

}  // namespace sm::policy
