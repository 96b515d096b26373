// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Time as a value. Machines are handed an Instant; only adapters read a clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace ib {

using Duration = std::chrono::nanoseconds;

/// A point on a monotonic time line whose origin means nothing.
struct Instant {
  std::int64_t ns{0};

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return Instant{t.ns + d.count()}; }
  friend constexpr Instant operator-(Instant t, Duration d) { return Instant{t.ns - d.count()}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return Duration{a.ns - b.ns}; }
};
inline constexpr Instant kNever{std::numeric_limits<std::int64_t>::max()};

/// The monotonic clock, for adapters and mains only.
inline Instant monotonic_now() {
  return Instant{
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
          .count()};
}

}  // namespace ib
