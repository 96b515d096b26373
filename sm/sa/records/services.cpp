// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ServiceRecord as it is read (IBA 15.2.5.14): what is registered in the partitions of who asks.
#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
using ib::wire::ServiceRecord;

Opened open_services(const World& world, const Query& query) {
  const auto wanted = ib::wire::decode<ServiceRecord>(query.wanted.data());
  std::vector<ServiceRecord> records;
  if (query.requester.port == nullptr) return listed(std::move(records));
  for (const auto& [key, service] : world.state.services.all()) {
    // Without a P_Key a service is in no partition in particular.
    if (key.p_key.base() != 0 && !world.policy.holds(*query.requester.port, key.p_key)) continue;
    ServiceRecord r = service.record;
    // Keys are shown with the SA key only. What is not shown is not compared either, or a compare
    // would tell it; but a port may look for what it registered itself.
    const bool is_own = service.owner == query.requester.port->guid;
    if (!query.requester.trusted && !is_own) r.key = {};
    if (!ib::wire::matches(r, wanted, query.mask)) continue;
    if (!query.requester.trusted) r.key = {};
    records.push_back(r);
  }
  return listed(std::move(records));
}

}  // namespace sm::sa
