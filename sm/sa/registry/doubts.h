// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Doubts: what ports registered here before another subnet manager answered them, or may have. What
// they took back there is not known here, so they are asked to register again
// (PortInfo:ClientReregister), and what is not repeated in time ends.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "libdiag/base/instant.h"
#include "sm/sa/registry/membership.h"

namespace sm::sa {

/// Ports that had registered something in `had` that `has` does not have.
std::set<ib::Guid> ports_that_lost(const State& had, const State& has);

class Doubts {
 public:
  /// These ports are about to be asked: all that they have registered so far is in doubt.
  void begin(const State& state, const std::vector<ib::Guid>& ports);
  /// Likewise, and of what was subscribed to for them within the last ten minutes alone: another
  /// port, which had their LID for a while, may have done so. What is older stays, whether its
  /// program hears that it is asked or not.
  void begin_subscriptions(ib::Instant now, const State& state, const std::vector<ib::Guid>& ports);
  /// These are new.
  void on_subscribed(ib::Instant now, const std::vector<store::Subscription>& subscriptions);
  /// They took the request: from now on they have a minute.
  void on_asked(ib::Instant now, const std::vector<ib::Guid>& ports);
  /// What `request` registers was granted.
  void on_granted(const World& world, const WriteRequest& request);
  /// Somebody else answers; when this one does again, all are in doubt who are asked then.
  void forget() {
    doubts_.clear();
    ending_.clear();  // the next one judges what cannot be stored any more
    over_.clear();
  }

  bool any() const { return !doubts_.empty(); }
  /// Some port has been asked, and has time left.
  bool awaits() const;
  /// When next() has something; kNever: nobody has been asked.
  ib::Instant next_deadline() const;
  /// What those whose time is over did not repeat, as it is now, and who is in doubt no more; say
  /// on_done() then.
  Change next(ib::Instant now, const World& world);
  void on_done(ib::Instant now, bool durable);

 private:
  /// What a port registered and has not repeated.
  struct Doubt {
    std::set<std::pair<ib::Gid, ib::Gid>> members;  // MGID, port GID
    std::set<store::ServiceKey> services;
    Subscriptions::Set subscriptions;
    ib::Instant until{ib::kNever};
    bool empty() const { return members.empty() && services.empty() && subscriptions.empty(); }
  };
  /// Adds to `change` and `members` what is there of it still; how much.
  static std::size_t end(const World& world, ib::Guid port, const Doubt& doubt, Change& change,
                         std::vector<MemberOf>& members);

  std::map<store::Subscription, ib::Instant, Subscriptions::ByKey> recent_;  // since when
  std::map<ib::Guid, Doubt> doubts_;                                         // by port
  std::set<ib::Guid> ending_;  // of these, whose end is being made durable
  std::set<ib::Guid> over_;    // ports of which nothing is in doubt any more
};

}  // namespace sm::sa
