// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who may join, and what is said when not: by the rules themselves and by a model of them that
// shares no code.
#include "sm/sa/registry/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/sm/sa/multicast_masks.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::wire::McMemberRecord;
using ib::wire::Selector;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

/// A world to call the rules in: what they decide is applied at once.
class SaMembership : public ::testing::Test {
 protected:
  SaMembership() { see(small_tree()); }

  void see(Fabric fabric) {
    paths = std::make_shared<const Paths>(snapshot_of(std::move(fabric)));
    hosts = hosts_of(paths->snapshot().fabric());
    state.apply(configured_groups(state, policy.multicast));
  }
  World world() const {
    World w{paths, state, policy};
    w.quotas = quotas;
    return w;
  }
  const ib::fabric::Port& host(std::size_t i) const {
    return paths->snapshot().fabric().port(hosts[i]);
  }
  Gid gid(std::size_t i) const { return Gid::from(ib::kDefaultSubnetPrefix, host(i).guid); }
  static Gid mgid(const std::string& text) {
    Gid g;
    EXPECT_TRUE(ib::parse_gid(text, g));
    return g;
  }
  McMemberRecord wish(const Gid& group, std::size_t i, std::uint8_t join_state = 1) const {
    McMemberRecord r;
    r.mgid = group;
    r.port_gid = gid(i);
    r.join_state = join_state;
    r.q_key = 0x0b1b;
    r.p_key = ib::kDefaultPKey;
    return r;
  }
  WriteRequest request(Method method, const McMemberRecord& r, std::uint64_t mask,
                       std::size_t from) const {
    WriteRequest w;
    w.method = method;
    w.attribute = attr::kMcMemberRecord;
    w.mask = mask;
    ib::wire::encode(r, w.data.data());
    w.requester.port = paths->find(host(from).lid);
    return w;
  }
  /// Judged and, where granted, applied.
  Outcome join(const McMemberRecord& r, std::uint64_t mask, std::size_t from) {
    return done(join_group(world(), request(Method::Set, r, mask, from)));
  }
  Outcome leave(const McMemberRecord& r, std::size_t from) {
    return done(leave_group(world(), request(Method::Delete, r, kJoin, from)));
  }
  Outcome done(Outcome outcome) {
    if (const auto* change = std::get_if<Change>(&outcome)) state.apply(change->batch);
    return outcome;
  }
  static std::uint16_t status_of(const Outcome& outcome) {
    const auto* refusal = std::get_if<Refusal>(&outcome);
    return refusal != nullptr ? refusal->status : status::kOk;
  }
  static std::string why(const Outcome& outcome) {
    const auto* refusal = std::get_if<Refusal>(&outcome);
    return refusal != nullptr ? refusal->why : "granted";
  }
  static McMemberRecord reply(const Outcome& outcome) {
    const auto* change = std::get_if<Change>(&outcome);
    EXPECT_NE(change, nullptr) << why(outcome);
    return change != nullptr ? ib::wire::decode<McMemberRecord>(change->reply.data())
                             : McMemberRecord{};
  }
  static std::vector<std::uint16_t> traps(const Outcome& outcome) {
    std::vector<std::uint16_t> numbers;
    if (const auto* change = std::get_if<Change>(&outcome))
      for (const auto& event : change->events) numbers.push_back(event.notice.trap_number);
    return numbers;
  }

  const Gid broadcast = ipoib_group(ib::kDefaultPKey).mgid;
  std::shared_ptr<const Paths> paths;
  std::vector<PortRef> hosts;
  State state;
  Policy policy;
  Quotas quotas;
};

