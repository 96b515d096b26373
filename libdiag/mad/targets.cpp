// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/targets.h"

#include <algorithm>
#include <utility>

namespace ib::mad {
namespace {

constexpr std::size_t kTargetsKept = 1U << 17;

}  // namespace

Targets::Index Targets::at(std::uint64_t key, std::uint32_t window, const RoundTrip& others) {
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
  if (std::ranges::binary_search(heard_once_, key)) {
    targets_[t].alive = true;
    targets_[t].window = window;
    targets_[t].round_trip = others;
    targets_[t].presumed = true;
  }
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

std::vector<Targets::Index> Targets::settle() {
  std::deque<Target> kept;
  TargetIndex places;
  std::vector<Index> became(targets_.size(), Attempts::kNone);
  if (heard_once_.size() > kTargetsKept) heard_once_.clear();
  for (Index t = 0; t < targets_.size(); ++t) {
    const Target& target = targets_[t];
    if (index_.find(target.key) != t) continue;  // free
    if (target.alive && !target.often && target.failures == 0) {
      heard_once_.push_back(target.key);
      continue;
    }
    became[t] = places.at(target.key) = static_cast<Index>(kept.size());
    Target& now = kept.emplace_back();
    now.key = target.key;
    now.round_trip = target.round_trip;
    now.progress = target.progress;
    now.window = target.window;
    now.clean = target.clean;
    now.failures = target.failures;
    now.of_sa = target.of_sa;
    now.alive = target.alive;
    now.often = target.often;
  }
  std::ranges::sort(heard_once_);
  const auto twice = std::ranges::unique(heard_once_);
  heard_once_.erase(twice.begin(), twice.end());
  heard_once_.shrink_to_fit();
  targets_ = std::move(kept);
  free_ = {};
  index_ = std::move(places);
  return became;
}

}  // namespace ib::mad
