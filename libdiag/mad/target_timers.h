// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// When something of targets falls due: a heap with an entry for the timer of each, or with an
// earlier one that stands for it. Inside Transactor only.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "libdiag/mad/targets.h"

namespace ib::mad {

class TargetTimers {
 public:
  using Index = Targets::Index;

  explicit TargetTimers(Targets& targets) : targets_(targets) {}

  void arm(Index t, Instant when) {
    Target& target = targets_[t];
    target.timer = when;
    if (when >= target.in_heap) return;
    heap_.push({when, t});
    target.in_heap = when;
  }

  /// A target whose timer is due; to be armed again by the caller.
  std::optional<Index> take_due(Instant now) {
    while (!heap_.empty() && heap_.top().when <= now) {
      const auto [when, t] = heap_.top();
      heap_.pop();
      Target& target = targets_[t];
      if (when != target.in_heap) continue;  // an earlier entry took its place
      target.in_heap = kNever;
      if (target.timer == kNever) continue;
      if (target.timer <= now) return t;
      arm(t, target.timer);
    }
    return std::nullopt;
  }

  /// Nothing is due before this; kNever: nothing at all.
  Instant first() const { return heap_.empty() ? kNever : heap_.top().when; }

 private:
  struct Entry {
    Instant when;
    Index target;
    bool operator>(const Entry& other) const { return when > other.when; }
  };

  Targets& targets_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace ib::mad
