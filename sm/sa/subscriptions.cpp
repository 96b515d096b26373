// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/subscriptions.h"

#include <fmt/format.h>

#include <algorithm>

#include "sm/sa/notices.h"
#include "sm/sa/world.h"

namespace sm::sa {
namespace {

using ib::Lid;
using ib::wire::InformInfo;
using store::Subscription;
namespace status = ib::wire::status;
namespace trap = ib::wire::trap;

constexpr std::uint16_t kAny = 0xFFFF;
constexpr std::uint32_t kAnyProducer = 0xFFFFFF;
constexpr std::uint8_t kTypeSecurity = 2;

bool same_address(const ib::mad::Address& a, const ib::mad::Address& b) {
  return a.lid == b.lid && a.path_bits == b.path_bits && a.qpn == b.qpn && a.q_key == b.q_key &&
         a.p_key_index == b.p_key_index && a.sl == b.sl;
}

/// The last LID of the range; an end of 0 means the first alone.
Lid range_end(const InformInfo& info) {
  return info.lid_range_end == ib::kNoLid ? info.lid_range_begin : info.lid_range_end;
}

/// Why `port` may not subscribe to what the request names; status 0: it may.
Refusal why_not(const World& world, const EndPort& port, const InformInfo& info) {
  const auto invalid = [](std::string why) {
    return Refusal{status::kSaReqInvalid, std::move(why)};
  };
  if (!info.gid.is_zero()) {
    // Notices bear GIDs of this subnet: a subscription to another's would never be told anything.
    if (!world.is_own_prefix(info.gid.prefix()))
      return {status::kSaInvalidGid,
              fmt::format("the prefix of the GID {} is not that of this subnet, 0x{:016x}",
                          to_string(info.gid), world.snapshot().subnet_prefix)};
    const auto* at = world.bearer(info.gid.guid());
    if (at == nullptr) return invalid(fmt::format("no port has the GID {}", to_string(info.gid)));
    if (!world.policy.share(port, *at))
      return invalid(fmt::format("it shares no partition with {}", to_string(info.gid)));
    return {};
  }
  if (info.lid_range_begin.value == kAny) return {};
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

/// Whether `wanted` is a GID of the port that issued the notice, be it an alias. (The issuer may
/// have left meanwhile.)
bool is_gid_of(const World& world, const ib::Gid& wanted, ib::Guid issuer) {
  if (!world.is_own_prefix(wanted.prefix())) return false;
  const ib::Guid owner = world.paths->find(wanted.guid()) != nullptr
                             ? ib::Guid{}
                             : world.state.aliases.port_of(wanted.guid());
  return wanted.guid() == issuer || (owner.value != 0 && owner == issuer);
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

Outcome Subscriptions::set(const World& world, const WriteRequest& request) const {
  // The component mask of a Set(InformInfo) is not looked at: InformInfo is no record.
  const auto info = ib::wire::decode<InformInfo>(request.data.data());
  const auto* port = request.requester.port;
  const auto refuse = [&](std::string_view why, std::uint16_t with = status::kSaReqInvalid) {
    return Refusal{
        with,
        fmt::format("{} of port {} (LID {}) {} trap {}: {}",
                    info.subscribe == 0 ? "cancellation" : "subscription",
                    port != nullptr ? to_string(port->guid) : "unknown", request.from.lid.value,
                    info.subscribe == 0 ? "of" : "to",
                    info.trap_number == kAny ? "any" : std::to_string(info.trap_number), why)};
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
  const bool known = subscriptions_.contains(subscription);

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
  if (const auto has = count_of(port->guid); !known && has >= world.quotas.subscriptions)
    return refuse(fmt::format("it has {} subscriptions already, and {} is what one port may "
                              "have (sa_etm_max_num_event_subs)",
                              has, world.quotas.subscriptions),
                  status::kSaNoResources);
  // The same once more changes nothing that has to be made durable.
  if (const auto at = subscriptions_.find(subscription); known && *at == subscription)
    return change;
  change.batch.subscriptions.push_back(subscription);
  return change;
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

bool is_meant(const World& world, const InformInfo& wanted, const Event& event) {
  const auto& notice = event.notice;
  if (!wanted.gid.is_zero()) {
    if (!is_gid_of(world, wanted.gid, event.issuer_gid.guid())) return false;
  } else if (wanted.lid_range_begin.value != kAny) {
    // Any LID of the issuer's port will do.
    const auto* port = world.paths->find(notice.issuer_lid);
    const Lid first = port != nullptr ? port->lid : notice.issuer_lid;
    const unsigned count = port != nullptr ? port->lid_count() : 1U;
    if (first.value + count <= wanted.lid_range_begin.value || first > range_end(wanted))
      return false;
  }
  if ((wanted.is_generic == 1) != notice.is_generic) return false;
  if (wanted.type != kAny && wanted.type != notice.type) return false;
  if (wanted.trap_number != kAny && wanted.trap_number != notice.trap_number) return false;
  return wanted.producer_type == kAnyProducer || wanted.producer_type == notice.producer_type;
}

bool may_hear(const World& world, const Subscription& subscription, const Event& event) {
  const auto* port = world.paths->find(subscription.subscriber);
  if (port == nullptr || !port->owns(subscription.to.lid)) return false;
  const auto& notice = event.notice;
  const bool security =
      notice.type == kTypeSecurity || (notice.is_generic && is_security_trap(notice.trap_number));
  // Who subscribed by the key that everybody knows is nobody in particular once there is a secret.
  const bool trusted = subscription.trusted && (subscription.by_secret || !world.key_is_secret);
  if (security && !trusted) return false;
  if (event.p_key.base() != 0) return world.policy.holds(*port, event.p_key);
  const auto about = is_gid_notice(notice) ? subject_of(notice) : event.issuer_gid;
  const auto* source = world.bearer(about.guid());
  return source == nullptr || world.policy.share(*port, *source);
}

}  // namespace sm::sa
