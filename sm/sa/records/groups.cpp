// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// MCMemberRecord as it is read (IBA 15.2.5.17): one a group; to a trusted client, or where a port
// is named, one a member.
#include <optional>
#include <utility>

#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::wire::McMemberRecord;

/// A value without its selector is compared as it stands. By its selector the packet life is only
/// asked for, which nobody joins by.
bool is_value_meant(const store::McGroup& group, const McMemberRecord& wanted, std::uint64_t mask) {
  const auto differs = [&](unsigned selector, unsigned value, bool same) {
    return has_bit(mask, value) && !has_bit(mask, selector) && !same;
  };
  return !differs(mc_bit::kMtuSelector, mc_bit::kMtu, group.mtu == wanted.mtu) &&
         !differs(mc_bit::kRateSelector, mc_bit::kRate, group.rate == wanted.rate) &&
         !differs(mc_bit::kLifeSelector, mc_bit::kLife, group.packet_life == wanted.packet_life) &&
         (!has_bit(mask, mc_bit::kLifeSelector) || !has_bit(mask, mc_bit::kLife) ||
          satisfies(wanted.packet_life_selector, int{group.packet_life} - int{wanted.packet_life}));
}

bool is_group_meant(const store::McGroup& group, const McMemberRecord& wanted, std::uint64_t mask) {
  const auto differs = [&](unsigned n, bool same) { return has_bit(mask, n) && !same; };
  return !differs(mc_bit::kMgid, group.mgid == wanted.mgid) &&
         !differs(mc_bit::kMlid, group.mlid == wanted.mlid) &&
         !differs(mc_bit::kScope, group.scope == wanted.scope) &&
         parameters_agree(group, wanted, mask) && is_value_meant(group, wanted, mask) &&
         selectors_agree(group, wanted, mask);
}

/// Group after group by MGID, and in it member after member by PortGID. Where it goes on with the
/// next step is said by these two, as in KeyWalk.
class GroupSource final : public RecordSource {
 public:
  GroupSource(const World& world, const Query& query, const McMemberRecord& wanted)
      : RecordSource(ib::wire::LayoutOf<McMemberRecord>::kBytes),
        paths_(world.paths),
        policy_(world.policy),
        requester_(query.requester),
        mask_(query.mask),
        wanted_(wanted),
        groups_(world.state.multicast.groups()) {}

 private:
  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) override {
    for (auto group = first(); is_in_range(group); ++group, inside_ = false) {
      if (!inside_) {
        if (looked_at == most) return Found::NotYet;
        ++looked_at;
        group_ = group->first;
        member_.reset();
      }
      // A group may have come back as another between two steps.
      if (!is_shown(group->second.values)) continue;
      if (!by_member()) {
        if (give(to_record(group->second.values), record)) return Found::Record;
        continue;
      }
      inside_ = true;
      const auto& members = group->second.members;
      for (auto member = next_of(members); member != members.end(); ++member) {
        if (named_port() && member->port_gid != wanted_.port_gid) break;
        if (looked_at == most) return Found::NotYet;
        ++looked_at;
        member_ = member->port_gid;
        if (give(record_of(group->second.values, *member), record)) return Found::Record;
      }
    }
    return Found::Nothing;
  }

  bool named_port() const { return has_bit(mask_, mc_bit::kPortGid); }
  bool named_group() const { return has_bit(mask_, mc_bit::kMgid); }
  bool by_member() const { return requester_.trusted || named_port(); }

  Multicast::Groups::const_iterator first() {
    if (!group_) return named_group() ? groups_.lower_bound(wanted_.mgid) : groups_.begin();
    if (!inside_) return groups_.upper_bound(*group_);
    const auto at = groups_.lower_bound(*group_);
    inside_ = at != groups_.end() && at->first == *group_;
    return at;
  }
  bool is_in_range(Multicast::Groups::const_iterator group) const {
    if (group == groups_.end() || requester_.port == nullptr) return false;
    return !named_group() || group->first == wanted_.mgid;
  }
  /// A group is shown to its partition.
  bool is_shown(const store::McGroup& group) const {
    return policy_.holds(*requester_.port, group.p_key) && is_group_meant(group, wanted_, mask_);
  }
  Multicast::Members::const_iterator next_of(const Multicast::Members& members) const {
    if (member_) return members.upper_bound(*member_);
    return named_port() ? members.lower_bound(wanted_.port_gid) : members.begin();
  }

  McMemberRecord record_of(const store::McGroup& group, const store::McMember& member) const {
    auto record = to_record(group);
    if (requester_.trusted) {
      record.port_gid = member.port_gid;
      record.join_state = member.join_state;
      record.proxy_join = member.proxy_join;
    }
    return record;
  }
  bool give(const McMemberRecord& made, std::byte* to) const {
    if (has_bit(mask_, mc_bit::kJoinState) && made.join_state != wanted_.join_state) return false;
    if (has_bit(mask_, mc_bit::kProxyJoin) && made.proxy_join != wanted_.proxy_join) return false;
    put(made, to, record_bytes());
    return true;
  }

  std::shared_ptr<const Paths> paths_;  // the requester's port is one of these
  const Policy& policy_;
  Requester requester_;
  std::uint64_t mask_;
  McMemberRecord wanted_;
  const Multicast::Groups& groups_;
  std::optional<Gid> group_;   // looked at
  bool inside_{false};         // its members are not all looked at
  std::optional<Gid> member_;  // of these looked at
};

}  // namespace

Opened open_groups(const World& world, const Query& query) {
  auto wanted = ib::wire::decode<McMemberRecord>(query.wanted.data());
  // The incumbent's ProxyJoin is the byte's lowest bit where the specification has the highest, and
  // so is that of its clients: both are read, ours is sent.
  constexpr std::size_t kProxyJoinByte = 49;
  if ((query.wanted[kProxyJoinByte] & std::byte{0x81}) != std::byte{0}) wanted.proxy_join = true;
  if (!valid_selectors(wanted, query.mask)) return ib::wire::status::kSaReqInvalid;
  if (wanted.port_gid.prefix() == ib::kDefaultSubnetPrefix)
    wanted.port_gid = Gid::from(world.snapshot().subnet_prefix, wanted.port_gid.guid());
  return std::make_unique<GroupSource>(world, query, wanted);
}

}  // namespace sm::sa
