// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/events/journal.h"

#include <algorithm>

namespace sm::events {

void Journal::take(const std::vector<Event>& events, std::chrono::system_clock::time_point now) {
  for (const Event& event : events) {
    kept_.push_back({++last_number_, now, event});
    if (kept_.size() > kept_most_) kept_.pop_front();
    for (const Sink& sink : sinks_) sink(kept_.back());
  }
}

std::vector<Record> Journal::after(std::uint64_t since) const {
  const auto from = std::ranges::upper_bound(kept_, since, {}, &Record::number);
  return {from, kept_.end()};
}

}  // namespace sm::events
