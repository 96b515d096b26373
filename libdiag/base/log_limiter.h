// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LogLimiter: no host fills the log by what it sends. Lines that have a cause, which is another
// host's packet, are bounded by sender and in all, and the same line is written once a minute; what
// is left out is counted and said in a summary. Lines without a cause pass. Pure: the caller has
// the clock, and the lock if several threads write.
//
//   admit() --> true: write it
//          \--> false: counted --> summary(), after a second of a flood, or else after a minute
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"

namespace ib {

class LogLimiter {
 public:
  /// What comes back of either allowance in a minute; a sender's is also its burst.
  static constexpr std::size_t kLinesOfOne = 10, kLinesInAll = 100;
  /// With what comes back in a second, and a summary, that makes 100 lines in any second.
  static constexpr std::size_t kBurstInAll = 97;
  /// So many lines left out in a second are a flood: the summary does not wait for a minute.
  static constexpr std::size_t kFlood = 100;
  static constexpr Duration kMinute = std::chrono::minutes(1), kSecond = std::chrono::seconds(1);

  /// Whether `event` is to be written now.
  bool admit(Instant now, const LogEvent& event);
  /// What was left out since the last one, once it is time to say so; at most one a second.
  std::optional<LogEvent> summary(Instant now);
  /// The same before its time, at the end of the program.
  std::optional<LogEvent> last_summary(Instant now);
  /// When summary() has something; kNever: nothing was left out.
  Instant next_deadline() const;

 private:
  /// Tokens that come back with time; a new one is full.
  class Allowance {
   public:
    Allowance(Instant now, std::size_t burst, std::size_t a_minute)
        : left_(static_cast<double>(burst)),
          burst_(left_),
          rate_(static_cast<double>(a_minute)),
          at_(now) {}
    void refill(Instant now);
    bool is_empty() const { return left_ < 1; }
    bool is_full() const { return left_ >= burst_; }
    void take() { left_ -= 1; }

   private:
    double left_, burst_, rate_;
    Instant at_;
  };
  void forget_old(Instant now);
  void count(Instant now, const LogEvent& event);
  LogEvent say_left_out(Instant now);

  // All bounded by the lines that pass in a minute, but for left_out_, which has a bound of its
  // own.
  Allowance in_all_{Instant{}, kBurstInAll, kLinesInAll};
  std::unordered_map<std::uint16_t, Allowance> by_sender_;  // none is full
  std::unordered_map<std::size_t, Instant> written_;        // lines of the last minute, by hash
  Instant forget_at_{};

  using Source = std::pair<std::string_view, Lid>;
  std::map<Source, std::uint64_t> left_out_;
  std::uint64_t left_out_in_all_{0};
  LogLevel worst_{LogLevel::Debug};  // of what was left out
  Instant since_{};                  // the first of those was left out, or the last summary said
  Instant said_at_{};
  bool flood_said_{false};
};

}  // namespace ib