TEST_F(SaMembership, ARefusalSaysWhoWhyAndWhatWouldWork) {
  auto fabric = small_tree();
  const auto slow = hosts_of(fabric)[5];
  fabric.port(slow).width = ib::wire::LinkWidth::W1x;
  fabric.port(slow).speed = ib::wire::LinkSpeed::Sdr;
  see(std::move(fabric));
  auto said = why(join(wish(broadcast, 5), kJoin, 5));
  EXPECT_THAT(said, HasSubstr(" port 1 (" + to_string(host(5).guid) +
                              ") cannot join "
                              "ff12:401b:ffff::ffff:ffff: its link has 2.5 Gb/s and the group 10 "
                              "Gb/s; a group rate of at most 2.5 Gb/s (code 2) would let it in"));

  auto r = wish(broadcast, 1);
  r.q_key = 1;
  EXPECT_THAT(why(join(r, kJoin | mask_of({2}), 1)),
              HasSubstr("it asks for Q_Key 0x00000001, the group's is 0x00000b1b"));
  r = wish(broadcast, 1);
  r.mtu_selector = Selector::GreaterThan;
  r.mtu = 4;
  EXPECT_THAT(why(join(r, kJoin | mask_of({4, 5}), 1)),
              HasSubstr("it asks for an MTU above 2048, the group's is 2048; with MTU 2048 (code "
                        "4), or none named, it could be let in"));
  r = wish(broadcast, 1);
  r.rate_selector = Selector::Exactly;
  r.rate = 16;
  EXPECT_THAT(why(join(r, kJoin | mask_of({8, 9}), 1)),
              HasSubstr("it asks for a rate of 100 Gb/s, the group's is 10 Gb/s; with 10 Gb/s "
                        "(code 3), or none named, it could be let in"));
  r = wish(mgid("ff12:401b:ffff::7"), 1);
  r.mtu_selector = Selector::GreaterThan;
  r.mtu = 5;
  EXPECT_THAT(why(join(r, kCreate | mask_of({4, 5}), 1)),
              HasSubstr("it asks for an MTU above 4096, and its own is 4096; a group of MTU 4096 "
                        "(code 5) or less it could make"));
  r = wish(broadcast, 1);
  r.port_gid = Gid::from(0xfec0000000000007, host(1).guid);
  EXPECT_THAT(
      why(join(r, kJoin, 1)),
      HasSubstr("the prefix of its PortGID, 0xfec0000000000007, is not that of this subnet, "
                "0xfe80000000000000"));
  EXPECT_THAT(why(join(wish(broadcast, 1), mask_of({0, 1}), 1)),
              HasSubstr("the component mask is to name MGID, PortGID and JoinState"));
  EXPECT_THAT(why(join(wish(mgid("ff15:601b:ffff::1"), 1), kCreate, 1)),
              HasSubstr("the broadcast group ff15:401b:ffff::ffff:ffff of its partition and scope "
                        "does not exist"));
  EXPECT_THAT(why(join(wish(mgid("ff12:601b:ffff::1"), 1), kJoin, 1)),
              HasSubstr("a new one needs Q_Key, TClass, P_Key, FlowLabel and SL"));
}

/// The field is looked at though it is not named, as clients know it of other subnet managers.
TEST_F(SaMembership, ASelectorWithoutItsValueGoesByTheField) {
  const auto there = mgid("ff12:401b:ffff::7");
  for (const auto& group : {broadcast, there}) {
    const auto mask = group == broadcast ? kJoin : kCreate;  // one to join and one to make
    auto r = wish(group, 1);
    r.mtu_selector = r.rate_selector = Selector::Exactly;
    EXPECT_THAT(why(join(r, mask | mask_of({4}), 1)),
                HasSubstr("its component mask names the selector of the MTU and not the MTU, whose "
                          "field says 0; with both named, or none, it could be let in"));
    EXPECT_THAT(why(join(r, mask | mask_of({8}), 1)),
                HasSubstr("its component mask names the selector of the rate and not the rate"));
    r.rate_selector = Selector::LessThan;
    EXPECT_EQ(status_of(join(r, mask | mask_of({8}), 1)), status::kSaReqInvalid);
    r.mtu_selector = r.rate_selector = Selector::GreaterThan;
    EXPECT_EQ(status_of(join(r, mask | mask_of({4, 8}), 1)), status::kOk);
    r.mtu_selector = r.rate_selector = Selector::Largest;
    EXPECT_EQ(status_of(join(r, mask | mask_of({4, 8}), 1)), status::kOk);
    r.packet_life_selector = Selector::LessThan;
    EXPECT_EQ(status_of(join(r, mask | mask_of({10}), 1)), status::kOk) << "life is no condition";
  }
  auto r = wish(broadcast, 1);
  r.mtu_selector = r.rate_selector = Selector::Exactly;
  r.mtu = 4;
  r.rate = 3;
  EXPECT_EQ(status_of(join(r, kJoin | mask_of({4, 8}), 1)), status::kOk);
}

