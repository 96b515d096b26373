// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/expiry.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sm/sa/subnet/unreachable_nodes.h"

namespace sm::sa {
namespace {

// So many of a kind end with one commit; more make the next.
constexpr std::size_t kAtOnce = 1024;
// So many subscriptions that end are named in the log, the others counted.
constexpr std::size_t kNamedMax = 10;
constexpr ib::Duration kAfterFailure = std::chrono::seconds(5);

}  // namespace

void Expiry::on_snapshot(const World& world, const Snapshot* before) {
  withdrawn_ = false;
  const auto& observed = *world.snapshot().observed;
  if (!observed.complete) return;
  gone_.clear();
  const UnreachableNodes unreachable(observed);
  for (const auto& s : world.state.subscriptions.all()) {
    // By the fabric, not by Paths: a port that waits for its LID is there.
    if (!observed.fabric.find_port_guid(s.subscriber)) {
      if (!unreachable.may_hide(s.subscriber, before)) gone_.insert(s);
    } else if (const auto* port = world.paths->find(s.subscriber);
               port != nullptr && !port->owns(s.to.lid)) {
      gone_.insert(s);
    }
  }
}

void Expiry::on_dead_subscriber(const State& state, const ib::mad::Address& address) {
  const auto all = state.subscriptions.at(address);
  dead_.insert(all.begin(), all.end());
}

void Expiry::on_sign_of_life(ib::Guid subscriber, const ib::mad::Address& address) {
  for (auto* ending : {&gone_, &dead_})
    std::erase_if(*ending, [&](const store::Subscription& s) {
      return s.subscriber == subscriber && s.to.lid == address.lid && s.to.qpn == address.qpn;
    });
}

void Expiry::withdraw() {
  withdrawn_ = true;
  gone_.clear();
  dead_.clear();
}

std::optional<Change> Expiry::next(ib::Instant now, const World& world, const WallClock& clock) {
  if (withdrawn_ || now < not_before_) return std::nullopt;
  Change change;
  world.state.expire(clock.seconds(now), kAtOnce, change.batch, change.log);
  dropping_ = gone_;
  dropping_.insert(dead_.begin(), dead_.end());
  silent_.clear();
  std::set<ib::Guid> untold;
  std::size_t named = 0;
  for (const auto& s : dropping_) {
    if (!world.state.subscriptions.has(s)) continue;
    if (++named <= kNamedMax)
      change.log.push_back(fmt::format(
          "port {} (LID {} QP {}) is not there or does not answer: its "
          "subscription to trap {} ends",
          to_string(s.subscriber), s.to.lid.value, s.to.qpn, s.inform_info.trap_number));
    change.batch.subscriptions_removed.push_back(s);
    if (dead_.contains(s)) silent_.insert(s.subscriber);
    if (dead_.contains(s) || !world.snapshot().observed->fabric.find_port_guid(s.subscriber))
      untold.insert(s.subscriber);
  }
  if (named > kNamedMax)
    change.log.push_back(fmt::format("{} more subscriptions end likewise", named - kNamedMax));
  // With it, since who asks them, when they are there, may die meanwhile.
  change.batch.clients_to_ask.assign(untold.begin(), untold.end());
  if (!change.batch.empty()) return change;
  on_done(now, true);
  return std::nullopt;
}

void Expiry::on_done(ib::Instant now, bool durable) {
  const auto dropped = std::exchange(dropping_, {});
  const auto silent = std::exchange(silent_, {});
  if (!durable) {
    not_before_ = now + kAfterFailure;
    return;
  }
  for (auto* ending : {&gone_, &dead_})
    std::erase_if(*ending, [&](const store::Subscription& s) { return dropped.contains(s); });
  untold_.add(now, silent);
}

ib::Instant Expiry::next_deadline(const State& state, const WallClock& clock) const {
  if (withdrawn_) return ib::kNever;
  if (!gone_.empty() || !dead_.empty()) return not_before_;
  const auto due = clock.at(state.next_expiry());
  return due == ib::kNever ? due : std::max(due, not_before_);
}

}  // namespace sm::sa
