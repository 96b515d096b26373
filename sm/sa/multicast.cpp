// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/multicast.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "libdiag/wire/rates.h"
#include "sm/sa/mask.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::Guid;
using ib::Lid;
using ib::PKey;
using ib::wire::McMemberRecord;
using ib::wire::Selector;
using store::McGroup;
using store::McMember;
namespace status = ib::wire::status;

constexpr std::uint16_t kSignatureIpv4 = 0x401b, kSignatureIpv6 = 0x601b, kSignatureSa = 0xa01b;
constexpr std::uint8_t kScopeLinkLocal = 2;
constexpr std::uint8_t kMtuMin = 1, kMtuMax = 5;
constexpr std::uint8_t kAllJoinStates = 0x0F;

bool is_mtu(std::uint8_t code) { return code >= kMtuMin && code <= kMtuMax; }
bool is_rate(std::uint8_t code) { return ib::wire::rate_gbps(code) > 0; }
bool both(std::uint64_t mask, unsigned a, unsigned b) {
  return has_bit(mask, a) && has_bit(mask, b);
}

/// `order` is <0, 0, >0 as the offered value is below, equal to, above the wanted one.
bool satisfies(Selector selector, int order) {
  switch (selector) {
    case Selector::GreaterThan:
      return order > 0;
    case Selector::LessThan:
      return order < 0;
    case Selector::Exactly:
      return order == 0;
    case Selector::Largest:
      return true;
  }
  return false;
}

std::uint16_t signature(const Gid& mgid) {
  return static_cast<std::uint16_t>(mgid.bytes[2] << 8 | mgid.bytes[3]);
}
std::uint8_t scope_of(const Gid& mgid) { return mgid.bytes[1] & 0x0F; }

/// ff1<scope>:401b:<pkey>::ffff:ffff
Gid ipv4_broadcast(std::uint8_t scope, std::uint16_t p_key) {
  Gid g;
  g.bytes = {0xFF, static_cast<std::uint8_t>(0x10 | scope), 0x40, 0x1b};
  g.bytes[4] = static_cast<std::uint8_t>(p_key >> 8);
  g.bytes[5] = static_cast<std::uint8_t>(p_key);
  std::fill(g.bytes.begin() + 12, g.bytes.end(), std::uint8_t{0xFF});
  return g;
}

/// Every port is a full member of the default partition and of no other.
bool holds(const EndPort&, PKey p_key) { return p_key.base() == ib::kDefaultPKey.base(); }

std::uint8_t state_after_leaving(const McMember& member, std::uint8_t leaving) {
  return member.join_state & static_cast<std::uint8_t>(~leaving);
}
bool keeps_group_alive(std::uint8_t state) {
  return (state & (join_state::kFull | join_state::kSendOnlyFull)) != 0;
}
bool receives(std::uint8_t state) { return (state & (join_state::kFull | join_state::kNon)) != 0; }

}  // namespace

McGroup default_ipoib_group() {
  McGroup g;
  g.mgid = ipv4_broadcast(kScopeLinkLocal, ib::kDefaultPKey.value);
  g.mlid = ib::kLidMulticastMin;
  g.q_key = 0x0b1b;
  g.p_key = ib::kDefaultPKey;
  g.mtu = 4;   // 2048
  g.rate = 3;  // 10 Gb/s
  g.packet_life = 18;
  g.scope = kScopeLinkLocal;
  g.well_known = true;
  return g;
}

McMemberRecord to_record(const McGroup& g) {
  McMemberRecord r;
  r.mgid = g.mgid;
  r.q_key = g.q_key;
  r.mlid = g.mlid;
  r.mtu_selector = r.rate_selector = r.packet_life_selector = Selector::Exactly;
  r.mtu = g.mtu;
  r.rate = g.rate;
  r.packet_life = g.packet_life;
  r.traffic_class = g.traffic_class;
  r.p_key = g.p_key;
  r.sl = g.sl;
  r.flow_label = g.flow_label;
  r.hop_limit = g.hop_limit;
  r.scope = g.scope;
  return r;
}