TEST_F(SaMembership, ANarrowPortLearnsTheMtuThatWouldWork) {
  auto r = wish(mgid("ff12:401b:ffff::1"), 0);
  r.mtu_selector = Selector::Exactly;
  r.mtu = 5;
  ASSERT_EQ(status_of(join(r, kCreate | mask_of({4, 5}), 0)), status::kOk);
  auto snapshot = std::make_shared<Snapshot>(paths->snapshot());
  auto observed = std::make_shared<ib::discover::Observed>(*snapshot->observed);
  fields_of(observed->port(hosts[1])).set<&ib::wire::PortInfo::neighbor_mtu>(3);
  fields_of(observed->port(hosts[1])).set<&ib::wire::PortInfo::mtu_cap>(3);
  snapshot->observed = observed;
  paths = std::make_shared<const Paths>(snapshot);
  EXPECT_THAT(why(join(wish(r.mgid, 1), kJoin, 1)),
              HasSubstr("its MTU is 1024 and the group's 4096; a group MTU of at most 1024 "
                        "(code 3) would let it in"));
}

TEST_F(SaMembership, AnAliasIsAPortGid) {
  store::Batch batch;
  const Guid alias{0xA11A5};
  batch.aliases = {{host(3).guid, 1, alias}};
  state.apply(batch);
  auto r = wish(broadcast, 3);
  r.port_gid = Gid::from(ib::kDefaultSubnetPrefix, alias);
  const auto answer = reply(join(r, kJoin, 3));
  EXPECT_EQ(answer.port_gid.guid(), alias);
  EXPECT_FALSE(answer.proxy_join) << "the same port";
  EXPECT_THAT(state.by_mlid(), ElementsAre(MlidMembers{Lid{0xC000}, {host(3).guid}, {}, 1}));
  EXPECT_TRUE(reply(join(r, kJoin, 3)).join_state == 1);
  EXPECT_EQ(status_of(leave(r, 4)), status::kSaReqInvalid) << "another port";
  EXPECT_EQ(status_of(leave(r, 3)), status::kOk);
}

TEST_F(SaMembership, TrapsTellOfTheFirstAndTheLast) {
  const auto group = mgid("ff12:401b:ffff::1");
  const auto made = join(wish(group, 0), kCreate, 0);
  ASSERT_THAT(traps(made), ElementsAre(66));
  const auto& event = std::get<Change>(made).events[0];
  EXPECT_EQ(event.notice.type, 3);
  EXPECT_EQ(event.notice.producer_type, 4U);
  EXPECT_TRUE(std::equal(group.bytes.begin(), group.bytes.end(), event.notice.details.begin() + 6));
  EXPECT_THAT(traps(join(wish(group, 1), kCreate, 1)), IsEmpty());
  EXPECT_THAT(traps(join(wish(group, 2, 4), kJoin, 2)), IsEmpty());
  EXPECT_THAT(traps(leave(wish(group, 0), 0)), IsEmpty());
  EXPECT_THAT(traps(leave(wish(group, 1), 1)), ElementsAre(67));
  EXPECT_EQ(state.multicast.find(group), nullptr);
  // A configured group is there before and after; the traps tell when somebody is in it.
  EXPECT_THAT(traps(join(wish(broadcast, 0, 4), kJoin, 0)), IsEmpty()) << "only sends";
  EXPECT_THAT(traps(join(wish(broadcast, 0, 8), kJoin, 0)), ElementsAre(66));
  EXPECT_THAT(traps(leave(wish(broadcast, 0, 8), 0)), ElementsAre(67));
}

