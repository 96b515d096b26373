// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Changes to what is registered that nobody asks for: leases end, subscribers leave or are dead.
// They become durable as requests do.
#pragma once

#include <optional>
#include <set>

#include "libdiag/base/instant.h"
#include "sm/sa/registry/change.h"
#include "sm/sa/registry/untold_clients.h"
#include "sm/sa/registry/wall_clock.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

class Expiry {
 public:
  /// Subscribers that the new snapshot does not show, or not at the LID they gave; of those before
  /// nothing is left.
  void on_snapshot(const World& world, const Snapshot* before);
  /// Nobody answers there.
  void on_dead_subscriber(const State& state, const ib::mad::Address& address);
  /// It does after all: `subscriber` asks for something from there.
  void on_sign_of_life(ib::Guid subscriber, const ib::mad::Address& address);
  /// Somebody else answers for the subnet, or is about to, and knows what is to end: nothing does
  /// here until the next snapshot.
  void withdraw();

  /// What is to be made durable now; say on_done() before asking for the next.
  std::optional<Change> next(ib::Instant now, const World& world, const WallClock& clock);
  void on_done(ib::Instant now, bool durable);
  /// Of the dead that ended.
  UntoldClients& untold() { return untold_; }
  const UntoldClients& untold() const { return untold_; }

  /// When next() is to be asked.
  ib::Instant next_deadline(const State& state, const WallClock& clock) const;

 private:
  Subscriptions::Set gone_, dead_;  // to be dropped: by the snapshot, by reports without an answer
  Subscriptions::Set dropping_;     // of these, what is being made durable
  std::set<ib::Guid> silent_;       // of these, the ports where somebody did not answer
  UntoldClients untold_;
  bool withdrawn_{false};
  ib::Instant not_before_;  // after a store that failed
};

}  // namespace sm::sa
