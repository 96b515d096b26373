// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/subscriptions.h"

namespace sm::sa {
namespace {

using ib::Lid;
using ib::wire::InformInfo;
using store::Subscription;
namespace trap = ib::wire::trap;

bool same_address(const ib::mad::Address& a, const ib::mad::Address& b) {
  return a.lid == b.lid && a.path_bits == b.path_bits && a.qpn == b.qpn && a.q_key == b.q_key &&
         a.p_key_index == b.p_key_index && a.sl == b.sl;
}

}  // namespace

bool is_security_trap(std::uint16_t number) {
  return number >= trap::kBadMKey && number <= trap::kSwitchBadPKey;
}

ib::mad::Address reports_to(ib::mad::Address subscriber) {
  subscriber.q_key = ib::wire::kQp1QKey;
  if (subscriber.grh) subscriber.grh->hop_limit = 0xFF;
  return subscriber;
}

Lid range_end(const InformInfo& info) {
  return info.lid_range_end == ib::kNoLid ? info.lid_range_begin : info.lid_range_end;
}

void Subscriptions::forget(const Subscription& subscription) {
  const auto at = subscriptions_.find(subscription);
  if (at == subscriptions_.end()) return;
  if (const auto count = by_subscriber_.find(at->subscriber); --count->second == 0)
    by_subscriber_.erase(count);
  subscriptions_.erase(at);
}

void Subscriptions::apply(const store::Batch& batch) {
  for (const auto& gone : batch.subscriptions_removed) forget(gone);
  for (const auto& subscription : batch.subscriptions) {
    forget(subscription);
    ++by_subscriber_[subscription.subscriber];
    subscriptions_.insert(subscription);
  }
}

bool Subscriptions::has(const Subscription& subscription) const {
  const auto at = subscriptions_.find(subscription);
  return at != subscriptions_.end() && at->subscriber == subscription.subscriber;
}

std::size_t Subscriptions::count_of(ib::Guid subscriber) const {
  const auto at = by_subscriber_.find(subscriber);
  return at == by_subscriber_.end() ? 0 : at->second;
}

std::vector<Subscription> Subscriptions::at(const ib::mad::Address& address) const {
  // The address comes first in the order of the keys, and this is the least of them.
  Subscription first;
  first.to = address;
  std::vector<Subscription> out;
  for (auto s = subscriptions_.lower_bound(first);
       s != subscriptions_.end() && same_address(s->to, address); ++s)
    out.push_back(*s);
  return out;
}

void Subscriptions::add_to(store::Contents& contents) const {
  contents.subscriptions.assign(subscriptions_.begin(), subscriptions_.end());
}

void Subscriptions::BatchKeys::add(const store::Batch& batch) {
  subscriptions_.insert(batch.subscriptions_removed.begin(), batch.subscriptions_removed.end());
  subscriptions_.insert(batch.subscriptions.begin(), batch.subscriptions.end());
}

void Subscriptions::BatchKeys::bring(const Subscriptions& present, store::Batch& batch) const {
  for (const auto& key : subscriptions_) {
    const auto at = present.all().find(key);
    if (at != present.all().end()) {
      batch.subscriptions.push_back(*at);
    } else {
      batch.subscriptions_removed.push_back(key);
    }
  }
}

}  // namespace sm::sa
