// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/alias_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sm/device/tables/kinds.h"
#include "sm/sa/registry/mask.h"
#include "sm/sa/registry/membership.h"

namespace sm::sa {
namespace {

using ib::Guid;
using ib::wire::GuidInfoRecord;
namespace status = ib::wire::status;

constexpr unsigned kPerBlock = device::kGuidsInBlock;
constexpr std::uint32_t kTriesMax = 1000;
constexpr const char* kInAGroup = "is a member of a multicast group, which it is to leave first";

/// A block of one port as a request means it.
struct Place {
  const EndPort* port{nullptr};
  GuidInfoRecord record;
  std::array<bool, kPerBlock> masked{};
  Aliases::Key key(unsigned entry) const {
    return {port->guid, static_cast<std::uint16_t>(record.block * kPerBlock + entry)};
  }
};

std::string describe(const WriteRequest& request, const GuidInfoRecord& r) {
  return fmt::format("{} of alias GUIDs at LID {} block {} by LID {}",
                     request.method == ib::wire::Method::Set ? "registration" : "removal",
                     r.lid.value, r.block, request.from.lid.value);
}

/// What Set and Delete have in common.
std::variant<Place, Refusal> locate(const World& world, const WriteRequest& request) {
  Place place;
  place.record = ib::wire::decode<GuidInfoRecord>(request.data.data());
  const auto& r = place.record;
  constexpr auto kNeeded = bit(guid_info_bit::kLid) | bit(guid_info_bit::kBlock);
  if ((request.mask & kNeeded) != kNeeded) return Refusal{status::kSaInsufficientComponents, {}};
  const auto refuse = [&](std::uint16_t why, std::string_view text) {
    return Refusal{why, fmt::format("{}: {}", describe(request, r), text)};
  };
  const auto* requester = request.requester.port;
  if (requester == nullptr)
    return refuse(status::kSaReqInvalid, "no port of the subnet has the LID it came from");
  place.port = world.paths->find(r.lid);
  if (place.port == nullptr || !world.policy.share(*requester, *place.port))
    return Refusal{status::kSaNoRecords, {}};
  const auto* seen = world.snapshot().observed->known_port(place.port->port);
  const unsigned capacity = seen == nullptr ? 0 : seen->get<&ib::wire::PortInfo::guid_cap>();
  if (r.block * kPerBlock >= capacity) return Refusal{status::kSaNoRecords, {}};
  if (!request.requester.trusted && place.port->port != requester->port)
    return refuse(status::kSaReqDenied,
                  "it is another port's; requests with the SA key may set aliases of others");
  for (unsigned i = 0; i < kPerBlock; ++i) {
    place.masked[i] = has_bit(request.mask, guid_info_bit::kGuid0 + i);
    if (!place.masked[i]) continue;
    if (r.block == 0 && i == 0)
      return refuse(status::kSaReqInvalid, "the first entry is the hardware's");
    if (r.block * kPerBlock + i >= capacity)
      return refuse(status::kSaReqInvalid, fmt::format("the port has {} entries", capacity));
  }
  return place;
}

/// A membership goes by the alias: it cannot outlive it.
bool is_in_a_group(const World& world, Guid alias) {
  return world.state.multicast.ports().contains(
      ib::Gid::from(world.snapshot().subnet_prefix, alias));
}

bool is_hardwares(const World& world, Guid guid) {
  return world.paths->find(guid) != nullptr ||
         world.snapshot().fabric().find_node(guid).has_value();
}

/// A port that is away has left something here which an alias would make somebody else's.
bool is_known(const World& world, Guid guid) {
  const auto& services = world.state.services.all();
  const auto& subscriptions = world.state.subscriptions.all();
  return is_in_a_group(world, guid) ||
         std::ranges::any_of(services, [&](const auto& s) { return s.second.owner == guid; }) ||
         std::ranges::any_of(subscriptions, [&](const auto& s) { return s.subscriber == guid; });
}

/// The block as it will be: the first entry the hardware's, then aliases.
std::vector<std::byte> reply_of_block(const Place& place,
                                      const std::array<Guid, kPerBlock>& entries) {
  GuidInfoRecord r = place.record;
  r.guid_info.guid = entries;
  return reply_of(r);
}

}  // namespace

Guid assigned_guid(const Aliases::Key& place, std::uint8_t byte, std::uint32_t n) {
  // A round of SplitMix64 over the place.
  std::uint64_t x = place.first.value + 0x9E3779B97F4A7C15ULL * (place.second + std::uint64_t{1});
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  x = (x ^ (x >> 31)) + n;
  return Guid{0x001405ULL << 40 | std::uint64_t{byte} << 32 | (x & 0xFFFFFF)};
}

Outcome register_aliases(const World& world, const WriteRequest& request) {
  auto located = locate(world, request);
  if (auto* refusal = std::get_if<Refusal>(&located)) return std::move(*refusal);
  const auto& place = std::get<Place>(located);

  Change change;
  std::array<Guid, kPerBlock> entries{};
  for (unsigned i = 0; i < kPerBlock; ++i) entries[i] = world.state.aliases.at(place.key(i));
  if (place.record.block == 0) entries[0] = place.port->guid;
  const auto taken = [&](Guid guid) {
    const auto& now = change.batch.aliases;
    return is_hardwares(world, guid) || is_known(world, guid) ||
           world.state.aliases.port_of(guid).value != 0 ||
           std::any_of(now.begin(), now.end(), [&](const auto& a) { return a.guid == guid; });
  };
  for (unsigned i = 0; i < kPerBlock; ++i) {
    if (!place.masked[i]) continue;
    Guid wanted = place.record.guid_info.guid[i];
    const Guid held = entries[i];
    if (wanted == held && held.value != 0) continue;
    if (wanted.value == 0) {
      if (held.value != 0) continue;
      for (std::uint32_t n = 0; n < kTriesMax && wanted.value == 0; ++n)
        if (const auto guid = assigned_guid(place.key(i), world.sm_assigned_guid, n); !taken(guid))
          wanted = guid;
      if (wanted.value == 0)
        return Refusal{status::kSaNoResources,
                       fmt::format("{}: no free GUID was found for entry {}",
                                   describe(request, place.record), i)};
    } else if (taken(wanted)) {
      // The answer says so by a 0; what the entry holds stays (IBA 15.2.5.18).
      entries[i] = Guid{};
      change.log.push_back(fmt::format("{}: {} is already in use", describe(request, place.record),
                                       to_string(wanted)));
      continue;
    }
    if (held.value != 0 && is_in_a_group(world, held))
      return Refusal{status::kSaReqDenied, fmt::format("{}: {} {}", describe(request, place.record),
                                                       to_string(held), kInAGroup)};
    entries[i] = wanted;
    change.batch.aliases.push_back({place.port->guid, place.key(i).second, wanted});
  }
  change.reply = reply_of_block(place, entries);
  return change;
}

Outcome remove_aliases(const World& world, const WriteRequest& request) {
  auto located = locate(world, request);
  if (auto* refusal = std::get_if<Refusal>(&located)) return std::move(*refusal);
  const auto& place = std::get<Place>(located);

  Change change;
  std::array<Guid, kPerBlock> entries{};
  for (unsigned i = 0; i < kPerBlock; ++i) {
    const auto key = place.key(i);
    entries[i] = world.state.aliases.at(key);
    if (!place.masked[i] || entries[i].value == 0) continue;
    if (is_in_a_group(world, entries[i]))
      return Refusal{status::kSaReqDenied, fmt::format("{}: {} {}", describe(request, place.record),
                                                       to_string(entries[i]), kInAGroup)};
    entries[i] = Guid{};
    change.batch.aliases.push_back({key.first, key.second, Guid{}});
  }
  if (place.record.block == 0) entries[0] = place.port->guid;
  change.reply = reply_of_block(place, entries);
  return change;
}

std::vector<store::AliasGuid> taken_from_ports(const World& world) {
  std::vector<store::AliasGuid> found;
  for (const auto& [place, guid] : world.state.aliases.all())
    if (world.snapshot().fabric().find_port_guid(guid))
      found.push_back({place.first, place.second, guid});
  return found;
}

Change give_to_ports(const World& world, const std::vector<store::AliasGuid>& aliases) {
  std::vector<ib::Gid> members;
  std::vector<store::AliasGuid> still;
  for (const auto& alias : aliases) {
    if (world.state.aliases.at({alias.port_guid, alias.index}) != alias.guid) continue;
    members.push_back(ib::Gid::from(world.snapshot().subnet_prefix, alias.guid));
    still.push_back(alias);
  }
  Change change = drop_members(world, members);
  for (const auto& alias : still) {
    change.batch.aliases.push_back({alias.port_guid, alias.index, Guid{}});
    change.log.push_back(
        fmt::format("alias GUID {} of port {} (entry {}) is withdrawn: it is the GUID of a port "
                    "that has come (back) to the subnet; register another one",
                    to_string(alias.guid), to_string(alias.port_guid), alias.index));
  }
  return change;
}

std::vector<Aliases::Key> emptied(const World& world) {
  std::vector<Aliases::Key> places;
  if (!world.paths) return places;
  const auto& fabric = world.snapshot().fabric();
  for (const auto& place : world.state.aliases.given_back()) {
    const auto port = fabric.find_port_guid(place.first);
    if (!port) continue;
    const device::Slot slot{port->port, 0, static_cast<std::uint16_t>(place.second / kPerBlock)};
    const auto* block =
        world.device_state->tables->held(device::kGuidInfo, fabric.node(port->node).guid, slot);
    if (block == nullptr) continue;
    const auto held = ib::wire::decode<ib::wire::GuidInfo>(block->data());
    if (held.guid[place.second % kPerBlock].value == 0) places.push_back(place);
  }
  return places;
}

}  // namespace sm::sa