bool valid_selectors(const McMemberRecord& r, std::uint64_t mask) {
  if (both(mask, mc_bit::kMtuSelector, mc_bit::kMtu) && !is_mtu(r.mtu)) return false;
  return !both(mask, mc_bit::kRateSelector, mc_bit::kRate) || is_rate(r.rate);
}

bool selectors_agree(const McGroup& g, const McMemberRecord& wanted, std::uint64_t mask) {
  if (both(mask, mc_bit::kMtuSelector, mc_bit::kMtu) &&
      !satisfies(wanted.mtu_selector, int{g.mtu} - int{wanted.mtu}))
    return false;
  return !both(mask, mc_bit::kRateSelector, mc_bit::kRate) ||
         satisfies(wanted.rate_selector, ib::wire::compare_rates(g.rate, wanted.rate));
}

bool parameters_agree(const McGroup& g, const McMemberRecord& w, std::uint64_t mask) {
  const auto differs = [&](unsigned n, bool same) { return has_bit(mask, n) && !same; };
  // Keys agree when one side at least is a full member's (IBA 10.9.3).
  const bool p_key_same =
      g.p_key.base() == w.p_key.base() && (g.p_key.is_full() || w.p_key.is_full());
  return !(differs(mc_bit::kQKey, g.q_key == w.q_key) || differs(mc_bit::kPKey, p_key_same) ||
           differs(mc_bit::kTClass, g.traffic_class == w.traffic_class) ||
           differs(mc_bit::kSl, g.sl == w.sl) ||
           differs(mc_bit::kFlowLabel, g.flow_label == w.flow_label) ||
           differs(mc_bit::kHopLimit, g.hop_limit == w.hop_limit));
}

Lid mlid_max(const Snapshot& snapshot) {
  // 0xFFFE is the last; a switch without a multicast table forwards none and limits nobody.
  unsigned capacity = 0xFFFF - ib::kLidMulticastMin.value;
  for (const auto& node : snapshot.observed->nodes)
    if (node.switch_info && node.switch_info->multicast_fdb_cap != 0)
      capacity = std::min<unsigned>(capacity, node.switch_info->multicast_fdb_cap);
  return Lid{static_cast<std::uint16_t>(ib::kLidMulticastMin.value + capacity - 1)};
}

Multicast::Multicast(const store::Contents& contents) {
  contents_.groups = contents.groups;
  contents_.members = contents.members;
}

void Multicast::apply(const store::Batch& batch) {
  store::Batch ours;
  ours.groups_removed = batch.groups_removed;
  ours.groups = batch.groups;
  ours.members = batch.members;
  store::apply(ours, contents_);
}

const McGroup* Multicast::find(const Gid& mgid) const {
  const auto at = std::lower_bound(contents_.groups.begin(), contents_.groups.end(), mgid,
                                   [](const McGroup& g, const Gid& m) { return g.mgid < m; });
  return at != contents_.groups.end() && at->mgid == mgid ? &*at : nullptr;
}

std::span<const McMember> Multicast::members(const Gid& mgid) const {
  const auto& all = contents_.members;
  const auto first = std::lower_bound(all.begin(), all.end(), mgid,
                                      [](const McMember& m, const Gid& g) { return m.mgid < g; });
  const auto last = std::upper_bound(first, all.end(), mgid,
                                     [](const Gid& g, const McMember& m) { return g < m.mgid; });
  return {first, last};
}

const McMember* Multicast::find_member(const Gid& mgid, const Gid& port) const {
  const auto list = members(mgid);
  const auto at = std::lower_bound(list.begin(), list.end(), port,
                                   [](const McMember& m, const Gid& g) { return m.port_gid < g; });
  return at != list.end() && at->port_gid == port ? &*at : nullptr;
}

