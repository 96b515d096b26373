// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MAD congestion control of the sender's side, as the vendor's drivers have it for each port of an
// adapter (sysfs mad_sa_cc/PORT): so many requests to subnet administration have no answer yet at a
// time, the next wait in a queue, and neither for ever nor in any number. A machine: no I/O, no
// clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "libdiag/base/instant.h"

namespace ib::mad {

struct SaLimits {
  std::uint32_t max_outstanding{16};  // requests without an answer, at most
  std::uint32_t queue_size{16};       // requests that wait to be sent, at most
  std::uint32_t time_sa_mad{20};      // ms that one waits, at most

  Duration longest_wait() const { return std::chrono::milliseconds(time_sa_mad); }
  friend bool operator==(const SaLimits&, const SaLimits&) = default;
};

/// Their names, which are those of the files in sysfs, and ranges.
struct SaLimit {
  std::string_view name;
  std::uint32_t SaLimits::*value;
  std::uint32_t min, max;
};
inline constexpr SaLimit kSaLimits[] = {
    {"max_outstanding", &SaLimits::max_outstanding, 1, 1U << 20},
    {"queue_size", &SaLimits::queue_size, 16, 1U << 20},
    {"time_sa_mad", &SaLimits::time_sa_mad, 1, 10'000},
};

/// `Item` is what waits: a request, or its number.
template <class Item>
class SaCongestion {
 public:
  enum class Verdict {
    Send,  // at once: the caller says sent()
    Wait,  // the caller hands it over with wait()
    Drop,  // the queue is full: the caller says drop()
  };

  explicit SaCongestion(const SaLimits& limits = {}) : limits_(limits) {}

  const SaLimits& limits() const { return limits_; }
  /// What waits already stays, however small the queue becomes.
  void set_limits(const SaLimits& limits) { limits_ = limits; }

  /// What is to become of one more request.
  Verdict judge() const {
    if (has_room() && waiting_.empty()) return Verdict::Send;
    return waiting_.size() < limits_.queue_size ? Verdict::Wait : Verdict::Drop;
  }
  void sent() { ++outstanding_; }
  void wait(Instant now, Item item) { waiting_.emplace_back(now, std::move(item)); }
  void drop() { ++drops_; }

  /// One that was sent has its answer, or will have none.
  void finished() { outstanding_ -= outstanding_ != 0 ? 1 : 0; }

  /// The next that waited and may be sent now; it counts as sent. Those that waited too long are
  /// taken out first, by next_expired().
  std::optional<Item> next_send() {
    if (!has_room() || waiting_.empty()) return std::nullopt;
    ++outstanding_;
    return take();
  }
  /// The next that has waited as long as it may; it is forgotten.
  std::optional<Item> next_expired(Instant now) {
    if (waiting_.empty() || waiting_.front().first + limits_.longest_wait() > now)
      return std::nullopt;
    ++expired_;
    return take();
  }
  /// When next_send() or next_expired() has something; Instant{0}: now.
  Instant next_deadline() const {
    if (waiting_.empty()) return kNever;
    return has_room() ? Instant{0} : waiting_.front().first + limits_.longest_wait();
  }
  /// Forgets what waits and is `meant`.
  template <class Predicate>
  void forget(Predicate&& meant) {
    std::erase_if(waiting_, [&](const auto& entry) { return meant(entry.second); });
  }

  std::size_t outstanding() const { return outstanding_; }
  std::size_t waiting() const { return waiting_.size(); }
  bool is_idle() const { return outstanding_ == 0 && waiting_.empty(); }

  std::uint64_t drops() const { return drops_; }      // found the queue full
  std::uint64_t expired() const { return expired_; }  // waited too long
  void reset_drops() { drops_ = 0; }

 private:
  bool has_room() const { return outstanding_ < limits_.max_outstanding; }
  Item take() {
    Item item = std::move(waiting_.front().second);
    waiting_.pop_front();
    return item;
  }

  SaLimits limits_;
  std::size_t outstanding_{0};
  std::deque<std::pair<Instant, Item>> waiting_;  // since when, in that order
  std::uint64_t drops_{0}, expired_{0};
};

}  // namespace ib::mad
