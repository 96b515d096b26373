// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "libdiag/base/text.h"
#include "libdiag/wire/rates.h"
#include "sm/sa/registry/mask.h"
#include "sm/sa/registry/notices.h"
#include "sm/sa/subnet/unreachable_nodes.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::Guid;
using ib::Lid;
using ib::wire::compare_rates;
using ib::wire::McMemberRecord;
using ib::wire::Selector;
using store::McGroup;
using store::McMember;
namespace status = ib::wire::status;

constexpr std::uint16_t kSignatureIpv4 = 0x401b, kSignatureIpv6 = 0x601b, kSignatureSa = 0xa01b;
constexpr std::uint8_t kScopeLinkLocal = 2;
// ff1<scope>:601b:<P_Key>:0:0:1:ff..: the first 13 bytes of solicited-node groups of a partition.
constexpr std::size_t kSolicitedNodePrefix = 13;

bool is_mtu(std::uint8_t code) { return ib::wire::mtu_bytes(code) != 0; }
bool is_rate(std::uint8_t code) { return ib::wire::rate_gbps(code) > 0; }

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

bool is_solicited_node(const Gid& mgid) {
  constexpr std::array<std::uint8_t, 7> kMiddle{0, 0, 0, 0, 0, 1, 0xFF};
  return mgid.bytes[0] == 0xFF && (mgid.bytes[1] & 0xF0) == 0x10 &&
         signature(mgid) == kSignatureIpv6 &&
         std::equal(kMiddle.begin(), kMiddle.end(), mgid.bytes.begin() + 6);
}

/// An MGID that a client may choose: multicast, no reserved flag, and no link-local one of ours.
bool is_well_formed(const Gid& mgid) {
  if (!mgid.is_multicast() || (mgid.bytes[1] & 0xE0) != 0) return false;
  return signature(mgid) != kSignatureSa || scope_of(mgid) != kScopeLinkLocal;
}

