// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MCMemberRecord as it is read (IBA 15.2.5.17): one a group; to a trusted client, or where a port
// is named, one a member.
#include <ranges>
#include <utility>

#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::wire::McMemberRecord;

/// A value without its selector is compared as it stands.
bool is_value_meant(const store::McGroup& group, const McMemberRecord& wanted, std::uint64_t mask) {
  const auto differs = [&](unsigned selector, unsigned value, bool same) {
    return has_bit(mask, value) && !has_bit(mask, selector) && !same;
  };
  return !differs(mc_bit::kMtuSelector, mc_bit::kMtu, group.mtu == wanted.mtu) &&
         !differs(mc_bit::kRateSelector, mc_bit::kRate, group.rate == wanted.rate) &&
         !differs(mc_bit::kLifeSelector, mc_bit::kLife, group.packet_life == wanted.packet_life);
}

bool is_group_meant(const store::McGroup& group, const McMemberRecord& wanted, std::uint64_t mask) {
  const auto differs = [&](unsigned n, bool same) { return has_bit(mask, n) && !same; };
  return !differs(mc_bit::kMgid, group.mgid == wanted.mgid) &&
         !differs(mc_bit::kMlid, group.mlid == wanted.mlid) &&
         !differs(mc_bit::kScope, group.scope == wanted.scope) &&
         parameters_agree(group, wanted, mask) && is_value_meant(group, wanted, mask) &&
         selectors_agree(group, wanted, mask);
}

}  // namespace

Opened open_groups(const World& world, const Query& query) {
  auto wanted = ib::wire::decode<McMemberRecord>(query.wanted.data());
  // The incumbent's ProxyJoin is the byte's lowest bit where the specification has the highest, and
  // so is that of its clients: both are read, ours is sent.
  constexpr std::size_t kProxyJoinByte = 49;
  if ((query.wanted[kProxyJoinByte] & std::byte{0x81}) != std::byte{0}) wanted.proxy_join = true;
  const std::uint64_t mask = query.mask;
  if (!valid_selectors(wanted, mask)) return ib::wire::status::kSaReqInvalid;
  if (wanted.port_gid.prefix() == ib::kDefaultSubnetPrefix)
    wanted.port_gid = Gid::from(world.snapshot().subnet_prefix, wanted.port_gid.guid());
  std::vector<McMemberRecord> records;
  const auto add = [&](const McMemberRecord& record) {
    if (has_bit(mask, mc_bit::kJoinState) && record.join_state != wanted.join_state) return;
    if (has_bit(mask, mc_bit::kProxyJoin) && record.proxy_join != wanted.proxy_join) return;
    records.push_back(record);
  };
  const Multicast& multicast = world.state.multicast;
  const bool trusted = query.requester.trusted;
  if (query.requester.port == nullptr) return listed(std::move(records));
  const auto& groups = multicast.groups();
  const auto [first, end] = has_bit(mask, mc_bit::kMgid) ? groups.equal_range(wanted.mgid)
                                                         : std::pair(groups.begin(), groups.end());
  for (const auto& [mgid, known] : std::ranges::subrange(first, end)) {
    const auto& group = known.values;
    // A group is shown to its partition.
    if (!world.policy.holds(*query.requester.port, group.p_key)) continue;
    if (!is_group_meant(group, wanted, mask)) continue;
    if (!trusted && !has_bit(mask, mc_bit::kPortGid)) {
      add(to_record(group));
      continue;
    }
    for (const auto& member : known.members) {
      if (has_bit(mask, mc_bit::kPortGid) && member.port_gid != wanted.port_gid) continue;
      auto record = to_record(group);
      if (trusted) {
        record.port_gid = member.port_gid;
        record.join_state = member.join_state;
        record.proxy_join = member.proxy_join;
      }
      add(record);
    }
  }
  return listed(std::move(records));
}

}  // namespace sm::sa
