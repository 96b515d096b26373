// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/chores.h"

#include <fmt/format.h>

#include <algorithm>

namespace sm::sa {
namespace {

// So many leases end with one commit; more make the next.
constexpr std::size_t kAtOnce = 1024;
constexpr ib::Duration kAfterFailure = std::chrono::seconds(5);

}  // namespace

std::optional<Change> Chores::next(ib::Instant now, const World& world,
                                   const WallClock& clock) const {
  if (now < not_before_) return std::nullopt;
  Change change;
  change.batch.services_removed = world.state.services.expired(clock.seconds(now), kAtOnce);
  for (const auto& key : change.batch.services_removed)
    change.log.push_back(fmt::format("lease of service 0x{:x} at {} ended", key.service_id,
                                     to_string(key.service_gid)));
  if (change.batch.empty()) return std::nullopt;
  return change;
}

void Chores::on_done(ib::Instant now, bool durable) {
  if (!durable) not_before_ = now + kAfterFailure;
}

ib::Instant Chores::next_deadline(const State& state, const WallClock& clock) const {
  const auto due = clock.at(state.services.next_expiry());
  return due == ib::kNever ? due : std::max(due, not_before_);
}

}  // namespace sm::sa
