// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Everything that clients have registered: multicast groups, services, subscriptions, alias GUIDs.
// Changed by store batches only, so that memory and store say the same.
#pragma once

#include "sm/sa/aliases.h"
#include "sm/sa/multicast.h"
#include "sm/sa/services.h"
#include "sm/sa/subscriptions.h"

namespace sm::sa {

struct State {
  explicit State(const store::Contents& contents = {});

  void apply(const store::Batch& batch);
  /// As a store would hold it; no LIDs.
  store::Contents contents() const;
  /// Who receives what: the multicast groups by MLID, members by the GUIDs of their ports.
  std::vector<MlidMembers> by_mlid() const;

  Multicast multicast;
  Services services;
  Subscriptions subscriptions;
  Aliases aliases;
};

}  // namespace sm::sa