TEST_F(SaMembership, SolicitedNodeGroupsShareAnMlidWhereAsked) {
  const auto node = [&](const char* tail) {
    return mgid(std::string("ff12:601b:ffff::1:ff") + tail);
  };
  const auto apart = reply(join(wish(node("00:1"), 0), kCreate, 0)).mlid;
  EXPECT_NE(reply(join(wish(node("00:2"), 1), kCreate, 1)).mlid, apart);
  policy.multicast.consolidate_ipv6_snm = true;
  EXPECT_EQ(reply(join(wish(node("12:3456"), 2), kCreate, 2)).mlid, apart);
  EXPECT_NE(reply(join(wish(mgid("ff12:601b:ffff::2:ff00:1"), 2), kCreate, 2)).mlid, apart);
  // The MLID is free again when the last of them is gone.
  leave(wish(node("00:1"), 0), 0);
  EXPECT_FALSE(state.multicast.mlids().is_free(apart));
  leave(wish(node("12:3456"), 2), 2);
  EXPECT_TRUE(state.multicast.mlids().is_free(apart));
}

TEST_F(SaMembership, ValidationCanBeSwitchedOff) {
  auto r = wish(broadcast, 1);
  r.q_key = 77;
  const auto odd = wish(mgid("ff32:601b:ffff::1"), 1);
  EXPECT_EQ(status_of(join(r, kJoin | mask_of({2}), 1)), status::kSaReqInvalid);
  EXPECT_EQ(status_of(join(odd, kCreate, 1)), status::kSaReqInvalid);
  policy.multicast.join_validation = policy.multicast.creation_validation = false;
  EXPECT_EQ(reply(join(r, kJoin | mask_of({2}), 1)).q_key, 0x0b1bU) << "told what it is";
  EXPECT_EQ(status_of(join(odd, kCreate, 1)), status::kOk);
  EXPECT_EQ(status_of(join(wish(gid(3), 1), kCreate, 1)), status::kSaReqInvalid)
      << "no multicast GID all the same";
}

TEST_F(SaMembership, EachConfiguredGroupHasAnMlidOfItsOwn) {
  auto other = ipoib_group(ib::PKey{0x0011});
  EXPECT_EQ(to_string(other.mgid), "ff12:401b:8011::ffff:ffff");
  other.mtu = 5;
  policy.multicast.configured.push_back(other);
  const auto made = configured_groups(state, policy.multicast);
  ASSERT_THAT(made.groups, SizeIs(1)) << "the first is there";
  EXPECT_EQ(made.groups[0].mlid, Lid{0xC001});
  state.apply(made);
  EXPECT_TRUE(configured_groups(state, policy.multicast).empty());
  policy.multicast.configured[1].mtu = 4;
  const auto changed = configured_groups(state, policy.multicast);
  ASSERT_THAT(changed.groups, SizeIs(1));
  EXPECT_EQ(changed.groups[0].mlid, Lid{0xC001}) << "kept";
}

TEST_F(SaMembership, OnePortIsInSoManyGroupsAndNoMore) {
  quotas.groups = 3;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of(join(wish({}, 1), kCreate, 1)), status::kOk);
  const auto refused = join(wish(broadcast, 1), kJoin, 1);
  EXPECT_EQ(status_of(refused), status::kSaNoResources);
  EXPECT_THAT(why(refused), HasSubstr("it has 3 memberships"));
  EXPECT_EQ(status_of(join(wish(broadcast, 2), kJoin, 2)), status::kOk) << "another port";
  auto again = wish(state.multicast.groups().rbegin()->first, 1, 4);
  EXPECT_EQ(status_of(join(again, kJoin, 1)), status::kOk) << "one it is in";
}

/// Nobody uses up what another may have by joining it.
TEST_F(SaMembership, AProxyPaysForThoseItJoins) {
  quotas.groups = 3;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of(join(wish({}, 3), kCreate, 2)), status::kOk);
  EXPECT_EQ(status_of(join(wish(broadcast, 3), kJoin, 3)), status::kOk) << "that was not his";
  for (const std::size_t victim : {2U, 3U, 4U}) {
    const auto refused = join(wish({}, victim), kCreate, 2);
    EXPECT_EQ(status_of(refused), status::kSaNoResources) << victim;
    if (victim == 2) continue;
    EXPECT_THAT(why(refused), HasSubstr(", as "));
    EXPECT_THAT(why(refused), HasSubstr(" port 1 (" + to_string(host(2).guid) +
                                        ") asks: that one has 3 memberships"));
  }
  // Whichever request ends it, it is no longer charged.
  const auto group = state.multicast.ports().at(gid(3)).rbegin();
  const Gid one = *group == broadcast ? *std::next(group) : *group;
  EXPECT_EQ(status_of(leave(wish(one, 3), 4)), status::kOk);
  EXPECT_EQ(status_of(join(wish({}, 4), kCreate, 2)), status::kOk);
  EXPECT_EQ(status_of(join(wish({}, 4), kCreate, 2)), status::kSaNoResources);
}

