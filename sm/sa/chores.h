// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Changes to what is registered that nobody asks for: leases end. They become durable as requests
// do, one at a time.
#pragma once

#include <optional>

#include "libdiag/base/instant.h"
#include "sm/sa/wall_clock.h"
#include "sm/sa/world.h"

namespace sm::sa {

class Chores {
 public:
  /// What is to be made durable now; say on_done() before asking for the next.
  std::optional<Change> next(ib::Instant now, const World& world, const WallClock& clock) const;
  void on_done(ib::Instant now, bool durable);

  /// When next() is to be asked.
  ib::Instant next_deadline(const State& state, const WallClock& clock) const;

 private:
  ib::Instant not_before_;  // after a store that failed
};

}  // namespace sm::sa