/// The greatest MTU the port and the request allow; 0 when there is none.
std::uint8_t choose_mtu(const McMemberRecord& r, std::uint64_t mask, std::uint8_t port_mtu) {
  if (!has_both(mask, mc_bit::kMtuSelector, mc_bit::kMtu)) return port_mtu;
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
  if (!has_both(mask, mc_bit::kRateSelector, mc_bit::kRate)) return port_rate;
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

/// A request about a membership, with what its GIDs and LID stand for.
struct MemberRequest {
  McMemberRecord record;
  std::uint64_t mask{};
  Gid port_gid;           // with our prefix; may be that of an alias
  const EndPort* port{};  // whose it is; nullptr: nobody's
  const EndPort* requester{};

  bool has(unsigned n) const { return has_bit(mask, n); }
  bool has_both(unsigned a, unsigned b) const { return sa::has_both(mask, a, b); }
  bool is_proxy() const { return port == nullptr || requester->port != port->port; }
};

class Rules {
 public:
  Rules(const World& world, const WriteRequest& request)
      : world_(world),
        options_(world.policy.multicast),
        trusted_(request.requester.trusted),
        verb_(request.method == ib::wire::Method::Delete ? "leave" : "join") {
    m_.record = ib::wire::decode<McMemberRecord>(request.data.data());
    m_.mask = request.mask;
    m_.requester = request.requester.port;
    const auto prefix = world.snapshot().subnet_prefix;
    m_.port_gid = Gid::from(prefix, m_.record.port_gid.guid());
    m_.port = world.holder(m_.port_gid.guid());
  }

  Outcome join() const {
    if (options_.disabled)
      return refused(status::kSaNoResources,
                     "multicast is turned off (disable_multicast, or -d 3)");
    if (auto bad = check_form()) return *std::move(bad);
    if (!valid_selectors(m_.record, m_.mask))
      return refused(status::kSaReqInvalid,
                     "the MTU or rate it asks for is no known code (MTU 1 to 5, rate 2 to 25)");
    if (m_.requester == nullptr) return refused(status::kSaReqInvalid, "no port has its LID");
    if (m_.port == nullptr)
      return refused(status::kSaReqInvalid, "PortGID is no port's, and no alias of one");
    if (auto bad = unwelcome_proxy()) return *std::move(bad);
    if (m_.is_proxy() && !world_.policy.share(*m_.requester, *m_.port))
      return refused(status::kSaReqInvalid, "the two share no partition");
    if (m_.has(mc_bit::kPKey) && m_.record.p_key.base() == 0)
      return refused(status::kSaReqInvalid, "P_Key 0 is no partition's");
    if ((m_.record.join_state & join_state::kAll) == 0)
      return refused(status::kSaReqInvalid, "no JoinState bit is set");

    Change change;
    McGroup group;
    const auto* known = world_.state.multicast.find_group(m_.record.mgid);
    if (known != nullptr) {
      group = known->values;
      if (auto bad = disagreement(group)) return *std::move(bad);
    } else {
      auto made = create();
      if (auto* bad = std::get_if<Refusal>(&made)) return std::move(*bad);
      group = std::get<McGroup>(made);
      change.batch.groups.push_back(group);
    }
    if (auto bad = unmet_selector(group)) return *std::move(bad);
    if (auto bad = incapacity(group)) return *std::move(bad);

    const auto* before = world_.state.multicast.find_member(group.mgid, m_.port_gid);
    if (before != nullptr && !may_modify(*before))
      return refused(status::kSaReqInvalid, "it joined itself");
    // Who joins pays: nobody can use up what another port may have.
    McMember member{group.mgid, m_.port_gid, m_.record.join_state, m_.is_proxy(),
                    m_.is_proxy() ? m_.requester->guid : Guid{}};
    if (before != nullptr) {
      member.join_state |= before->join_state;
      if (m_.is_proxy()) member.joined_by = before->joined_by;
    }
    const bool is_charge = before == nullptr || before->proxy_join != member.proxy_join;
    if (const auto has = charged_to(*m_.requester); is_charge && has >= world_.quotas.groups)
      return refused(status::kSaNoResources,
                     fmt::format("{} has {} memberships, with those of ports that it joined, and "
                                 "{} is what one port may have (sa_etm_max_num_mcgs)",
                                 m_.is_proxy() ? "that one" : "it", has, world_.quotas.groups));

    change.routes_change = before == nullptr || before->join_state != member.join_state;
    if (before == nullptr || *before != member) change.batch.members.push_back(member);
    if (join_state::keeps_group(member.join_state) && (known == nullptr || known->full == 0))
      change.events.push_back(group_event(ib::wire::trap::kMcGroupCreated, group));
    change.reply = reply(group, member.join_state, member.proxy_join);
    return change;
  }

  Outcome leave() const {
    if (const auto bad = check_form()) return Refusal{bad->status, {}};
    const auto* group = world_.state.multicast.find_group(m_.record.mgid);
    const auto* member = world_.state.multicast.find_member(m_.record.mgid, m_.port_gid);
    // Clients leave what a restart or another subnet manager has forgotten: no news for the log.
    if (group == nullptr || member == nullptr || m_.requester == nullptr)
      return Refusal{status::kSaReqInvalid, {}};
    if (m_.record.join_state == 0 || (m_.record.join_state & ~member->join_state) != 0)
      return Refusal{status::kSaReqInvalid, {}};
    if (!may_modify(*member)) return Refusal{status::kSaReqInvalid, {}};
    if (auto bad = unwelcome_proxy()) return *std::move(bad);

    Change change;
    const auto left = static_cast<std::uint8_t>(member->join_state & ~m_.record.join_state);
    const bool stays = take_away(*group, *member, left, change);
    change.reply = reply(group->values, stays ? left : std::uint8_t{0}, member->proxy_join);
    return change;
  }

  /// Adds to `change` that `member` keeps only the states of `left`. Without a full member a group
  /// has no reason to be, and the others are sent home with it. Whether the group stays.
  static bool take_away(const Multicast::Group& group, const McMember& member, std::uint8_t left,
                        Change& change) {
    const bool ends = join_state::keeps_group(member.join_state) &&
                      !join_state::keeps_group(left) && group.full == 1;
    const bool stays = !ends || group.values.well_known;
    if (stays) {
      McMember rest = member;
      rest.join_state = left;
      change.batch.members.push_back(rest);
    } else {
      change.batch.groups_removed.push_back(member.mgid);
    }
    change.routes_change = true;
    if (ends) change.events.push_back(group_event(ib::wire::trap::kMcGroupDeleted, group.values));
    return stays;
  }

 private:
  /// By all its GUIDs.
  std::size_t charged_to(const EndPort& port) const {
    const auto& multicast = world_.state.multicast;
    std::size_t memberships = multicast.charged_to(port.guid);
    for (const auto& [place, alias] : world_.state.aliases.of(port.guid))
      memberships += multicast.charged_to(alias);
    return memberships;
  }

  std::optional<Refusal> unwelcome_proxy() const {
    if (!m_.is_proxy() || trusted_ || options_.untrusted_proxies) return std::nullopt;
    return refused(status::kSaReqDenied,
                   "only requests with the SA key may be for other ports "
                   "(sa_etm_allow_untrusted_proxy_requests)");
  }

  /// What a join and a leave both need.
  std::optional<Refusal> check_form() const {
    constexpr auto kNeeded = bit(mc_bit::kMgid) | bit(mc_bit::kPortGid) | bit(mc_bit::kJoinState);
    if ((m_.mask & kNeeded) != kNeeded)
      return refused(status::kSaInsufficientComponents,
                     "the component mask is to name MGID, PortGID and JoinState");
    const auto prefix = m_.record.port_gid.prefix();
    if (!world_.is_own_prefix(prefix))
      return refused(status::kSaInvalidGid,
                     fmt::format("the prefix of its PortGID, 0x{:016x}, is not that of this "
                                 "subnet, 0x{:016x}",
                                 prefix, world_.snapshot().subnet_prefix));
    return std::nullopt;
  }

  /// What a port joined itself is its own; what another joined for it is open to all who hold the
  /// group's key.
  bool may_modify(const McMember& member) const {
    if (!member.proxy_join) return m_.port != nullptr && m_.requester->port == m_.port->port;
    const auto* group = world_.state.multicast.find(member.mgid);
    return world_.policy.holds(*m_.requester, group->p_key);
  }

  /// Why a join does not fit the group that is there.
  std::optional<Refusal> disagreement(const McGroup& group) const {
    const auto& r = m_.record;
    const auto differs = [&](unsigned n, bool same) { return m_.has(n) && !same; };
    const auto no = [&](const std::string& what) { return refused(status::kSaReqInvalid, what); };
    if (options_.join_validation && !parameters_agree(group, r, m_.mask)) {
      if (differs(mc_bit::kQKey, group.q_key == r.q_key))
        return no(fmt::format("it asks for Q_Key 0x{:08x}, the group's is 0x{:08x}", r.q_key,
                              group.q_key));
      if (differs(mc_bit::kTClass, group.traffic_class == r.traffic_class))
        return no(fmt::format("it asks for TClass {}, the group's is {}", r.traffic_class,
                              group.traffic_class));
      if (differs(mc_bit::kSl, group.sl == r.sl))
        return no(fmt::format("it asks for SL {}, the group's is {}", r.sl.value, group.sl.value));
      if (differs(mc_bit::kFlowLabel, group.flow_label == r.flow_label))
        return no(fmt::format("it asks for FlowLabel 0x{:05x}, the group's is 0x{:05x}",
                              r.flow_label, group.flow_label));
      if (differs(mc_bit::kHopLimit, group.hop_limit == r.hop_limit))
        return no(fmt::format("it asks for HopLimit {}, the group's is {}", r.hop_limit,
                              group.hop_limit));
      return no(fmt::format("it asks for P_Key 0x{:04x}, the group's is 0x{:04x}", r.p_key.value,
                            group.p_key.value));
    }
    return std::nullopt;
  }

  /// Which selector the group's value does not meet.
  std::optional<Refusal> unmet_selector(const McGroup& group) const {
    const auto& r = m_.record;
    const auto no = [&](const std::string& what) { return refused(status::kSaReqInvalid, what); };
    const auto alone = [&](const char* value, unsigned code) {
      return no(
          fmt::format("its component mask names the selector of the {0} and not the {0}, whose "
                      "field says {1}; with both named, or none, it could be let in",
                      value, code));
    };
    if (!selectors_agree(group, r, m_.mask & ~bit(mc_bit::kRateSelector))) {
      if (!m_.has(mc_bit::kMtu)) return alone("MTU", r.mtu);
      return no(
          fmt::format("it asks for an MTU {} {}, the group's is {}; with MTU {} (code {}), or "
                      "none named, it could be let in",
                      selector_name(r.mtu_selector), ib::wire::mtu_bytes(r.mtu),
                      ib::wire::mtu_bytes(group.mtu), ib::wire::mtu_bytes(group.mtu), group.mtu));
    }
    if (!selectors_agree(group, r, m_.mask)) {
      if (!m_.has(mc_bit::kRate)) return alone("rate", r.rate);
      return no(fmt::format(
          "it asks for a rate {} {} Gb/s, the group's is {} Gb/s; with {} Gb/s "
          "(code {}), or none named, it could be let in",
          selector_name(r.rate_selector), ib::wire::rate_gbps(r.rate),
          ib::wire::rate_gbps(group.rate), ib::wire::rate_gbps(group.rate), group.rate));
    }
    return std::nullopt;
  }

  static std::string_view selector_name(Selector selector) {
    switch (selector) {
      case Selector::GreaterThan:
        return "above";
      case Selector::LessThan:
        return "below";
      default:
        return "of";
    }
  }

  /// Why the port cannot be a member: it must be able to take what the group sends.
  std::optional<Refusal> incapacity(const McGroup& group) const {
    const auto own = world_.paths->own(*m_.port);
    if (own.mtu < group.mtu)
      return refused(status::kSaReqInvalid,
                     fmt::format("its MTU is {} and the group's {}; a group MTU of at most {} "
                                 "(code {}) would let it in",
                                 ib::wire::mtu_bytes(own.mtu), ib::wire::mtu_bytes(group.mtu),
                                 ib::wire::mtu_bytes(own.mtu), own.mtu));
    if (compare_rates(own.rate, group.rate) < 0)
      return refused(status::kSaReqInvalid,
                     fmt::format("its link has {} Gb/s and the group {} Gb/s; a group rate of at "
                                 "most {} Gb/s (code {}) would let it in",
                                 ib::wire::rate_gbps(own.rate), ib::wire::rate_gbps(group.rate),
                                 ib::wire::rate_gbps(own.rate), own.rate));
    if (!world_.policy.holds(*m_.port, group.p_key))
      return refused(status::kSaReqInvalid,
                     fmt::format("it does not hold the group's P_Key 0x{:04x}", group.p_key.value));
    return std::nullopt;
  }

  std::variant<McGroup, Refusal> create() const {
    const auto& r = m_.record;
    if (!join_state::keeps_group(r.join_state))
      return refused(status::kSaReqInvalid,
                     "there is no such group, and only a full member makes one");
    constexpr auto kNeeded = bit(mc_bit::kQKey) | bit(mc_bit::kTClass) | bit(mc_bit::kPKey) |
                             bit(mc_bit::kFlowLabel) | bit(mc_bit::kSl);
    if ((m_.mask & kNeeded) != kNeeded)
      return refused(status::kSaInsufficientComponents,
                     "there is no such group, and a new one needs Q_Key, TClass, P_Key, FlowLabel "
                     "and SL");
    McGroup g;
    g.q_key = r.q_key;
    g.p_key = r.p_key;
    g.traffic_class = r.traffic_class;
    g.sl = r.sl;
    g.flow_label = r.flow_label;
    g.hop_limit = m_.has(mc_bit::kHopLimit) ? r.hop_limit : std::uint8_t{0};
    g.packet_life = world_.snapshot().subnet_timeout;
    if (m_.has_both(mc_bit::kLifeSelector, mc_bit::kLife) &&
        r.packet_life_selector == Selector::Exactly)
      g.packet_life = r.packet_life;

    if (r.mgid.is_zero()) {
      const bool scoped = m_.has(mc_bit::kScope) && r.scope != 0;
      g.mgid = world_.state.multicast.free_mgid(scoped ? r.scope : kScopeLinkLocal,
                                                world_.snapshot().subnet_prefix);
    } else {
      if (!r.mgid.is_multicast()) return refused(status::kSaReqInvalid, "this is no multicast GID");
      if (options_.creation_validation)
        if (auto bad = malformed(r.mgid)) return *std::move(bad);
      g.mgid = r.mgid;
    }
    g.scope = scope_of(g.mgid);

    const auto own = world_.paths->own(*m_.port);
    g.mtu = choose_mtu(r, m_.mask, own.mtu);
    if (!is_mtu(g.mtu))
      return refused(
          status::kSaReqInvalid,
          fmt::format("it asks for an MTU {} {}, and its own is {}; a group of MTU {} (code {}) or "
                      "less it could make",
                      selector_name(r.mtu_selector), ib::wire::mtu_bytes(r.mtu),
                      ib::wire::mtu_bytes(own.mtu), ib::wire::mtu_bytes(own.mtu), own.mtu));
    g.rate = choose_rate(r, m_.mask, own.rate);
    if (!is_rate(g.rate))
      return refused(
          status::kSaReqInvalid,
          fmt::format("it asks for a rate {} {} Gb/s, and its own is {} Gb/s; a group of "
                      "{} Gb/s (code {}) or less it could make",
                      selector_name(r.rate_selector), ib::wire::rate_gbps(r.rate),
                      ib::wire::rate_gbps(own.rate), ib::wire::rate_gbps(own.rate), own.rate));
    g.mlid = choose_mlid(g.mgid);
    if (g.mlid == ib::kNoLid)
      return refused(status::kSaNoResources,
                     fmt::format("all multicast LIDs up to 0x{:04x} are in use, and some switch "
                                 "forwards no more",
                                 mlid_max(world_.snapshot()).value));
    return g;
  }

  std::optional<Refusal> malformed(const Gid& mgid) const {
    if (!is_well_formed(mgid))
      return refused(status::kSaReqInvalid,
                     "its MGID has reserved bits or is one that only "
                     "subnet administration gives");
    const auto sign = signature(mgid);
    const auto p_key = static_cast<std::uint16_t>(mgid.bytes[4] << 8 | mgid.bytes[5]);
    const Gid broadcast = ipv4_broadcast(scope_of(mgid), p_key);
    if ((sign != kSignatureIpv4 && sign != kSignatureIpv6) || mgid == broadcast)
      return std::nullopt;
    // An IPoIB group lives by the parameters of its link's broadcast group (RFC 4391 section 6).
    const auto* link = world_.state.multicast.find(broadcast);
    if (link == nullptr)
      return refused(status::kSaReqInvalid,
                     fmt::format("the broadcast group {} of its partition and scope does not "
                                 "exist",
                                 to_string(broadcast)));
    if (!parameters_agree(*link, m_.record, m_.mask))
      return refused(status::kSaReqInvalid,
                     fmt::format("Q_Key, P_Key, TClass, SL, FlowLabel or HopLimit differ from "
                                 "those of the broadcast group {}",
                                 to_string(broadcast)));
    return std::nullopt;
  }

  Lid choose_mlid(const Gid& mgid) const {
    const auto& multicast = world_.state.multicast;
    const Lid max = mlid_max(world_.snapshot());
    const Lid wished = m_.record.mlid;
    if (m_.has(mc_bit::kMlid) && wished <= max && multicast.mlids().is_free(wished)) return wished;
    if (options_.consolidate_ipv6_snm && is_solicited_node(mgid))
      if (const auto* alike = multicast.find_alike(mgid, kSolicitedNodePrefix)) return alike->mlid;
    return multicast.mlids().lowest_free(max);
  }

  std::vector<std::byte> reply(const McGroup& group, std::uint8_t state, bool proxy) const {
    auto record = to_record(group);
    record.port_gid = m_.record.port_gid;  // with the prefix it was asked with
    record.join_state = state;
    record.proxy_join = proxy;
    return reply_of(record);
  }

  /// "S-1 host3 port 1 (0x...)"
  std::string name(const EndPort& port) const {
    const auto& node = world_.snapshot().fabric().node(port.port.node);
    return fmt::format("{} port {} ({})", ib::printable(node.name()), port.port.port,
                       to_string(port.guid));
  }
  Refusal refused(std::uint16_t code, const std::string& why = {}) const {
    if (why.empty()) return {code, {}};
    const std::string who =
        m_.port != nullptr ? name(*m_.port) : "port " + to_string(m_.port_gid.guid());
    const std::string by = m_.requester != nullptr && m_.is_proxy()
                               ? ", as " + name(*m_.requester) + " asks"
                               : std::string();
    return {code,
            fmt::format("{} cannot {} {}{}: {}", who, verb_, to_string(m_.record.mgid), by, why)};
  }

  const World& world_;
  const MulticastOptions& options_;
  const bool trusted_;
  const char* const verb_;
  MemberRequest m_;
};

}  // namespace