Lid Multicast::free_mlid(Lid max) const {
  std::vector<bool> taken(std::size_t{max.value} - ib::kLidMulticastMin.value + 1);
  for (const auto& g : contents_.groups)
    if (g.mlid.is_multicast() && g.mlid <= max)
      taken[g.mlid.value - ib::kLidMulticastMin.value] = true;
  const auto at = std::find(taken.begin(), taken.end(), false);
  if (at == taken.end()) return ib::kNoLid;
  return Lid{static_cast<std::uint16_t>(ib::kLidMulticastMin.value + (at - taken.begin()))};
}

/// ff1<scope>:a01b:<subnet prefix>:<counter>: unique beyond the subnet, as IBA 15.2.5.17 wants.
Gid Multicast::free_mgid(std::uint8_t scope, std::uint64_t prefix) const {
  for (std::uint32_t counter = 1;; ++counter) {
    Gid g;
    g.bytes = {0xFF, static_cast<std::uint8_t>(0x10 | scope), 0xa0, 0x1b};
    for (unsigned i = 0; i < 8; ++i)
      g.bytes[4 + i] = static_cast<std::uint8_t>(prefix >> (56 - 8 * i));
    for (unsigned i = 0; i < 4; ++i)
      g.bytes[12 + i] = static_cast<std::uint8_t>(counter >> (24 - 8 * i));
    if (find(g) == nullptr) return g;
  }
}

namespace {

/// The greatest MTU the port and the request allow; 0 when there is none.
std::uint8_t choose_mtu(const McMemberRecord& r, std::uint64_t mask, std::uint8_t port_mtu) {
  if (!both(mask, mc_bit::kMtuSelector, mc_bit::kMtu)) return port_mtu;
  switch (r.mtu_selector) {
    case Selector::GreaterThan:
      return r.mtu >= port_mtu ? std::uint8_t{0} : port_mtu;
    case Selector::LessThan:
      return std::min(port_mtu, static_cast<std::uint8_t>(r.mtu - 1));
    case Selector::Exactly:
      return r.mtu;
    case Selector::Largest:
      return port_mtu;
  }
  return 0;
}
std::uint8_t choose_rate(const McMemberRecord& r, std::uint64_t mask, std::uint8_t port_rate) {
  using ib::wire::compare_rates;
  if (!both(mask, mc_bit::kRateSelector, mc_bit::kRate)) return port_rate;
  switch (r.rate_selector) {
    case Selector::GreaterThan:
      return compare_rates(r.rate, port_rate) >= 0 ? std::uint8_t{0} : port_rate;
    case Selector::LessThan: {
      const auto below = ib::wire::next_slower_rate(r.rate).value_or(0);
      return compare_rates(port_rate, r.rate) < 0 ? port_rate : below;
    }
    case Selector::Exactly:
      return r.rate;
    case Selector::Largest:
      return port_rate;
  }
  return 0;
}

/// An MGID that a client may choose: multicast, no reserved flag, and no link-local one of ours.
bool valid_mgid(const Gid& mgid) {
  if (mgid.bytes[0] != 0xFF || (mgid.bytes[1] & 0xE0) != 0) return false;
  return signature(mgid) != kSignatureSa || scope_of(mgid) != kScopeLinkLocal;
}

}  // namespace

