// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// InformInfoRecord: who is subscribed to what (IBA 15.2.5.12).
#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using ib::wire::InformInfoRecord;

class SubscriptionSource final : public KeyWalk<InformInfoRecord, Subscriptions::Set> {
 public:
  SubscriptionSource(const World& world, const Query& query)
      : KeyWalk(world, query, world.state.subscriptions.all()) {}

 private:
  bool make(const Entry& subscription, InformInfoRecord& r) const override {
    const EndPort* port = paths().find(subscription.subscriber);
    if (port == nullptr || !is_shown(policy(), query().requester, *port)) return false;
    r.subscriber_gid = ib::Gid::from(paths().snapshot().subnet_prefix, subscription.subscriber);
    r.inform_info = subscription.inform_info;
    // Where reports go is the subscriber's own business: neither shown nor compared.
    if (!query().requester.trusted) r.inform_info.qpn = 0;
    return ib::wire::matches(r, wanted(), query().mask);
  }
};

}  // namespace

Opened open_subscriptions(const World& world, const Query& query) {
  return std::make_unique<SubscriptionSource>(world, query);
}

}  // namespace sm::sa
