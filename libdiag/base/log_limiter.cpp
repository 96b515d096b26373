// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/log_limiter.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace ib {

namespace {
/// Kinds and senders that are counted one by one; the rest is counted together.
constexpr std::size_t kSourcesMax = 1024;
/// Those that a summary names: who sent most.
constexpr std::size_t kNamedMax = 3;

std::size_t hash_of(const LogEvent& event) {
  const std::hash<std::string> hash;
  return hash(event.message) ^ (hash(event.topic) << 1U);
}
}  // namespace

void LogLimiter::Allowance::refill(Instant now) {
  const std::chrono::duration<double, std::chrono::minutes::period> minutes = now - at_;
  left_ = std::min(burst_, left_ + std::max(0.0, minutes.count()) * rate_);
  at_ = now;
}

bool LogLimiter::admit(Instant now, const LogEvent& event) {
  if (!event.cause) return true;
  forget_old(now);
  const std::size_t hash = hash_of(event);
  auto of_sender = by_sender_.find(event.cause->sender.value);
  const bool known = of_sender != by_sender_.end();
  if (known) of_sender->second.refill(now);
  in_all_.refill(now);
  if (in_all_.is_empty() || (known && of_sender->second.is_empty()) || written_.contains(hash)) {
    count(now, event);
    return false;
  }
  if (!known)
    of_sender =
        by_sender_.try_emplace(event.cause->sender.value, now, kLinesOfOne, kLinesOfOne).first;
  of_sender->second.take();
  in_all_.take();
  written_.emplace(hash, now);
  return true;
}

/// Looks through all of them, so not more often than once a second.
void LogLimiter::forget_old(Instant now) {
  if (now < forget_at_) return;
  forget_at_ = now + kSecond;
  std::erase_if(written_, [&](const auto& line) { return now - line.second >= kMinute; });
  for (auto& [sender, allowance] : by_sender_) allowance.refill(now);
  std::erase_if(by_sender_, [](const auto& sender) { return sender.second.is_full(); });
}

void LogLimiter::count(Instant now, const LogEvent& event) {
  if (left_out_in_all_ == 0) {
    since_ = now;
    if (now - said_at_ >= kMinute) flood_said_ = false;
  }
  ++left_out_in_all_;
  worst_ = std::min(worst_, event.level);
  const Source source{event.cause->kind, event.cause->sender};
  if (const auto at = left_out_.find(source); at != left_out_.end()) {
    ++at->second;
  } else if (left_out_.size() < kSourcesMax) {
    left_out_.emplace(source, 1);
  }
}

Instant LogLimiter::next_deadline() const {
  if (left_out_in_all_ == 0) return kNever;
  return since_ + (left_out_in_all_ >= kFlood && !flood_said_ ? kSecond : kMinute);
}

std::optional<LogEvent> LogLimiter::summary(Instant now) {
  if (now < next_deadline()) return std::nullopt;
  return say_left_out(now);
}

std::optional<LogEvent> LogLimiter::last_summary(Instant now) {
  if (left_out_in_all_ == 0) return std::nullopt;
  return say_left_out(now);
}

LogEvent LogLimiter::say_left_out(Instant now) {
  std::vector<std::pair<Source, std::uint64_t>> most(std::min(kNamedMax, left_out_.size()),
                                                     {Source{}, 0});
  std::ranges::partial_sort_copy(left_out_, most,
                                 [](const auto& a, const auto& b) { return a.second > b.second; });
  const auto seconds =
      std::max<std::int64_t>(1, std::chrono::round<std::chrono::seconds>(now - since_).count());
  std::string text = std::to_string(left_out_in_all_) +
                     (left_out_in_all_ == 1 ? " more line was" : " more lines were") +
                     " left out in " + std::to_string(seconds) + " s: ";
  std::uint64_t others = left_out_in_all_;
  for (std::size_t i = 0; i < most.size(); ++i) {
    const auto& [source, count] = most[i];
    others -= count;
    text +=
        (i == 0 ? "" : ", ") + std::to_string(count) + " of \"" + std::string(source.first) + '"';
    if (source.second != kNoLid) text += " from LID " + to_string(source.second);
  }
  if (others != 0) text += ", " + std::to_string(others) + " of others";
  flood_said_ = flood_said_ || left_out_in_all_ >= kFlood;
  said_at_ = now;
  left_out_in_all_ = 0;
  left_out_.clear();
  return {std::exchange(worst_, LogLevel::Debug), "log", std::move(text)};
}

}  // namespace ib
