// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Why requests were refused, for the log, which no client may fill: the same line once a minute, so
// many lines a minute for one requester and for all. What is not said is counted, and the count is
// said when the minute is over.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "libdiag/base/ids.h"
#include "libdiag/base/instant.h"

namespace sm::sa {

class RefusalLog {
 public:
  static constexpr ib::Duration kMinute = std::chrono::minutes(1);
  static constexpr std::size_t kLinesOfOne = 10, kLinesInAll = 100;

  /// `why` if it is to be written now; what is empty is no news and is not counted either.
  std::optional<std::string> line(ib::Instant now, ib::Lid who, const std::string& why);
  /// After a minute in which lines were left out: how many, and who had the most of them.
  std::optional<std::string> summary(ib::Instant now);
  ib::Instant next_deadline() const;

 private:
  struct Lines {
    std::size_t said{0}, left_out{0};
  };
  void end_minute(ib::Instant now);

  ib::Instant ends_{ib::kNever};  // the minute that runs
  std::unordered_set<std::string> said_;
  std::unordered_map<std::uint16_t, Lines> by_lid_;
  std::size_t left_out_{0};
  std::optional<std::string> summary_;
};

}  // namespace sm::sa
