// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SMInfoRecord: this subnet manager and the others that answered (IBA 15.2.5.8). SM_Keys are not
// told, nor compared, to anybody.
#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {

using ib::wire::SmInfoRecord;

Opened open_subnet_managers(const World& world, const Query& query) {
  const auto wanted = ib::wire::decode<SmInfoRecord>(query.wanted.data());
  std::vector<SmInfoRecord> records;
  const auto add = [&](const ib::wire::SmInfo& info) {
    const EndPort* port = world.paths->find(info.guid);
    if (port == nullptr || !is_shown(world.policy, query.requester, *port)) return;
    if (has_bit(query.mask, kLidBit) && !port->owns(wanted.lid)) return;
    SmInfoRecord r;
    r.lid = port->lid;
    r.sm_info = info;
    r.sm_info.sm_key = 0;
    if (ib::wire::matches(r, wanted, query.mask & ~bit(kLidBit))) records.push_back(r);
  };
  add(world.holdings->own_sm);
  for (const auto& info : world.holdings->other_sms) add(info);
  return listed(std::move(records));
}

}  // namespace sm::sa
