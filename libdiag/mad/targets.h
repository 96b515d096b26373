// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Targets of requests: what each has shown of itself, and what of it is under way. Inside
// Transactor only.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "libdiag/mad/attempts.h"
#include "libdiag/mad/late_sets.h"
#include "libdiag/mad/round_trip.h"
#include "libdiag/mad/target_index.h"

namespace ib::mad {

struct Target {
  std::uint64_t key{};
  RoundTrip round_trip;
  Instant progress{0};         // last sign of life
  Instant timer{kNever};       // when something of this target falls due
  Instant in_heap{kNever};     // earliest heap entry that stands for it
  Instant held_until{kNever};  // the first of its queue, for its late_sets
  std::uint32_t window{1};     // 1 until it has answered; a probe of an unknown queue
  std::uint32_t clean{0};      // answers since the last spurious retry
  std::uint32_t failures{0};   // requests given up since the last sign of life
  bool probing{false};         // silent: only the oldest request is repeated
  bool in_ready{false};
  bool of_sa{false};  // its requests are to subnet administration
  bool alive{false};  // has ever answered
  Attempts::Index queue_head{Attempts::kNone}, queue_tail{Attempts::kNone};
  std::vector<Attempts::Index> in_flight;  // sent and not complete, oldest first
  LateSets late_sets;
};

class Targets {
 public:
  using Index = Attempts::Index;

  Target& operator[](Index t) { return targets_[t]; }
  const Target& operator[](Index t) const { return targets_[t]; }

  /// The one with this key.
  Index at(std::uint64_t key);

 private:
  void forget_idle();

  std::deque<Target> targets_;
  std::vector<Index> free_;
  TargetIndex index_;
};

}  // namespace ib::mad
