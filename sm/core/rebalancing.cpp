// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/rebalancing.h"

#include <utility>

namespace sm::core {

void Rebalancing::on_plan(ib::Instant now, plan::Origin origin, bool comparable) {
  if (origin != plan::Origin::Standing) changed_at_ = now;
  fresh_.reset();
  if (hold_ == ib::Duration{0} || !comparable || origin == plan::Origin::Computed) {
    state_ = State::Even;
  } else if (origin == plan::Origin::Followed || state_ != State::Even) {
    state_ = State::Drifted;
  }
}

void Rebalancing::begin(plan::FreshRequest request) {
  state_ = State::Computing;
  underway_ = true;
  request_ = std::move(request);
}

std::optional<plan::FreshRequest> Rebalancing::next_request() {
  return std::exchange(request_, std::nullopt);
}

void Rebalancing::on_fresh(plan::FreshRoutes fresh) {
  underway_ = false;
  if (state_ != State::Computing) return;
  state_ = State::Computed;
  fresh_ = std::move(fresh);
}

std::optional<plan::FreshRoutes> Rebalancing::take() {
  if (state_ == State::Computed) state_ = State::Even;
  return std::exchange(fresh_, std::nullopt);
}

}  // namespace sm::core