TEST_F(SaMembership, WhoJoinsAnewPaysNothingMore) {
  quotas.groups = 1;
  EXPECT_EQ(status_of(join(wish(broadcast, 3), kJoin, 2)), status::kOk);
  EXPECT_EQ(status_of(join(wish(broadcast, 3, 4), kJoin, 2)), status::kOk) << "one it is in";
  EXPECT_EQ(status_of(join(wish(broadcast, 3, 2), kJoin, 4)), status::kOk) << "the first pays";
  EXPECT_EQ(state.multicast.charged_to(host(2).guid), 1U);
  EXPECT_EQ(state.multicast.charged_to(host(4).guid), 0U);
}

/// What a port says of itself is its own from then on.
TEST_F(SaMembership, APortTakesOverWhatAProxyJoined) {
  EXPECT_TRUE(reply(join(wish(broadcast, 3), kJoin, 2)).proxy_join);
  const auto own = join(wish(broadcast, 3), kJoin, 3);
  EXPECT_FALSE(reply(own).proxy_join);
  EXPECT_FALSE(std::get<Change>(own).routes_change);
  EXPECT_THAT(std::get<Change>(own).batch.members, SizeIs(1)) << "to be remembered";
  EXPECT_EQ(state.multicast.charged_to(host(2).guid), 0U);
  EXPECT_EQ(state.multicast.charged_to(host(3).guid), 1U);
  EXPECT_EQ(status_of(leave(wish(broadcast, 3), 2)), status::kSaReqInvalid);
  const auto refused = join(wish(broadcast, 3, 4), kJoin, 2);
  EXPECT_EQ(status_of(refused), status::kSaReqInvalid);
  EXPECT_THAT(why(refused), HasSubstr("asks: it joined itself"));
  EXPECT_EQ(status_of(leave(wish(broadcast, 3), 3)), status::kOk);
}

TEST_F(SaMembership, ProxiesCanBeForbiddenToTheUntrusted) {
  EXPECT_EQ(status_of(join(wish(broadcast, 3), kJoin, 2)), status::kOk);
  policy.multicast.untrusted_proxies = false;
  const auto refused = join(wish(broadcast, 4), kJoin, 2);
  EXPECT_EQ(status_of(refused), status::kSaReqDenied);
  EXPECT_THAT(why(refused), HasSubstr("sa_etm_allow_untrusted_proxy_requests"));
  EXPECT_EQ(status_of(leave(wish(broadcast, 3), 2)), status::kSaReqDenied);
  EXPECT_EQ(status_of(join(wish(broadcast, 5), kJoin, 5)), status::kOk) << "for itself";
  auto trusted = request(Method::Set, wish(broadcast, 4), kJoin, 2);
  trusted.requester.trusted = true;
  EXPECT_EQ(status_of(join_group(world(), trusted)), status::kOk);
}

/// Another of its GUIDs is no other port.
TEST_F(SaMembership, AliasesCountAsTheirPort) {
  quotas.groups = 3;
  const Gid alias = Gid::from(ib::kDefaultSubnetPrefix, Guid{0xA11A5});
  store::Batch batch;
  batch.aliases.push_back({paths->find(gid(1).guid())->guid, 1, alias.guid()});
  state.apply(batch);
  auto by_alias = wish({}, 1);
  by_alias.port_gid = alias;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(status_of(join(by_alias, kCreate, 1)), status::kOk);
  EXPECT_EQ(status_of(join(wish({}, 1), kCreate, 1)), status::kOk);
  EXPECT_EQ(status_of(join(by_alias, kCreate, 1)), status::kSaNoResources);
  EXPECT_EQ(status_of(join(wish(broadcast, 1), kJoin, 1)), status::kSaNoResources);
}

