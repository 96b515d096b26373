// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The keys that batches change. With a state they make one batch: from the state after several
// changes all of them together, from a state before them the way back.
#pragma once

#include <set>
#include <utility>

#include "sm/sa/state.h"

namespace sm::sa {

class Touched {
 public:
  void add(const store::Batch& batch);

  /// The batch that makes any state which differs from `state` in these keys only equal to it.
  store::Batch as_in(const State& state) const;

 private:
  std::set<ib::Gid> groups_removed_, groups_;
  std::set<std::pair<ib::Gid, ib::Gid>> members_;  // MGID, port GID
  std::set<store::ServiceKey> services_;
  Subscriptions::Set subscriptions_;
  std::set<Aliases::Key> aliases_;
};

}  // namespace sm::sa
