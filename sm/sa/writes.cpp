// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/writes.h"

#include "sm/sa/membership.h"

namespace sm::sa {

namespace attr = ib::wire::attr;

bool is_writable(std::uint16_t attribute) {
  return attribute == attr::kMcMemberRecord || attribute == attr::kServiceRecord ||
         attribute == attr::kInformInfo || attribute == attr::kGuidInfoRecord;
}

Outcome evaluate(const World& world, const WriteRequest& request) {
  if (!is_writable(request.attribute)) return Refusal{ib::wire::status::kBadAttribute, {}};
  const bool is_set = request.method == ib::wire::Method::Set;
  if (request.attribute == attr::kInformInfo) {
    // There is a cancellation for what Delete would be.
    if (!is_set) return Refusal{ib::wire::status::kBadAttribute, {}};
    return world.state.subscriptions.set(world, request);
  }
  if (request.attribute == attr::kServiceRecord)
    return is_set ? world.state.services.set(world, request)
                  : world.state.services.remove(world, request);
  if (request.attribute == attr::kGuidInfoRecord)
    return is_set ? world.state.aliases.set(world, request)
                  : world.state.aliases.remove(world, request);
  return is_set ? join_group(world, request) : leave_group(world, request);
}

}  // namespace sm::sa