McGroup ipoib_group(ib::PKey p_key) {
  McGroup g;
  g.mgid = ipv4_broadcast(kScopeLinkLocal, p_key.value | 0x8000);
  g.q_key = 0x0b1b;
  g.p_key = ib::PKey{static_cast<std::uint16_t>(p_key.value | 0x8000)};
  g.mtu = 4;   // 2048
  g.rate = 3;  // 10 Gb/s
  g.packet_life = 18;
  g.scope = kScopeLinkLocal;
  g.well_known = true;
  return g;
}

store::Batch configured_groups(const State& state, const MulticastOptions& options) {
  store::Batch batch;
  if (options.disabled) return batch;
  MlidPool mlids = state.multicast.mlids();
  for (McGroup group : options.configured) {
    const auto* there = state.multicast.find(group.mgid);
    group.mlid = there != nullptr ? there->mlid : mlids.lowest_free(Lid{0xFFFE});
    mlids.take(group.mlid);
    if (group.mlid != ib::kNoLid && (there == nullptr || *there != group))
      batch.groups.push_back(group);
  }
  return batch;
}

Lid mlid_max(const Snapshot& snapshot) {
  // 0xFFFE is the last; a switch without a multicast table forwards none and limits nobody.
  unsigned capacity = 0xFFFF - ib::kLidMulticastMin.value;
  for (const auto& node : snapshot.observed->nodes)
    if (node.switch_info && node.switch_info->multicast_fdb_cap != 0)
      capacity = std::min<unsigned>(capacity, node.switch_info->multicast_fdb_cap);
  return Lid{static_cast<std::uint16_t>(ib::kLidMulticastMin.value + capacity - 1)};
}