std::variant<McGroup, std::uint16_t> Multicast::create(const Paths& paths,
                                                       const MembershipRequest& request,
                                                       const EndPort& port) const {
  const auto& r = request.record;
  if (!keeps_group_alive(r.join_state)) return status::kSaReqInvalid;
  constexpr auto kNeeded = bit(mc_bit::kQKey) | bit(mc_bit::kTClass) | bit(mc_bit::kPKey) |
                           bit(mc_bit::kFlowLabel) | bit(mc_bit::kSl);
  if ((request.mask & kNeeded) != kNeeded) return status::kSaInsufficientComponents;

  McGroup g;
  g.q_key = r.q_key;
  g.p_key = r.p_key;
  g.traffic_class = r.traffic_class;
  g.sl = r.sl;
  g.flow_label = r.flow_label;
  g.hop_limit = has_bit(request.mask, mc_bit::kHopLimit) ? r.hop_limit : std::uint8_t{0};
  g.packet_life = paths.snapshot().subnet_timeout;
  if (both(request.mask, mc_bit::kLifeSelector, mc_bit::kLife) &&
      r.packet_life_selector == Selector::Exactly)
    g.packet_life = r.packet_life;

  if (r.mgid.is_zero()) {
    const bool scoped = has_bit(request.mask, mc_bit::kScope) && r.scope != 0;
    g.mgid = free_mgid(scoped ? r.scope : kScopeLinkLocal, paths.snapshot().subnet_prefix);
  } else {
    if (!valid_mgid(r.mgid)) return status::kSaReqInvalid;
    g.mgid = r.mgid;
  }
  g.scope = scope_of(g.mgid);

  const auto sign = signature(g.mgid);
  const auto p_key = static_cast<std::uint16_t>(g.mgid.bytes[4] << 8 | g.mgid.bytes[5]);
  const Gid broadcast = ipv4_broadcast(g.scope, p_key);
  if ((sign == kSignatureIpv4 || sign == kSignatureIpv6) && g.mgid != broadcast) {
    // An IPoIB group lives by the parameters of its link's broadcast group (RFC 4391 section 6).
    const auto* link = find(broadcast);
    if (link == nullptr || !parameters_agree(*link, r, request.mask)) return status::kSaReqInvalid;
  }

  const auto own = paths.own(port);
  g.mtu = choose_mtu(r, request.mask, own.mtu);
  g.rate = choose_rate(r, request.mask, own.rate);
  if (!is_mtu(g.mtu) || !is_rate(g.rate)) return status::kSaReqInvalid;

  const Lid max = mlid_max(paths.snapshot());
  if (has_bit(request.mask, mc_bit::kMlid) && r.mlid.is_multicast() && r.mlid <= max &&
      std::none_of(contents_.groups.begin(), contents_.groups.end(),
                   [&](const McGroup& other) { return other.mlid == r.mlid; })) {
    g.mlid = r.mlid;
  } else {
    g.mlid = free_mlid(max);
  }
  if (g.mlid == ib::kNoLid) return status::kSaNoResources;
  return g;
}

Outcome Multicast::join(const Paths& paths, const MembershipRequest& request) const {
  const auto& r = request.record;
  constexpr auto kNeeded = bit(mc_bit::kMgid) | bit(mc_bit::kPortGid) | bit(mc_bit::kJoinState);
  if ((request.mask & kNeeded) != kNeeded) return Refusal{status::kSaInsufficientComponents, {}};
  if (!valid_selectors(r, request.mask)) return Refusal{status::kSaReqInvalid, {}};

  const auto prefix = paths.snapshot().subnet_prefix;
  if (r.port_gid.prefix() != prefix && r.port_gid.prefix() != ib::kDefaultSubnetPrefix)
    return Refusal{status::kSaInvalidGid, {}};
  const Gid port_gid = Gid::from(prefix, r.port_gid.guid());
  const EndPort* port = paths.find(port_gid.guid());
  if (port == nullptr || request.requester == nullptr) return Refusal{status::kSaReqInvalid, {}};
  const bool proxy = request.requester->port != port->port;
  if (has_bit(request.mask, mc_bit::kPKey) && r.p_key.base() == 0)
    return Refusal{status::kSaReqInvalid, {}};
  if ((r.join_state & kAllJoinStates) == 0) return Refusal{status::kSaReqInvalid, {}};

  Change change;
  McMemberRecord reply;
  McGroup group;
  if (const auto* known = find(r.mgid)) {
    if (!parameters_agree(*known, r, request.mask) || !selectors_agree(*known, r, request.mask))
      return Refusal{status::kSaReqInvalid, {}};
    group = *known;
  } else {
    auto made = create(paths, request, *port);
    if (const auto* refusal = std::get_if<std::uint16_t>(&made)) return Refusal{*refusal, {}};
    group = std::get<McGroup>(made);
    change.batch.groups.push_back(group);
  }

  // The port must be able to take what the group sends.
  const auto own = paths.own(*port);
  if (own.mtu < group.mtu || ib::wire::compare_rates(own.rate, group.rate) < 0)
    return Refusal{status::kSaReqInvalid, {}};
  if (!holds(*port, group.p_key)) return Refusal{status::kSaReqInvalid, {}};

  const auto* before = find_member(group.mgid, port_gid);
  // Only the port itself may change what it joined itself.
  if (before != nullptr && !before->proxy_join && proxy) return Refusal{status::kSaReqInvalid, {}};

  McMember member{group.mgid, port_gid, r.join_state, proxy};
  if (before != nullptr) {
    member.join_state |= before->join_state;
    member.proxy_join = before->proxy_join;
  }
  change.routes_change = before == nullptr || before->join_state != member.join_state;
  if (change.routes_change) change.batch.members.push_back(member);
  reply = to_record(group);
  reply.port_gid = r.port_gid;  // with the prefix it was asked with
  reply.join_state = member.join_state;
  reply.proxy_join = member.proxy_join;
  change.reply = reply_of(reply);
  return change;
}

