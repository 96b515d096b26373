// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Journal: numbers events, keeps the last of them, and hands each to the readers that write it
// down. Numbers are of one run: its epoch tells them from those of another.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sm/events/event.h"

namespace sm::events {

class Journal {
 public:
  using Sink = std::function<void(const Record&)>;
  explicit Journal(std::uint64_t epoch = 0, std::size_t kept_most = kKeptMost)
      : epoch_(epoch), kept_most_(kept_most) {}

  /// Called for each event from now on, in their order.
  void add_sink(Sink sink) { sinks_.push_back(std::move(sink)); }
  /// Numbers events that happened at `now`, keeps them, the oldest go, and tells the sinks.
  void take(const std::vector<Event>& events, std::chrono::system_clock::time_point now);

  /// Those after number `since` that are kept still.
  std::vector<Record> after(std::uint64_t since) const;
  /// Those after number `since` of a run with this epoch; of another run all that are kept.
  std::vector<Record> after(std::uint64_t since, std::uint64_t epoch) const {
    return after(epoch == epoch_ ? since : 0);
  }
  std::uint64_t epoch() const { return epoch_; }
  /// When the node left that `name` means by any of its names, and where it was:
  /// `"host0032 HCA-1" (0x...) left at TIME; it was on "leaf-004" port 8`. Empty: none did, as far
  /// as is kept.
  std::string departure_of(std::string_view name) const;
  std::uint64_t last_number() const { return last_number_; }

  static constexpr std::size_t kKeptMost = 10'000;

 private:
  std::uint64_t epoch_;
  std::size_t kept_most_;
  std::deque<Record> kept_;
  std::vector<Sink> sinks_;
  std::uint64_t last_number_{0};
};

}  // namespace sm::events
