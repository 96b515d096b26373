// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/router_aliases.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "sm/sa/registry/membership.h"

namespace sm::sa {
namespace {

using ib::Guid;

constexpr std::uint64_t kOui = 0x001405;

/// Entries that the port's GUIDInfo has.
unsigned capacity_of(const World& world, const EndPort& port) {
  const auto* seen = world.snapshot().observed->known_port(port.port);
  return seen == nullptr ? 0 : seen->get<&ib::wire::PortInfo::guid_cap>();
}

/// Where the port's alias is or comes: where it has one, else the first free entry. None: all of
/// its entries are taken.
std::optional<Aliases::Key> place_of(const World& world, const EndPort& port) {
  for (const auto& [place, guid] : world.state.aliases.of(port.guid))
    if (is_router_alias(guid)) return place;
  const unsigned capacity = capacity_of(world, port);
  for (unsigned entry = 1; entry < capacity; ++entry) {
    const Aliases::Key place{port.guid, static_cast<std::uint16_t>(entry)};
    if (world.state.aliases.at(place) == Guid{}) return place;
  }
  return std::nullopt;
}

/// By place, what host ports of the subnet are to have.
std::map<Aliases::Key, Guid> wanted_aliases(const World& world) {
  std::map<Aliases::Key, Guid> wanted;
  if (world.router_aliases != RouterAliases::Make) return wanted;
  const auto& fabric = world.snapshot().fabric();
  for (const EndPort& port : world.paths->end_ports()) {
    const bool is_host = fabric.node(port.port.node).type == ib::wire::NodeType::ChannelAdapter;
    if (!is_host || !port.lid.is_unicast() || port.has_rivals) continue;
    if (const auto place = place_of(world, port))
      wanted[*place] = router_alias(port.lid, world.sm_assigned_guid);
  }
  return wanted;
}

}  // namespace

Guid router_alias(ib::Lid lid, std::uint8_t byte) {
  return Guid{kOui << 40 | std::uint64_t{byte} << 32 | std::uint64_t{1} << 24 | lid.value};
}

bool is_router_alias(Guid guid) {
  return guid.value >> 40 == kOui && (guid.value >> 16 & 0xFFFF) == 0x0100;
}

Change bring_router_aliases(const World& world) {
  if (world.router_aliases == RouterAliases::Leave) return {};
  auto wanted = wanted_aliases(world);
  std::map<Guid, Aliases::Key> holders;
  for (const auto& [place, guid] : wanted) holders.emplace(guid, place);
  const bool is_made = world.router_aliases == RouterAliases::Make;
  std::vector<store::AliasGuid> batch;
  std::vector<ib::Gid> gone;
  for (const auto& [place, guid] : world.state.aliases.all()) {
    if (!is_router_alias(guid)) continue;
    const auto here = wanted.find(place);
    if (here != wanted.end() && here->second == guid) {
      wanted.erase(here);
      continue;
    }
    // Of a port that is away it stays, for as long as nobody else has the LID.
    const bool is_away = world.paths->find(place.first) == nullptr;
    if (is_made && is_away && !holders.contains(guid)) continue;
    gone.push_back(ib::Gid::from(world.snapshot().subnet_prefix, guid));
    if (here == wanted.end()) batch.push_back({place.first, place.second, Guid{}});
  }
  const std::size_t taken_back = batch.size();
  for (const auto& [place, guid] : wanted) batch.push_back({place.first, place.second, guid});
  if (batch.empty()) return {};
  Change change = drop_members(world, gone);
  change.log.push_back(
      fmt::format("rtr_aguid_enable: {} ports get the alias GUID that ends with their LID, {} are "
                  "taken back",
                  batch.size() - taken_back, taken_back));
  change.batch.aliases = std::move(batch);
  return change;
}

}  // namespace sm::sa