Outcome join_group(const World& world, const WriteRequest& request) {
  return Rules(world, request).join();
}

Outcome leave_group(const World& world, const WriteRequest& request) {
  return Rules(world, request).leave();
}

std::vector<Gid> departed_members(const World& world, const Snapshot* before) {
  const auto& observed = *world.snapshot().observed;
  std::vector<Gid> gone;
  if (!observed.complete) return gone;
  const UnreachableNodes unreachable(observed);
  std::set<Guid> virtual_ports;  // also those that wait to come up
  for_each_virtual_port(
      world.snapshot().virtual_ports.get(), observed.fabric,
      [&](ib::fabric::PortRef, const VirtualPort& vport) { virtual_ports.insert(vport.guid); });
  const auto is_virtual = [&](Guid guid) { return virtual_ports.contains(guid); };
  for (const auto& [gid, mgids] : world.state.multicast.ports()) {
    // By the fabric, not by Paths: a port that waits for its LID is there.
    if (observed.fabric.find_port_guid(gid.guid())) continue;
    if (world.snapshot().virtual_ports_to_come || is_virtual(gid.guid())) continue;
    const Guid owner = world.state.aliases.port_of(gid.guid());
    const Guid guid = owner.value != 0 ? owner : gid.guid();
    if (!observed.fabric.find_port_guid(guid) && !unreachable.may_hide(guid, before))
      gone.push_back(gid);
  }
  return gone;
}

