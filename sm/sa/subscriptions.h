// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Subscriptions to notices (IBA 13.4.8.3, 13.4.11): who may subscribe to what, and whom a notice
// goes to.
#pragma once

#include <compare>
#include <set>
#include <unordered_map>

#include "sm/sa/change.h"

namespace sm::sa {

struct World;

class Subscriptions {
 public:
  struct ByKey {
    bool operator()(const store::Subscription& a, const store::Subscription& b) const {
      return std::is_lt(store::compare_keys(a, b));
    }
  };
  using Set = std::set<store::Subscription, ByKey>;

  /// Set(InformInfo): subscribes or unsubscribes.
  Outcome set(const World& world, const WriteRequest& request) const;

  void apply(const store::Batch& batch);
  const Set& all() const { return subscriptions_; }
  std::size_t count_of(ib::Guid subscriber) const;
  /// Those whose reports go to this address, the GRH aside; in order.
  std::vector<store::Subscription> at(const ib::mad::Address& address) const;

 private:
  void forget(const store::Subscription& subscription);

  Set subscriptions_;
  std::unordered_map<ib::Guid, std::size_t> by_subscriber_;
};

/// Where reports go for whoever sends from there.
ib::mad::Address reports_to(ib::mad::Address subscriber);
/// 256 to 259, generic: told to the trusted only.
bool is_security_trap(std::uint16_t number);
/// Whether the subscription is to notices like this one (IBA 13.4.8.3). A GID means the port that
/// has it now.
bool is_meant(const World& world, const ib::wire::InformInfo& wanted, const Event& event);
/// Whether the subscriber may hear of it: its port is there and shares a partition with what the
/// notice is about, and security notices are for the trusted.
bool may_hear(const World& world, const store::Subscription& subscription, const Event& event);

}  // namespace sm::sa
