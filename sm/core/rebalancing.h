// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Rebalancing: routes that followed links one by one are held against fresh ones once the fabric
// has come to rest, and only once for each state of it. A machine; it computes nothing itself.
//
//   Even       nothing to do: routes were computed from nothing, or held against such
//   Drifted    they followed links since; waits until nothing has changed for a while
//   Computing  somebody computes fresh routes
//   Computed   and here they are
//
// A change takes Computing and Computed back to Drifted: their result is about another fabric.
#pragma once

#include <optional>

#include "sm/plan/fresh.h"

namespace sm::core {

class Rebalancing {
 public:
  /// `hold`: how long nothing must have changed. 0: never.
  explicit Rebalancing(ib::Duration hold) : hold_(hold) {}

  /// A full sweep has planned. `comparable`: its routes may be held against fresh ones at all.
  void on_plan(ib::Instant now, plan::Origin origin, bool comparable);
  /// Asked when the fabric is at rest.
  bool due(ib::Instant now) const {
    return state_ == State::Drifted && !underway_ && now - changed_at_ >= hold_;
  }
  void begin(plan::FreshRequest request);

  /// For whoever computes; each is handed out once.
  std::optional<plan::FreshRequest> next_request();
  void on_fresh(plan::FreshRoutes fresh);

  bool has_fresh() const { return fresh_.has_value(); }
  /// What was computed, if it is about the fabric as it is.
  std::optional<plan::FreshRoutes> take();

 private:
  enum class State { Even, Drifted, Computing, Computed };
  ib::Duration hold_;
  State state_{State::Even};
  ib::Instant changed_at_{};
  bool underway_{false};  // a computation, be its result still wanted or not
  std::optional<plan::FreshRequest> request_;
  std::optional<plan::FreshRoutes> fresh_;
};

}  // namespace sm::core
