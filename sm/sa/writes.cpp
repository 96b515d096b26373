// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/writes.h"

namespace sm::sa {

using ib::wire::McMemberRecord;
namespace attr = ib::wire::attr;

bool is_writable(std::uint16_t attribute) {
  return attribute == attr::kMcMemberRecord || attribute == attr::kServiceRecord ||
         attribute == attr::kInformInfo;
}

Outcome evaluate(const World& world, const WriteRequest& request) {
  if (!is_writable(request.attribute)) return Refusal{ib::wire::status::kBadAttribute, {}};
  if (request.attribute == attr::kInformInfo) {
    // There is a cancellation for what Delete would be.
    if (request.method != ib::wire::Method::Set)
      return Refusal{ib::wire::status::kBadAttribute, {}};
    return world.state.subscriptions.set(world, request);
  }
  if (request.attribute == attr::kServiceRecord) {
    return request.method == ib::wire::Method::Set ? world.state.services.set(world, request)
                                                   : world.state.services.remove(world, request);
  }
  MembershipRequest r;
  r.record = ib::wire::decode<McMemberRecord>(request.data.data());
  r.mask = request.mask;
  r.requester = request.requester.port;
  return request.method == ib::wire::Method::Set ? world.state.multicast.join(*world.paths, r)
                                                 : world.state.multicast.leave(*world.paths, r);
}

}  // namespace sm::sa
