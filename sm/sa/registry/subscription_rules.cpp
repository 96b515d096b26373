// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/subscription_rules.h"

#include <fmt/format.h>

namespace sm::sa {
namespace {

using ib::Lid;
using ib::wire::InformInfo;
using store::Subscription;
namespace status = ib::wire::status;

/// Why `port` may not subscribe to what the request names; status 0: it may.
Refusal why_not(const World& world, const EndPort& port, const InformInfo& info) {
  const auto invalid = [](std::string why) {
    return Refusal{status::kSaReqInvalid, std::move(why)};
  };
  if (!info.gid.is_zero()) {
    // Notices have GIDs of this subnet: a subscription to another subnet's would never get a
    // report.
    if (!world.is_own_prefix(info.gid.prefix()))
      return {status::kSaInvalidGid,
              fmt::format("the prefix of the GID {} is not that of this subnet, 0x{:016x}",
                          to_string(info.gid), world.snapshot().subnet_prefix)};
    const auto* at = world.holder(info.gid.guid());
    if (at == nullptr) return invalid(fmt::format("no port has the GID {}", to_string(info.gid)));
    if (!world.policy.share(port, *at))
      return invalid(fmt::format("it shares no partition with {}", to_string(info.gid)));
    return {};
  }
  if (info.lid_range_begin.value == kAnyNotice) return {};
  const Lid begin = info.lid_range_begin, end = range_end(info);
  // Nobody's LID is 0: that is a subscription to nothing, and osmtest makes it.
  if (end < begin || begin > world.paths->highest_lid())
    return invalid(fmt::format("no port has a LID from {} to {}", begin.value, end.value));
  if (world.policy.is_open()) return {};
  for (const EndPort& at : world.paths->end_ports()) {
    const bool inside = at.lid <= end && at.lid.value + at.lid_count() > begin.value;
    if (inside && !world.policy.share(port, at))
      return invalid(fmt::format("it shares no partition with LID {}", at.lid.value));
  }
  return {};
}

}  // namespace

Outcome set_subscription(const World& world, const WriteRequest& request) {
  const auto& subscriptions = world.state.subscriptions;
  // The component mask of a Set(InformInfo) is not looked at: InformInfo is no record.
  const auto info = ib::wire::decode<InformInfo>(request.data.data());
  const auto* port = request.requester.port;
  const auto refuse = [&](std::string_view why, std::uint16_t with = status::kSaReqInvalid) {
    return Refusal{
        with, fmt::format("{} of port {} (LID {}) {} trap {}: {}",
                          info.subscribe == 0 ? "cancellation" : "subscription",
                          port != nullptr ? to_string(port->guid) : "unknown",
                          request.from.lid.value, info.subscribe == 0 ? "of" : "to",
                          info.trap_number == kAnyNotice ? "any" : std::to_string(info.trap_number),
                          why)};
  };
  if (port == nullptr) return refuse("no port of the subnet has the LID it came from");
  if (info.subscribe > 1)
    return refuse(
        fmt::format("Subscribe is {}, expected 1 to subscribe or 0 to cancel", info.subscribe));
  if (info.is_generic > 1)
    return refuse(
        fmt::format("IsGeneric is {}, expected 1 for the specification's traps or 0 for "
                    "a vendor's",
                    info.is_generic));

  Subscription subscription;
  subscription.subscriber = port->guid;
  subscription.to = reports_to(request.from);
  subscription.inform_info = info;
  subscription.inform_info.subscribe = 1;
  subscription.inform_info.qpn = request.from.qpn;
  subscription.trusted = request.requester.trusted;
  subscription.by_secret = request.requester.trusted && world.key_is_secret;
  const bool known = subscriptions.all().contains(subscription);

  Change change;
  change.reply = reply_of(info);
  if (info.subscribe == 0) {
    // The QP of a cancellation is the one that subscribed (IBA 13.4.8.3); none says "this one".
    if (!known || (info.qpn != 0 && info.qpn != request.from.qpn))
      return refuse(
          "there is no such subscription: all its words and the QP are to be those that "
          "subscribed");
    change.batch.subscriptions_removed.push_back(subscription);
    return change;
  }
  if (!request.requester.trusted && info.is_generic == 1 && is_security_trap(info.trap_number))
    return refuse("security traps are told to who subscribes with the SA key");
  if (const auto not_so = why_not(world, *port, info); not_so.status != status::kOk)
    return refuse(not_so.why, not_so.status);
  if (const auto has = subscriptions.count_of(port->guid);
      !known && has >= world.quotas.subscriptions)
    return refuse(fmt::format("it has {} subscriptions already, and {} is what one port may "
                              "have (sa_etm_max_num_event_subs)",
                              has, world.quotas.subscriptions),
                  status::kSaNoResources);
  // The same once more changes nothing that has to be made durable.
  if (const auto at = subscriptions.all().find(subscription); known && *at == subscription)
    return change;
  change.batch.subscriptions.push_back(subscription);
  return change;
}

}  // namespace sm::sa
