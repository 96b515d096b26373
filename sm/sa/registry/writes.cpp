// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/writes.h"

#include <algorithm>
#include <iterator>

#include "sm/sa/registry/alias_rules.h"
#include "sm/sa/registry/membership.h"
#include "sm/sa/registry/service_rules.h"
#include "sm/sa/registry/subscription_rules.h"

namespace sm::sa {
namespace {

namespace attr = ib::wire::attr;

bool is_service_lease(const ib::wire::Mad& request) {
  return request.method() == ib::wire::Method::Set &&
         ib::wire::body<ib::wire::ServiceRecord>(request).lease != kLeaseForEver;
}

constexpr std::size_t kInformInfoBytes = ib::wire::LayoutOf<ib::wire::InformInfo>::kBytes;
constexpr std::size_t kSubscribeByte = 23;

constexpr RegisteredKind kKinds[] = {
    // MGID, PortGID
    {attr::kMcMemberRecord, join_group, leave_group, 32, {}, false, nullptr},
    // ServiceID, ServiceGID, ServiceP_Key
    {attr::kServiceRecord, register_service, remove_service, 26, {}, false, is_service_lease},
    // All but Subscribe. There is a cancellation for what Delete would be.
    {attr::kInformInfo, set_subscription, nullptr, kInformInfoBytes, kSubscribeByte, true, nullptr},
    // LID, BlockNum
    {attr::kGuidInfoRecord, register_aliases, remove_aliases, 3, {}, false, nullptr},
};

/// A removal, or a cancellation of notices.
bool takes_back(const WriteRequest& request) {
  if (request.attribute != attr::kInformInfo) return request.method == ib::wire::Method::Delete;
  return ib::wire::decode<ib::wire::InformInfo>(request.data.data()).subscribe == 0;
}

}  // namespace

const RegisteredKind* find_kind(std::uint16_t attribute) {
  const auto* at = std::ranges::find(kKinds, attribute, &RegisteredKind::attribute);
  return at == std::end(kKinds) ? nullptr : at;
}

Outcome evaluate(const World& world, const WriteRequest& request) {
  const auto* kind = find_kind(request.attribute);
  const auto judge = kind == nullptr                           ? nullptr
                     : request.method == ib::wire::Method::Set ? kind->set
                                                               : kind->remove;
  if (judge == nullptr) return Refusal{ib::wire::status::kBadAttribute, {}};
  // Who hears that there is nothing to take back believes it. What a port has registered stays
  // while it cannot be asked (UnreachableNodes), and the next sweep may show it again.
  if (request.requester.port == nullptr && takes_back(request))
    return Refusal{ib::wire::status::kBusy, {}};
  return judge(world, request);
}

}  // namespace sm::sa
