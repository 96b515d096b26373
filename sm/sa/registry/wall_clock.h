// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Wall-clock time by the machines' own time line. The clock is looked at once, at the start: a
// lease outlives a restart, and a clock that is set later neither shortens nor lengthens one.
#pragma once

#include "libdiag/base/instant.h"

namespace sm::sa {

class WallClock {
 public:
  constexpr WallClock() = default;
  /// It is `unix_ns` nanoseconds after 1970 at `now`.
  constexpr WallClock(std::int64_t unix_ns, ib::Instant now) : at_origin_(unix_ns - now.ns) {}

  /// Whole seconds since 1970.
  constexpr std::int64_t seconds(ib::Instant now) const { return (at_origin_ + now.ns) / kSecond; }
  /// When seconds() becomes `unix_seconds`; never, for more than the time line has room for.
  constexpr ib::Instant at(std::int64_t unix_seconds) const {
    if (unix_seconds >= (ib::kNever.ns - kSecond) / kSecond / 2) return ib::kNever;
    return ib::Instant{unix_seconds * kSecond - at_origin_};
  }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;
  std::int64_t at_origin_{0};
};

}  // namespace sm::sa
