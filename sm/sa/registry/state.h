// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Everything that clients have registered: multicast groups, services, subscriptions, alias GUIDs;
// and whose is in doubt. Changed by store batches only, so that memory and store say the same.
#pragma once

#include <tuple>

#include "sm/sa/registry/aliases.h"
#include "sm/sa/registry/in_doubt.h"
#include "sm/sa/registry/multicast.h"
#include "sm/sa/registry/services.h"
#include "sm/sa/registry/subscriptions.h"
#include "sm/sa/registry/to_ask.h"

namespace sm::sa {

class Paths;

struct State {
  explicit State(const store::Contents& contents = {}) { apply(store::batch_of(contents)); }

  void apply(const store::Batch& batch);
  /// As a store would hold it; no LIDs.
  store::Contents contents() const;
  /// When the next of what ends by itself does, in seconds since 1970; kNeverExpires: nothing will.
  std::int64_t next_expiry() const;
  /// Takes what has ended out by `batch`, at most `max` of each kind, and says so.
  void expire(std::int64_t unix_seconds, std::size_t max, store::Batch& batch,
              std::vector<std::string>& log) const;
  /// Who receives what: the multicast groups by MLID, members by the GUIDs of their ports.
  std::vector<MlidMembers> by_mlid(const Paths* paths = nullptr) const;

  Multicast multicast;
  Services services;
  Subscriptions subscriptions;
  Aliases aliases;
  InDoubt in_doubt;
  ToAsk to_ask;

  /// The kinds, in the order in which a batch is applied. What is done with each of them is done by
  /// this list: store, batches and the way back, contents, expiry.
  auto kinds() { return std::tie(multicast, services, subscriptions, aliases, in_doubt, to_ask); }
  auto kinds() const {
    return std::tie(multicast, services, subscriptions, aliases, in_doubt, to_ask);
  }
};

}  // namespace sm::sa
