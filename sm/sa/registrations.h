// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests that register, and what the server itself changes of what is registered: judged, made
// durable together, then answered and told. A machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sm/sa/commit.h"
#include "sm/sa/intake/write_queue.h"
#include "sm/sa/registry/doubts.h"
#include "sm/sa/registry/expiry.h"
#include "sm/sa/replies.h"
#include "sm/sa/reports/forwarding.h"
#include "sm/sa/shared.h"

namespace sm::sa {

class Registrations {
 public:
  Registrations(Shared& shared, Replies& replies, Forwarding& forwarding);

  /// In place of `before`, whose commits may still be out: nobody takes the one's for the other's.
  void count_on_from(const Registrations& before);

  /// Whether a request of that LID can be queued: there is room in all and for the LID.
  bool may_begin(ib::Lid who) const;
  /// Queues a request. Precondition: may_begin().
  void begin(const ib::mad::Packet& request);

  /// The subnet has changed; `before`: what it was, nullptr where that is not known.
  void on_snapshot(const Snapshot* before);
  /// The configured groups have.
  void on_groups();
  /// What devices hold has: places of alias GUIDs that are empty there are forgotten.
  void on_device_state();
  /// What is subscribed from there ends: reports had no answer.
  void on_dead_subscriber(const ib::mad::Address& address);
  /// What ports registered before another one answered them, and whether they repeat it.
  Doubts& doubts() { return doubts_; }
  const Doubts& doubts() const { return doubts_; }
  /// Somebody else answers for the subnet, or is about to: until the next snapshot nothing ends
  /// here that nobody asks for.
  void withdraw();
  void on_time(ib::Instant now);
  ib::Instant next_deadline() const;

  /// What is to be made durable next; what came to its end without is answered.
  std::optional<Commit> next_commit();
  /// Answers those whose commit it was; with an error where it is not durable. Another ticket than
  /// the last: nothing.
  void on_commit_done(std::uint64_t ticket, bool durable);

  /// Once after groups or members changed; in a storm of joins not after every commit.
  bool take_multicast_changed();
  /// Once after durable alias GUIDs changed.
  bool take_aliases_changed();
  /// These are: what is kept now lacks what they registered.
  void note_untold(const std::set<ib::Guid>& ports) { expiry_.untold().add(shared_.now, ports); }
  /// Ports that are to be asked to register again now.
  std::vector<ib::Guid> take_untold_clients();
  const Aliases::Map& aliases() const { return durable_aliases_; }
  std::uint64_t aliases_revision() const { return aliases_revision_; }
  std::uint64_t revision() const { return revision_; }

 private:
  WriteRequest write_of(const ib::mad::Packet& request) const;
  void finish();
  void answer(const ib::mad::Packet& request, const Outcome& outcome);
  void note_life(const ib::mad::Packet& request);
  void add_chore();
  void end_doubts();
  void add_own(std::function<Change(const World&)> change);
  void keep_aliases();

  Shared& shared_;
  Replies& replies_;
  Forwarding& forwarding_;
  WriteQueue queue_;
  Expiry expiry_;
  bool chore_waits_{false};
  Doubts doubts_;
  bool doubts_end_{false};  // of some the end waits in the queue
  std::uint64_t last_ticket_{0};
  std::uint64_t revision_{0};
  std::optional<Commit> first_commit_;           // the configured groups
  std::vector<store::McGroup> groups_to_store_;  // of these, with the next commit
  bool multicast_changed_{false};
  ib::Instant multicast_again_at_;  // not told before
  bool aliases_changed_{false};
  Aliases::Map durable_aliases_;
  std::uint64_t aliases_revision_{0};               // of these
  std::vector<store::AliasGuid> aliases_to_store_;  // of the commit that is out
  bool forgetting_aliases_{false};                  // of places that were given back
};

}  // namespace sm::sa