TEST_F(SaMembership, PortsThatLeftTheSubnetLeaveTheirGroups) {
  const auto group = mgid("ff12:401b:ffff::1");
  join(wish(group, 3), kCreate, 3);
  join(wish(group, 4), kCreate, 4);
  join(wish(group, 5, 4), kJoin, 5);
  join(wish(broadcast, 3), kJoin, 3);
  join(wish(broadcast, 5), kJoin, 5);
  EXPECT_THAT(departed_members(world(), nullptr), IsEmpty());
  const auto before = paths->snapshot();
  const Gid third = gid(3), fourth = gid(4);

  auto gone = before.fabric();
  for (const std::size_t i : {3U, 4U}) gone.port(hosts[i]).guid = Guid{0x9999 + i};
  gone.reindex();
  const auto kept_hosts = hosts;
  paths = std::make_shared<const Paths>(snapshot_of(gone));
  const auto absent = departed_members(world(), &before);
  EXPECT_THAT(absent, ::testing::UnorderedElementsAre(third, fourth));
  const auto outcome = done(drop_members(world(), absent));
  EXPECT_THAT(traps(outcome), ElementsAre(67)) << "its last full member";
  EXPECT_EQ(state.multicast.find(group), nullptr);
  EXPECT_THAT(state.multicast.members(broadcast), SizeIs(1));
  EXPECT_THAT(departed_members(world(), &before), IsEmpty());
}

TEST_F(SaMembership, APortThatMayOnlyBeSilentStays) {
  join(wish(broadcast, 3), kJoin, 3);
  join(wish(broadcast, 4), kJoin, 4);
  const auto before = paths->snapshot();
  const auto leaf_port = before.fabric().port(hosts[3]).peer;
  auto gone = before.fabric();
  for (const std::size_t i : {3U, 4U}) gone.port(hosts[i]).guid = Guid{0x9999 + i};
  gone.reindex();
  const Gid fourth = gid(4);
  auto snapshot = snapshot_of(gone);
  auto observed = std::make_shared<ib::discover::Observed>(*snapshot->observed);
  ib::discover::Trouble silent;
  silent.behind = leaf_port;
  observed->troubles.push_back(silent);
  snapshot->observed = observed;
  paths = std::make_shared<const Paths>(snapshot);
  using Kind = ib::discover::Trouble::Kind;
  for (const Kind kind : {Kind::Silent, Kind::Garbage, Kind::Refused}) {
    observed->troubles.back().kind = kind;
    EXPECT_THAT(departed_members(world(), &before), ElementsAre(fourth));
    EXPECT_THAT(departed_members(world(), nullptr), IsEmpty()) << "nothing is known of before";
  }
  observed->complete = false;
  EXPECT_THAT(departed_members(world(), &before), IsEmpty());
}

