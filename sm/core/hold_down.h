// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// HoldDown: the damping of one noisy thing, a link that flaps or a port whose traps name nothing
// that changed. A few strikes are free; then it is held for a while that doubles with each relapse,
// and it is released, at first on probation, when that is over.
#pragma once

#include <algorithm>

#include "libdiag/base/instant.h"

namespace sm::core {

struct HoldDownLimits {
  unsigned free;         // strikes within `window` that cost nothing
  ib::Duration window;   // and how long after a hold the next strike is a relapse
  ib::Duration first;    // the first hold; it doubles
  ib::Duration longest;  // up to this
};

class HoldDown {
 public:
  explicit HoldDown(const HoldDownLimits& limits) : limits_(&limits) {}

  /// One more. True: it is held from now on.
  bool strike(ib::Instant now) {
    if (is_over(now)) *this = HoldDown(*limits_);
    if (pause_ == ib::Duration{0}) {
      if (now - window_began_ > limits_->window) {
        window_began_ = now;
        strikes_ = 0;
      }
      if (++strikes_ <= limits_->free) return false;
    }
    pause_ = std::clamp(2 * pause_, limits_->first, limits_->longest);
    until_ = now + pause_;
    return true;
  }
  /// It is held, and to be quiet for as long again.
  void extend(ib::Instant now) { until_ = now + pause_; }
  void forgive() { *this = HoldDown(*limits_); }

  bool is_held(ib::Instant now) const { return now < until_; }
  /// Nothing is left of it that a next strike would be judged by.
  bool is_over(ib::Instant now) const {
    return now - std::max(until_, window_began_) > limits_->window;
  }
  ib::Instant until() const { return until_; }
  ib::Duration pause() const { return pause_; }

 private:
  const HoldDownLimits* limits_;
  unsigned strikes_{0};
  ib::Instant window_began_{0};
  ib::Instant until_{0};
  ib::Duration pause_{0};
};

}  // namespace sm::core
