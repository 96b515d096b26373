// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/refusal_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sm::sa {

std::optional<std::string> RefusalLog::line(ib::Instant now, ib::Lid who, const std::string& why) {
  end_minute(now);
  if (why.empty()) return std::nullopt;
  if (ends_ == ib::kNever) ends_ = now + kMinute;
  auto& his = by_lid_[who.value];
  if (said_.size() < kLinesInAll && his.said < kLinesOfOne && said_.insert(why).second) {
    ++his.said;
    return why;
  }
  ++his.left_out;
  ++left_out_;
  return std::nullopt;
}

void RefusalLog::end_minute(ib::Instant now) {
  if (now < ends_) return;
  if (left_out_ != 0) {
    const auto most = std::ranges::max_element(
        by_lid_, {}, [](const auto& entry) { return entry.second.left_out; });
    summary_ = fmt::format(
        "{} more requests were refused for such reasons in a minute, {} of them of LID {}",
        left_out_, most->second.left_out, most->first);
  }
  ends_ = ib::kNever;
  said_.clear();
  by_lid_.clear();
  left_out_ = 0;
}

std::optional<std::string> RefusalLog::summary(ib::Instant now) {
  end_minute(now);
  return std::exchange(summary_, std::nullopt);
}

ib::Instant RefusalLog::next_deadline() const {
  if (summary_) return ib::Instant{};
  return left_out_ != 0 ? ends_ : ib::kNever;
}

}  // namespace sm::sa