Change drop_memberships(const World& world, const std::vector<MemberOf>& memberships) {
  // Several members of a group may go at once: which of them was the last full one shows at the
  // end.
  Change change;
  std::map<Gid, std::size_t> full_left;
  for (const auto& [mgid, port] : memberships) {
    const auto& group = *world.state.multicast.find_group(mgid);
    const auto& member = *world.state.multicast.find_member(mgid, port);
    auto& full = full_left.try_emplace(mgid, group.full).first->second;
    change.batch.members.push_back({mgid, port, 0, false});
    if (!join_state::keeps_group(member.join_state) || --full != 0) continue;
    if (!group.values.well_known) change.batch.groups_removed.push_back(mgid);
    change.events.push_back(group_event(ib::wire::trap::kMcGroupDeleted, group.values));
  }
  change.routes_change = !change.batch.empty();
  return change;
}

Change drop_members(const World& world, const std::vector<Gid>& ports) {
  std::vector<MemberOf> memberships;
  for (const auto& port : ports) {
    const auto mgids = world.state.multicast.ports().find(port);
    if (mgids == world.state.multicast.ports().end()) continue;
    for (const auto& mgid : mgids->second) memberships.push_back({mgid, port});
  }
  return drop_memberships(world, memberships);
}

}  // namespace sm::sa
