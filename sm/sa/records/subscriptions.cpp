// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// InformInfoRecord: who is subscribed to what (IBA 15.2.5.12).
#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {

using ib::wire::InformInfoRecord;

Opened open_subscriptions(const World& world, const Query& query) {
  const auto wanted = ib::wire::decode<InformInfoRecord>(query.wanted.data());
  std::vector<InformInfoRecord> records;
  for (const auto& subscription : world.state.subscriptions.all()) {
    const EndPort* port = world.paths->find(subscription.subscriber);
    if (port == nullptr || !is_shown(world.policy, query.requester, *port)) continue;
    InformInfoRecord r;
    r.subscriber_gid = ib::Gid::from(world.snapshot().subnet_prefix, subscription.subscriber);
    r.inform_info = subscription.inform_info;
    // Where reports go is the subscriber's own business: neither shown nor compared.
    if (!query.requester.trusted) r.inform_info.qpn = 0;
    if (ib::wire::matches(r, wanted, query.mask)) records.push_back(r);
  }
  return listed(std::move(records));
}

}  // namespace sm::sa
