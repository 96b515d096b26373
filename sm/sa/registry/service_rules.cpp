// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/service_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/text.h"
#include "sm/sa/registry/mask.h"

namespace sm::sa {
namespace {

using ib::wire::ServiceRecord;
using store::Service;
using store::ServiceKey;
namespace status = ib::wire::status;

constexpr const char* kOtherKey =
    "it is registered with another ServiceKey; that key or the SA key is needed";
constexpr const char* kOthers =
    "it is another port's; requests with its ServiceKey or the SA key may change it";

bool is_zero(const std::array<std::uint8_t, 16>& key) {
  return std::all_of(key.begin(), key.end(), [](std::uint8_t b) { return b == 0; });
}

std::string describe(const World& world, const WriteRequest& request, const ServiceRecord& r) {
  const auto* port = request.requester.port;
  return fmt::format(
             "{} of service 0x{:x} \"{}\" at {} by port {} (LID {})",
             request.method == ib::wire::Method::Set ? "registration" : "removal", r.service_id,
             ib::printable(std::string_view(r.name.data(), strnlen(r.name.data(), r.name.size()))),
             to_string(r.service_gid), port ? to_string(port->guid) : "unknown",
             request.from.lid.value) +
         (port ? fmt::format(" \"{}\"",
                             ib::printable(world.snapshot().fabric().node(port->port.node).name()))
               : std::string());
}

/// As osmtest writes the default prefix: in the byte order of its host.
constexpr std::uint64_t kDefaultPrefixReversed = 0x80FE;

/// Some clients leave the prefix empty.
bool is_of_this_subnet(const World& world, const ib::Gid& gid) {
  return gid.prefix() == 0 || gid.prefix() == kDefaultPrefixReversed ||
         world.is_own_prefix(gid.prefix());
}

/// A group's service is announced by a member of the group.
bool is_member(const World& world, const ib::Gid& mgid, const EndPort& port) {
  const auto joined_by = [&](ib::Guid guid) {
    const auto gid = ib::Gid::from(world.snapshot().subnet_prefix, guid);
    return world.state.multicast.find_member(mgid, gid) != nullptr;
  };
  return joined_by(port.guid) ||
         std::ranges::any_of(world.state.aliases.of(port.guid),
                             [&](const auto& alias) { return joined_by(alias.second); });
}

/// The status that refuses the request for what it says of itself, and why.
Refusal check_origin(const World& world, const WriteRequest& request, const ServiceRecord& r) {
  const auto refuse = [&](std::uint16_t why, std::string_view text) {
    return Refusal{why, fmt::format("{}: {}", describe(world, request, r), text)};
  };
  const auto* port = request.requester.port;
  if (port == nullptr)
    return refuse(status::kSaReqInvalid, "no port of the subnet has the LID it came from");
  const EndPort* at = port;
  if (has_bit(request.mask, service_bit::kServiceGid) && !r.service_gid.is_multicast()) {
    if (!is_of_this_subnet(world, r.service_gid))
      return refuse(
          status::kSaInvalidGid,
          fmt::format("the subnet prefix of ServiceGID is not that of this subnet, 0x{:016x}",
                      world.snapshot().subnet_prefix));
    at = world.holder(r.service_gid.guid());
    if (at == nullptr && !request.requester.trusted)
      return refuse(status::kSaReqInvalid, "ServiceGID is no port's, and no alias of one");
  }
  // A key that is given counts, whether the mask names it or not: it is part of the record's name.
  // 0 stands for no partition in particular.
  if (r.service_p_key.value != 0) {
    if (!world.policy.holds(*port, r.service_p_key))
      return refuse(status::kSaReqInvalid,
                    fmt::format("the port is not in partition 0x{:04x}", r.service_p_key.value));
    if (at != nullptr && !world.policy.holds(*at, r.service_p_key))
      return refuse(status::kSaReqInvalid, fmt::format("the port of ServiceGID is not in partition "
                                                       "0x{:04x}",
                                                       r.service_p_key.value));
  }
  return {};
}

bool owns_gid(const World& world, const EndPort& port, const ib::Gid& gid) {
  if (gid.is_multicast()) return is_member(world, gid, port);
  const auto* at = world.holder(gid.guid());
  return at != nullptr && at->port == port.port;
}

/// Keys are secrets: only clients that have the SA key see them, no matter who set them.
std::vector<std::byte> reply_to(const WriteRequest& request, ServiceRecord r) {
  if (!request.requester.trusted) r.key = {};
  return reply_of(r);
}

}  // namespace

Outcome register_service(const World& world, const WriteRequest& request) {
  auto r = ib::wire::decode<ServiceRecord>(request.data.data());
  constexpr auto kNeeded = bit(service_bit::kServiceId) | bit(service_bit::kServiceGid);
  if ((request.mask & kNeeded) != kNeeded)
    return Refusal{status::kSaInsufficientComponents,
                   fmt::format("{}: the component mask is to name ServiceID and ServiceGID",
                               describe(world, request, r))};
  if (auto refusal = check_origin(world, request, r); refusal.status != 0) return refusal;

  const auto refuse = [&](std::uint16_t why, std::string text) {
    return Refusal{why, fmt::format("{}: {}", describe(world, request, r), text)};
  };
  const EndPort& port = *request.requester.port;
  if (!request.requester.trusted && !owns_gid(world, port, r.service_gid))
    return refuse(status::kSaReqDenied,
                  r.service_gid.is_multicast()
                      ? "the port is not in the group of ServiceGID; it is to join it first"
                      : "ServiceGID is another port's; requests with the SA "
                        "key may register for others");
  if (!has_bit(request.mask, service_bit::kLease)) r.lease = kLeaseForEver;

  Service service;
  service.record = r;
  service.owner = port.guid;
  if (r.lease != kLeaseForEver) service.expires = request.unix_seconds + r.lease;

  const auto* before = world.state.services.find(service.key());
  if (before != nullptr) {
    // A client that has the key may change what it protects; without a key, only the port may.
    const auto& key = before->record.key;
    if (!request.requester.trusted && !is_zero(key) && key != r.key)
      return refuse(status::kSaReqDenied, kOtherKey);
    // A member of a group may speak for it, but not for what another member said.
    const bool others = r.service_gid.is_multicast() && before->owner != port.guid;
    if (!request.requester.trusted && is_zero(key) && others)
      return refuse(status::kSaReqDenied, kOthers);
    if (request.requester.trusted) service.owner = before->owner;
  }
  const bool is_new = before == nullptr || before->owner != service.owner;
  if (const auto has = world.state.services.count_of(service.owner);
      is_new && has >= world.quotas.services)
    return refuse(status::kSaNoResources,
                  fmt::format("the port has {} services already, and {} is what one port may have "
                              "(sa_etm_max_num_srvcs)",
                              has, world.quotas.services));

  Change change;
  if (!has_bit(request.mask, service_bit::kPKey)) r.service_p_key = ib::kDefaultPKey;
  change.reply = reply_to(request, r);
  change.batch.services.push_back(service);
  return change;
}

Outcome remove_service(const World& world, const WriteRequest& request) {
  const auto r = ib::wire::decode<ServiceRecord>(request.data.data());
  if (auto refusal = check_origin(world, request, r); refusal.status != 0) return refusal;
  const auto* service = world.state.services.find({r.service_id, r.service_gid, r.service_p_key});
  if (service == nullptr) return Refusal{status::kSaNoRecords, {}};

  const bool names_key = has_bit(request.mask, service_bit::kKey);
  const bool has_key = names_key && !is_zero(r.key) && r.key == service->record.key;
  const bool wrong_key = names_key && r.key != service->record.key;
  // Being in a group makes nobody the owner of what another member registered.
  const auto& gid = service->record.service_gid;
  const bool owner = service->owner == request.requester.port->guid ||
                     (!gid.is_multicast() && owns_gid(world, *request.requester.port, gid));
  if (!request.requester.trusted && (wrong_key || (!owner && !has_key)))
    return Refusal{status::kSaReqDenied, fmt::format("{}: {}", describe(world, request, r),
                                                     wrong_key ? kOtherKey : kOthers)};
  Change change;
  change.reply = reply_to(request, service->record);
  change.batch.services_removed.push_back(service->key());
  return change;
}

}  // namespace sm::sa
