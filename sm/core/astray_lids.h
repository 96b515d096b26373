// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// AstrayLids: ports that hold the LID of another one, as a Set by a directed route does that a
// moved cable brought to them. Subnet administration knows by the LID alone who subscribes, so what
// such a port subscribed to is registered for the owner of the LID, who is to be asked to register
// again. Pure.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/route/lids.h"

namespace sm::core {

class AstrayLids {
 public:
  /// A plan gives these ports their own LIDs back.
  void on_planned(ib::Instant now, const std::vector<ib::route::AstrayLid>& astray);
  /// This one took its own. Who keeps another's in spite of that is passed over until a plan finds
  /// it with its own, and a port is told of once in ten minutes.
  void on_taken(ib::Instant now, const ib::route::AstrayLid& astray);
  /// Owners who are to be asked since the last call.
  std::vector<ib::Guid> take_owners();

  /// What this port subscribed to of late may be another's: it has not taken the request yet.
  bool doubts(ib::Guid owner) const { return doubted_.contains(owner); }
  void on_asked(ib::Guid owner) { doubted_.erase(owner); }
  void forget() { *this = {}; }

 private:
  struct Holder {
    ib::Guid owner;
    bool told{false};
  };
  void tell(ib::Instant now, ib::Guid holder, ib::Guid owner);

  std::map<ib::Guid, Holder> holders_;
  std::map<ib::Guid, ib::Instant> not_before_;  // by holder
  std::set<ib::Guid> owners_, doubted_;
};

}  // namespace sm::core
