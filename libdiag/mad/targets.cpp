// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/targets.h"

namespace ib::mad {
namespace {

constexpr std::size_t kTargetsKept = 1U << 17;

}  // namespace

Targets::Index Targets::at(std::uint64_t key) {
  if (free_.empty() && targets_.size() >= kTargetsKept) forget_idle();
  Index& t = index_.at(key);
  if (t != Attempts::kNone) return t;
  if (free_.empty()) {
    targets_.emplace_back();
    t = static_cast<Index>(targets_.size() - 1);
  } else {
    t = free_.back();
    free_.pop_back();
  }
  targets_[t].key = key;
  return t;
}

void Targets::forget_idle() {
  for (Index t = 0; t < targets_.size(); ++t) {
    Target& target = targets_[t];
    if (index_.find(target.key) != t) continue;  // free already
    if (!target.in_flight.empty() || target.queue_head != Attempts::kNone || target.in_ready)
      continue;
    index_.erase(target.key);
    const Instant in_heap = target.in_heap;
    target = Target{};
    target.in_heap = in_heap;
    free_.push_back(t);
  }
}

}  // namespace ib::mad