/// Random requests, sound and hostile: state and status are those of a model that knows only what
/// the specification says about memberships.
TEST_F(SaMembership, AgreesWithAModelOnWhateverIsAsked) {
  struct Model {
    std::map<std::string, std::map<std::uint64_t, std::pair<unsigned, bool>>> groups;
  };
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    state = State{};
    state.apply(configured_groups(state, policy.multicast));
    Model model;
    model.groups[to_string(broadcast)];
    const char* const mgids[] = {
        "ff12:401b:ffff::ffff:ffff", "ff12:401b:ffff::1", "ff12:601b:ffff::2", "ff15:1234::3",
        "fe12:401b:ffff::1",         "ff72:401b:ffff::1", "ff12:a01b::9",      "ff15:401b:ffff::4"};
    constexpr bool kFit[] = {true, true, true, true, false, false, false, false};
    for (int step = 0; step < 400; ++step) {
      const unsigned which = below(8);
      const std::size_t port = below(5), from = below(6) == 0 ? below(5) : port;
      auto r = wish(mgid(mgids[which]), port, static_cast<std::uint8_t>(below(17)));
      const unsigned wanted = r.join_state & 15U;
      std::uint64_t mask = below(3) != 0 ? kCreate : kJoin;
      if (below(10) == 0) mask = random() & 0x3FFFF;
      if (below(12) == 0) r.q_key = 3;
      if (below(12) == 0) r.p_key = ib::PKey{static_cast<std::uint16_t>(below(3) * 0x4000)};
      if (below(20) == 0) r.port_gid = Gid::from(0x1234, host(port).guid);
      mask &= ~mask_of({4, 5, 8, 9});  // MTU and rate have tests of their own
      const bool is_join = below(3) != 0;
      const std::string name = mgids[which];
      const std::uint64_t guid = host(port).guid.value;
      const bool exists = model.groups.contains(name);
      const auto has = [&](unsigned n) { return (mask >> n & 1) != 0; };

      // What must come of it.
      std::uint16_t expected = status::kOk;
      const bool q_ok = !has(2) || r.q_key == 0x0b1b;
      const bool p_ok = !has(7) || r.p_key == ib::kDefaultPKey;
      auto& members = exists ? model.groups[name] : model.groups["nobody"];
      const bool is_member = exists && members.contains(guid);
      const unsigned held = is_member ? members[guid].first : 0;
      const bool by_proxy = is_member && members[guid].second;
      if (!has(0) || !has(1) || !has(16)) {
        expected = status::kSaInsufficientComponents;
      } else if (r.port_gid.prefix() != ib::kDefaultSubnetPrefix) {
        expected = status::kSaInvalidGid;
      } else if (is_join) {
        const bool alive = (wanted & 9) != 0;
        // NOLINTNEXTLINE(bugprone-branch-clone): rules in their order, two with one status
        if (wanted == 0 || (has(7) && (r.p_key.value & 0x7FFF) == 0)) {
          expected = status::kSaReqInvalid;
        } else if (exists ? !q_ok || !p_ok || (is_member && !by_proxy && from != port) : !alive) {
          expected = status::kSaReqInvalid;
        } else if (!exists && (mask & kCreate) != kCreate) {
          expected = status::kSaInsufficientComponents;
        } else if (!exists && (!kFit[which] || !p_ok || (which <= 2 && !q_ok))) {
          expected = status::kSaReqInvalid;
        } else if (!exists && which == 3 && !q_ok) {
          r.q_key = 0x0b1b;  // so that the model need not keep Q_Keys
        }
      } else if (!is_member || wanted == 0 || (wanted & ~held) != 0 ||
                 (!by_proxy && from != port)) {
        expected = status::kSaReqInvalid;
      }
      model.groups.erase("nobody");

      const auto outcome = is_join
                               ? join(r, mask, from)
                               : done(leave_group(world(), request(Method::Delete, r, mask, from)));
      ASSERT_EQ(status_of(outcome), expected)
          << "step " << step << ": " << (is_join ? "join " : "leave ") << name << " state "
          << wanted << " mask " << std::hex << mask << ": " << why(outcome);
      if (expected == status::kOk) {
        auto& now = model.groups[name];
        if (is_join) {
          auto& entry = now.try_emplace(guid, 0U, from != port).first->second;
          entry.first |= wanted;
          if (from == port) entry.second = false;
        } else {
          auto& left = now[guid].first;
          left &= ~wanted;
          if (left == 0) now.erase(guid);
        }
        const bool alive = std::any_of(now.begin(), now.end(), [](const auto& member) {
          return (member.second.first & 9) != 0;
        });
        if (!is_join && !alive && name != mgids[0] && (held & 9) != 0) model.groups.erase(name);
      }

      ASSERT_EQ(state.multicast.groups().size(), model.groups.size()) << "step " << step;
      for (const auto& [mgid_text, expected_members] : model.groups) {
        const auto& found = state.multicast.members(mgid(mgid_text));
        ASSERT_EQ(found.size(), expected_members.size()) << mgid_text << " step " << step;
        for (const auto& member : found) {
          const auto at = expected_members.find(member.port_gid.guid().value);
          ASSERT_NE(at, expected_members.end());
          EXPECT_EQ(member.join_state, at->second.first);
          EXPECT_EQ(member.proxy_join, at->second.second);
        }
      }
    }
  }
}

}  // namespace
}  // namespace sm::sa::test