Outcome Multicast::leave(const Paths& paths, const MembershipRequest& request) const {
  const auto& r = request.record;
  constexpr auto kNeeded = bit(mc_bit::kMgid) | bit(mc_bit::kPortGid) | bit(mc_bit::kJoinState);
  if ((request.mask & kNeeded) != kNeeded) return Refusal{status::kSaInsufficientComponents, {}};
  const auto prefix = paths.snapshot().subnet_prefix;
  if (r.port_gid.prefix() != prefix && r.port_gid.prefix() != ib::kDefaultSubnetPrefix)
    return Refusal{status::kSaInvalidGid, {}};
  const Gid port_gid = Gid::from(prefix, r.port_gid.guid());

  const auto* group = find(r.mgid);
  const auto* member = find_member(r.mgid, port_gid);
  if (group == nullptr || member == nullptr || request.requester == nullptr)
    return Refusal{status::kSaReqInvalid, {}};
  if (r.join_state == 0 || (r.join_state & ~member->join_state) != 0)
    return Refusal{status::kSaReqInvalid, {}};
  if (!member->proxy_join && request.requester->guid != port_gid.guid())
    return Refusal{status::kSaReqInvalid, {}};

  Change change;
  McMemberRecord reply;
  change.routes_change = true;
  const std::uint8_t left = state_after_leaving(*member, r.join_state);
  // Without a full member a group has no reason to be, and the others are sent home with it.
  bool alive = keeps_group_alive(left) || group->well_known;
  for (const auto& other : members(r.mgid))
    alive = alive || (other.port_gid != port_gid && keeps_group_alive(other.join_state));
  if (alive) {
    change.batch.members.push_back({r.mgid, port_gid, left, member->proxy_join});
  } else {
    change.batch.groups_removed.push_back(r.mgid);
  }
  reply = to_record(*group);
  reply.port_gid = r.port_gid;
  reply.join_state = alive ? left : std::uint8_t{0};
  reply.proxy_join = member->proxy_join;
  change.reply = reply_of(reply);
  return change;
}

std::vector<MlidMembers> Multicast::by_mlid() const {
  std::map<Lid, MlidMembers> found;
  for (const auto& group : contents_.groups) {
    auto& entry = found[group.mlid];
    entry.mlid = group.mlid;
    entry.sls |= static_cast<std::uint16_t>(1U << (group.sl.value & 15U));
    for (const auto& member : members(group.mgid))
      (receives(member.join_state) ? entry.receivers : entry.senders)
          .push_back(member.port_gid.guid());
  }
  std::vector<MlidMembers> list;
  for (auto& [mlid, entry] : found) {
    for (auto* guids : {&entry.receivers, &entry.senders}) {
      std::sort(guids->begin(), guids->end());
      guids->erase(std::unique(guids->begin(), guids->end()), guids->end());
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace sm::sa
