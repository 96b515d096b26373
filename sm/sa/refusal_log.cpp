// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/refusal_log.h"

namespace sm::sa {
namespace {

constexpr ib::Duration kSilence = std::chrono::minutes(1);
// More different lines in a minute than this are a storm that nobody reads.
constexpr std::size_t kLinesMax = 1000;

}  // namespace

std::optional<std::string> RefusalLog::line(ib::Instant now, const std::string& why) {
  while (!until_.empty() && until_.front().first <= now) {
    recent_.erase(until_.front().second);
    until_.pop_front();
  }
  if (why.empty() || until_.size() >= kLinesMax || !recent_.insert(why).second) return std::nullopt;
  until_.emplace_back(now + kSilence, why);
  return why;
}

}  // namespace sm::sa
