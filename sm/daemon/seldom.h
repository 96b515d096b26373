// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What fails again and again, as a full disk does with each of a thousand commits a second, is a
// line in the log now and then, with a count of the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libdiag/base/instant.h"

namespace sm::daemon {

class Seldom {
 public:
  static constexpr ib::Duration kEvery = std::chrono::seconds(10);

  /// The line to write about `what`, which has just happened; none so soon after the last one.
  std::optional<std::string> line(ib::Instant now, const std::string& what);

 private:
  ib::Instant again_at_{};
  std::uint64_t left_out_{0};
};

}  // namespace sm::daemon
