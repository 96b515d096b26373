// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// CongestionChange: the congestion control manager ended by too many errors, or goes on again.
#pragma once

#include <cstdint>
#include <string>

namespace sm::managers {

struct CongestionChange {
  bool has_ended{};  // false: it goes on, and the rest says nothing
  std::uint64_t errors{};
  std::int64_t seconds{};  // in which they were
  std::uint64_t errors_max{};
  std::string last;  // the end port that the last error was at
};

}  // namespace sm::managers
