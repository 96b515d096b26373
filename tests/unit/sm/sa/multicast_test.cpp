// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Joining, creating and leaving multicast groups; what is stored, and when it is answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "libdiag/query/sa_client.h"
#include "tests/unit/sm/sa/multicast_masks.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::query::read_table;
using ib::wire::McMemberRecord;
using ib::wire::Selector;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

class SaMulticast : public ::testing::Test {
 protected:
  Bench bench{small_tree()};

  Gid mgid(const std::string& text) {
    Gid g;
    EXPECT_TRUE(ib::parse_gid(text, g));
    return g;
  }
  const Gid broadcast = ipoib_group(ib::kDefaultPKey).mgid;

  McMemberRecord wish(const Gid& group, std::size_t host, std::uint8_t state = 1) {
    McMemberRecord r;
    r.mgid = group;
    r.port_gid = bench.gid(host);
    r.join_state = state;
    r.q_key = 0x0b1b;
    r.p_key = ib::kDefaultPKey;
    return r;
  }
  Packet set(const McMemberRecord& r, std::uint64_t mask, std::size_t from) {
    return bench.request(Method::Set, attr::kMcMemberRecord, r, mask, 0, from);
  }
  Packet remove(const McMemberRecord& r, std::size_t from) {
    return bench.request(Method::Delete, attr::kMcMemberRecord, r, kJoin, 0, from);
  }
  Packet join(const Gid& group, std::size_t host, std::uint8_t state = 1) {
    return bench.ask(set(wish(group, host, state), kJoin, host));
  }
  Packet create(const Gid& group, std::size_t host, std::uint8_t state = 1) {
    return bench.ask(set(wish(group, host, state), kCreate, host));
  }
  Packet leave(const Gid& group, std::size_t host, std::uint8_t state = 1) {
    return bench.ask(remove(wish(group, host, state), host));
  }
  std::vector<McMemberRecord> groups(std::uint64_t sm_key = 0) {
    bench.sm_key = sm_key;
    auto found = read_table<McMemberRecord>(
        bench.ask_table(bench.request(Method::GetTable, attr::kMcMemberRecord)));
    bench.sm_key = 0;
    EXPECT_TRUE(found);
    return *found;
  }
};

TEST_F(SaMulticast, DefaultIpoibGroupIsThereFromTheStart) {
  const auto found = groups();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(to_string(found[0].mgid), "ff12:401b:ffff::ffff:ffff");
  EXPECT_EQ(found[0].mlid, Lid{0xC000});
  EXPECT_EQ(found[0].q_key, 0x0b1bU);
  EXPECT_EQ(found[0].mtu, 4);
  EXPECT_EQ(found[0].rate, 3);
  EXPECT_EQ(found[0].p_key, ib::kDefaultPKey);
  EXPECT_EQ(found[0].sl.value, 0);
  EXPECT_THAT(bench.store->load()->groups, SizeIs(1)) << "its MLID outlives a restart";
  EXPECT_TRUE(bench.groups_at_start);
  EXPECT_FALSE(bench.server.take_multicast_changed());
}

/// As IPoIB does: MGID, PortGID and JoinState only; the answer brings the rest.
TEST_F(SaMulticast, JoinLearnsTheGroup) {
  bench.server.take_multicast_changed();
  const auto answer = join(broadcast, 3);
  EXPECT_EQ(answer.mad.method(), Method::GetResp);
  ASSERT_EQ(answer.mad.status(), status::kOk);
  EXPECT_EQ(answer.mad.get<&ib::wire::SaHeader::attribute_offset>(), 7);
  const auto r = ib::wire::body<McMemberRecord>(answer.mad);
  EXPECT_EQ(r.mlid, Lid{0xC000});
  EXPECT_EQ(r.q_key, 0x0b1bU);
  EXPECT_EQ(r.mtu, 4);
  EXPECT_EQ(r.mtu_selector, Selector::Exactly);
  EXPECT_EQ(r.rate, 3);
  EXPECT_EQ(r.packet_life, 18);
  EXPECT_EQ(r.join_state, 1);
  EXPECT_EQ(r.scope, 2);
  EXPECT_FALSE(r.proxy_join);
  EXPECT_EQ(r.port_gid, bench.gid(3));
  EXPECT_TRUE(bench.server.take_multicast_changed());
  EXPECT_THAT(bench.server.multicast(),
              ElementsAre(MlidMembers{Lid{0xC000}, {bench.host(3).guid}, {}, 1}));
}

TEST_F(SaMulticast, IsStoredBeforeItIsAnswered) {
  bench.server.take_multicast_changed();
  bench.give(set(wish(broadcast, 3), kJoin, 3));
  EXPECT_FALSE(bench.server.next_send(bench.now)) << "not yet durable";
  auto commit = bench.server.next_commit();
  ASSERT_TRUE(commit);
  EXPECT_THAT(commit->batch.members, SizeIs(1));
  EXPECT_FALSE(bench.server.take_multicast_changed());
  // A second join waits its turn: one commit at a time.
  bench.give(set(wish(broadcast, 4), kJoin, 4));
  EXPECT_FALSE(bench.server.next_commit());
  // A query does not wait.
  EXPECT_THAT(groups(), SizeIs(1));

  bench.server.on_commit_done(bench.now, commit->ticket, true);
  EXPECT_EQ(bench.server.next_send(bench.now)->mad.status(), status::kOk);
  EXPECT_FALSE(bench.server.next_send(bench.now));
  EXPECT_TRUE(bench.server.take_multicast_changed());
  EXPECT_THAT(bench.drain(), SizeIs(1)) << "the second";
  EXPECT_THAT(bench.server.multicast()[0].receivers, SizeIs(2));
}

TEST_F(SaMulticast, AFailedStoreRefusesTheJoin) {
  bench.give(set(wish(broadcast, 3), kJoin, 3));
  bench.server.on_commit_done(bench.now, bench.server.next_commit()->ticket, false);
  EXPECT_EQ(bench.server.next_send(bench.now)->mad.status(), status::kSaNoResources);
  EXPECT_THAT(bench.server.multicast()[0].receivers, IsEmpty());
  // And the next try is a new one.
  EXPECT_EQ(join(broadcast, 3).mad.status(), status::kOk);
}

/// The disk was full when it began, and is no more.
TEST_F(SaMulticast, AConfiguredGroupThatCouldNotBeStoredIsStoredWithItsFirstMember) {
  bench.store = store::make_memory_store({});
  bench.server.restore({});
  bench.server.publish(bench.now, bench.snapshot);
  bench.server.on_commit_done(bench.now, bench.server.next_commit()->ticket, false);
  join(broadcast, 3);
  const auto before = bench.server.multicast();
  Bench after(small_tree(), {}, *bench.store->load());
  EXPECT_EQ(after.server.multicast(), before);
  EXPECT_THAT(before, SizeIs(1));
}

TEST_F(SaMulticast, MembersSurviveARestart) {
  join(broadcast, 3);
  create(mgid("ff12:401b:ffff::1"), 4);
  const auto before = bench.server.multicast();
  Bench after(small_tree(), {}, *bench.store->load());
  EXPECT_EQ(after.server.multicast(), before);
  EXPECT_THAT(before, SizeIs(2));
}

TEST_F(SaMulticast, CreatesAGroupWithTheNextFreeMlid) {
  auto r = ib::wire::body<McMemberRecord>(create(mgid("ff12:401b:ffff::1"), 0).mad);
  EXPECT_EQ(r.mlid, Lid{0xC001});
  EXPECT_EQ(r.mtu, 5) << "what the port can";
  EXPECT_EQ(r.rate, 16);
  r = ib::wire::body<McMemberRecord>(create(mgid("ff12:401b:ffff::2"), 1).mad);
  EXPECT_EQ(r.mlid, Lid{0xC002});
  leave(mgid("ff12:401b:ffff::1"), 0);
  r = ib::wire::body<McMemberRecord>(create(mgid("ff12:401b:ffff::3"), 1).mad);
  EXPECT_EQ(r.mlid, Lid{0xC001}) << "freed";
}

TEST_F(SaMulticast, ChoosesAnMgidWhereNoneIsGiven) {
  const auto first = ib::wire::body<McMemberRecord>(create({}, 0).mad);
  const auto second = ib::wire::body<McMemberRecord>(create({}, 1).mad);
  EXPECT_EQ(to_string(first.mgid).substr(0, 9), "ff12:a01b");
  EXPECT_NE(first.mgid, second.mgid);
  EXPECT_NE(first.mlid, second.mlid);
}

TEST_F(SaMulticast, RunsOutOfMlidsWithAStatus) {
  auto observed = std::make_shared<ib::discover::Observed>(*bench.snapshot->observed);
  for (auto& node : observed->nodes)
    if (node.switch_info) node.switch_info->multicast_fdb_cap = 3;
  bench.snapshot->observed = observed;
  bench.server.publish(bench.now, bench.snapshot);
  EXPECT_EQ(create(mgid("ff12:401b:ffff::1"), 0).mad.status(), status::kOk);
  EXPECT_EQ(create(mgid("ff12:401b:ffff::2"), 0).mad.status(), status::kOk);
  EXPECT_EQ(create(mgid("ff12:401b:ffff::3"), 0).mad.status(), status::kSaNoResources);
}

TEST_F(SaMulticast, RefusesWithTheStatusThatSaysWhy) {
  const auto refused = [&](const McMemberRecord& r, std::uint64_t mask) {
    return bench.ask(set(r, mask, 0)).mad.status();
  };
  const auto group = mgid("ff12:401b:ffff::1");
  for (const unsigned missing : {0U, 1U, 16U})
    EXPECT_EQ(refused(wish(broadcast, 0), kJoin & ~mask_of({missing})),
              status::kSaInsufficientComponents);
  for (const unsigned missing : {2U, 6U, 7U, 12U, 13U})
    EXPECT_EQ(refused(wish(group, 0), kCreate & ~mask_of({missing})),
              status::kSaInsufficientComponents);
  EXPECT_EQ(refused(wish(broadcast, 0, 0), kJoin), status::kSaReqInvalid) << "no JoinState";
  EXPECT_EQ(refused(wish(group, 0, 2), kCreate), status::kSaReqInvalid)
      << "a non-member makes no group";
  auto r = wish(broadcast, 0);
  r.port_gid = Gid::from(0xFEC0000000000001ULL, bench.host(0).guid);
  EXPECT_EQ(refused(r, kJoin), status::kSaInvalidGid);
  r.port_gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x99});
  EXPECT_EQ(refused(r, kJoin), status::kSaReqInvalid) << "no such port";
  r = wish(broadcast, 0);
  r.q_key = 1;
  EXPECT_EQ(refused(r, kJoin | mask_of({2})), status::kSaReqInvalid) << "another Q_Key";
  r.p_key = ib::PKey{0x8000};
  EXPECT_EQ(refused(r, kJoin | mask_of({7})), status::kSaReqInvalid) << "P_Key 0";
  r = wish(broadcast, 0);
  r.mtu_selector = Selector::GreaterThan;
  r.mtu = 4;
  EXPECT_EQ(refused(r, kJoin | mask_of({4, 5})), status::kSaReqInvalid);
  r.mtu = 7;
  EXPECT_EQ(refused(r, kJoin | mask_of({4, 5})), status::kSaReqInvalid) << "no MTU code";
  EXPECT_EQ(refused(wish(mgid("fe12:401b:ffff::1"), 0), kCreate), status::kSaReqInvalid);
  EXPECT_EQ(refused(wish(mgid("ff32:401b:ffff::1"), 0), kCreate), status::kSaReqInvalid)
      << "reserved flags";
  EXPECT_EQ(refused(wish(mgid("ff12:a01b::1"), 0), kCreate), status::kSaReqInvalid)
      << "link-local and ours";
  EXPECT_EQ(refused(wish(mgid("ff15:601b:ffff::1"), 0), kCreate), status::kSaReqInvalid)
      << "no broadcast group of that scope";
  EXPECT_THAT(groups(), SizeIs(1)) << "nothing half done";
  EXPECT_THAT(bench.store->load()->members, IsEmpty());
}

TEST_F(SaMulticast, APortMustKeepUpWithTheGroup) {
  auto fabric = small_tree();
  const auto hosts = hosts_of(fabric);
  fabric.port(hosts[5]).width = ib::wire::LinkWidth::W1x;
  fabric.port(hosts[5]).speed = ib::wire::LinkSpeed::Sdr;
  bench = Bench(std::move(fabric));
  EXPECT_EQ(join(broadcast, 5).mad.status(), status::kSaReqInvalid) << "2.5 Gb/s into 10";
  EXPECT_EQ(join(broadcast, 6).mad.status(), status::kOk);
}

TEST_F(SaMulticast, NewGroupsFitTheWish) {
  const auto made = [&](const char* text, auto set_wish, std::uint64_t mask) {
    auto r = wish(mgid(text), 0);
    set_wish(r);
    const auto answer = bench.ask(set(r, kCreate | mask, 0));
    EXPECT_EQ(answer.mad.status(), status::kOk) << text;
    return ib::wire::body<McMemberRecord>(answer.mad);
  };
  EXPECT_EQ(made(
                "ff12:401b:ffff::1",
                [](McMemberRecord& r) {
                  r.mtu_selector = Selector::Exactly;
                  r.mtu = 3;
                },
                mask_of({4, 5}))
                .mtu,
            3);
  EXPECT_EQ(made(
                "ff12:401b:ffff::2",
                [](McMemberRecord& r) {
                  r.rate_selector = Selector::LessThan;
                  r.rate = 12;  // 56 Gb/s: the next slower one by speed is 50, code 20
                },
                mask_of({8, 9}))
                .rate,
            20);
  EXPECT_EQ(made(
                "ff12:401b:ffff::3", [](McMemberRecord& r) { r.mlid = Lid{0xC030}; }, mask_of({3}))
                .mlid,
            Lid{0xC030});
}

TEST_F(SaMulticast, JoinStatesAddUpAndAreTakenAwayPieceByPiece) {
  join(broadcast, 3, 1);
  EXPECT_EQ(ib::wire::body<McMemberRecord>(join(broadcast, 3, 4).mad).join_state, 5);
  EXPECT_EQ(leave(broadcast, 3, 2).mad.status(), status::kSaReqInvalid) << "not held";
  auto answer = leave(broadcast, 3, 1);
  EXPECT_EQ(answer.mad.method(), Method::DeleteResp);
  EXPECT_EQ(ib::wire::body<McMemberRecord>(answer.mad).join_state, 4);
  EXPECT_THAT(bench.server.multicast(),
              ElementsAre(MlidMembers{Lid{0xC000}, {}, {bench.host(3).guid}, 1}))
      << "only sends now";
  answer = leave(broadcast, 3, 4);
  EXPECT_EQ(ib::wire::body<McMemberRecord>(answer.mad).join_state, 0);
  EXPECT_THAT(bench.server.multicast(), ElementsAre(MlidMembers{Lid{0xC000}, {}, {}, 1}))
      << "a configured group stays";
}

TEST_F(SaMulticast, AGroupGoesWithItsLastFullMember) {
  const auto group = mgid("ff12:401b:ffff::1");
  create(group, 0);
  join(group, 1, 2);
  join(group, 2, 1);
  leave(group, 0);
  EXPECT_THAT(groups(), SizeIs(2));
  leave(group, 2);
  EXPECT_THAT(groups(), SizeIs(1)) << "the non-member is sent home with it";
  EXPECT_THAT(bench.store->load()->members, IsEmpty());
  EXPECT_EQ(leave(group, 1, 2).mad.status(), status::kSaReqInvalid);
}

TEST_F(SaMulticast, OnlyThePortItselfChangesItsOwnMembership) {
  join(broadcast, 3);
  EXPECT_EQ(bench.ask(remove(wish(broadcast, 3), 4)).mad.status(), status::kSaReqInvalid);
  EXPECT_EQ(bench.ask(set(wish(broadcast, 3, 4), kJoin, 4)).mad.status(), status::kSaReqInvalid);
  // A join for somebody else is a proxy join, and open to others.
  const auto answer = bench.ask(set(wish(broadcast, 7), kJoin, 4));
  ASSERT_EQ(answer.mad.status(), status::kOk);
  EXPECT_TRUE(ib::wire::body<McMemberRecord>(answer.mad).proxy_join);
  EXPECT_EQ(bench.ask(remove(wish(broadcast, 7), 5)).mad.status(), status::kOk);
}

TEST_F(SaMulticast, AnUnknownRequesterIsRefused) {
  auto request = set(wish(broadcast, 3), kJoin, 3);
  request.address.lid = Lid{0x7777};
  EXPECT_EQ(bench.ask(request).mad.status(), status::kSaReqInvalid);
}

TEST_F(SaMulticast, ARepeatedRequestGetsTheFirstAnswer) {
  join(broadcast, 3);
  const auto request = remove(wish(broadcast, 3), 3);
  EXPECT_EQ(bench.ask(request).mad.status(), status::kOk);
  EXPECT_EQ(bench.ask(request).mad.status(), status::kOk) << "its answer was lost";
  EXPECT_EQ(bench.server.counters().replayed, 1U);
  // A new request by the same words is a new request.
  EXPECT_EQ(leave(broadcast, 3).mad.status(), status::kSaReqInvalid);
  // Not for ever.
  join(broadcast, 4);
  const auto other = remove(wish(broadcast, 4), 4);
  EXPECT_EQ(bench.ask(other).mad.status(), status::kOk);
  bench.now = bench.now + std::chrono::seconds(31);
  EXPECT_EQ(bench.ask(other).mad.status(), status::kSaReqInvalid);
}

/// Copies of requests arrive late and out of order; the latest word stands.
TEST_F(SaMulticast, ALateCopyOfAJoinDoesNotUndoTheLeave) {
  const auto request = set(wish(broadcast, 3), kJoin, 3);
  const auto first = bench.ask(request);
  ASSERT_EQ(first.mad.status(), status::kOk);
  leave(broadcast, 3);
  bench.now = bench.now + std::chrono::milliseconds(4990);
  EXPECT_EQ(bench.ask(request).mad, first.mad);
  EXPECT_THAT(bench.server.multicast()[0].receivers, IsEmpty());
  EXPECT_EQ(bench.server.counters().replayed, 1U);
}

TEST_F(SaMulticast, ALateCopyOfALeaveDoesNotUndoTheJoin) {
  join(broadcast, 3);
  const auto request = remove(wish(broadcast, 3), 3);
  const auto first = bench.ask(request);
  join(broadcast, 3);
  bench.now = bench.now + std::chrono::milliseconds(4990);
  EXPECT_EQ(bench.ask(request).mad, first.mad);
  EXPECT_THAT(bench.server.multicast()[0].receivers, ElementsAre(bench.host(3).guid));
}

/// Programs that count their TIDs from the same number at every start say the same again.
TEST_F(SaMulticast, AnOutdatedRequestIsNewAfterFiveSeconds) {
  const auto request = set(wish(broadcast, 3), kJoin, 3);
  EXPECT_EQ(bench.ask(request).mad.status(), status::kOk);
  leave(broadcast, 3);
  bench.now = bench.now + std::chrono::seconds(5);
  EXPECT_EQ(bench.ask(request).mad.status(), status::kOk);
  EXPECT_THAT(bench.server.multicast()[0].receivers, ElementsAre(bench.host(3).guid));
  EXPECT_EQ(bench.server.counters().replayed, 0U);
}

TEST_F(SaMulticast, RepeatedCreationsMakeOneGroup) {
  const auto request = set(wish({}, 0), kCreate, 0);
  const auto first = bench.ask(request);
  const auto second = bench.ask(request);
  EXPECT_EQ(ib::wire::body<McMemberRecord>(first.mad).mgid,
            ib::wire::body<McMemberRecord>(second.mad).mgid);
  EXPECT_THAT(groups(), SizeIs(2));
}

TEST_F(SaMulticast, ManyJoinsAtOnceAreAnsweredOnceEach) {
  for (std::size_t i = 0; i < 16; ++i) {
    const auto request = set(wish(broadcast, i), kJoin, i);
    bench.server.on_packet(bench.now, request);
    bench.server.on_packet(bench.now, request);  // the client is impatient
  }
  EXPECT_THAT(bench.drain(), SizeIs(16));
  EXPECT_THAT(bench.server.multicast()[0].receivers, SizeIs(16));
}

TEST_F(SaMulticast, WhoIsAMemberIsForTheTrusted) {
  join(broadcast, 3);
  join(broadcast, 4, 4);
  auto seen = groups();
  ASSERT_THAT(seen, SizeIs(1)) << "one a group";
  EXPECT_TRUE(seen[0].port_gid.is_zero());
  EXPECT_EQ(seen[0].join_state, 0);
  seen = groups(1);
  ASSERT_THAT(seen, SizeIs(2)) << "one a member";
  EXPECT_EQ(seen[0].port_gid, bench.gid(3));
  EXPECT_EQ(seen[0].join_state, 1);
  EXPECT_EQ(seen[1].join_state, 4);
}

TEST_F(SaMulticast, QueriesByEveryComponent) {
  create(mgid("ff12:401b:ffff::1"), 0);
  auto r = wish(mgid("ff15:1234::5"), 1);
  r.q_key = 77;
  r.traffic_class = 9;
  r.sl = ib::Sl{3};
  r.flow_label = 0x54321;
  r.hop_limit = 6;
  r.mtu_selector = r.rate_selector = Selector::Exactly;
  r.mtu = 2;
  r.rate = 7;
  ASSERT_EQ(bench.ask(set(r, kCreate | mask_of({4, 5, 8, 9, 14}), 1)).mad.status(), status::kOk);
  join(broadcast, 3);
  join(broadcast, 4, 4);
  bench.sm_key = 1;
  const auto ask = [&](const McMemberRecord& wanted, std::uint64_t mask) {
    return *read_table<McMemberRecord>(
        bench.ask_table(bench.request(Method::GetTable, attr::kMcMemberRecord, wanted, mask)));
  };
  const auto all = ask({}, 0);
  ASSERT_THAT(all, SizeIs(4));
  const auto check = [&](const char* what, std::uint64_t mask, auto value) {
    for (const auto& wanted : all) {
      std::vector<McMemberRecord> expected;
      for (const auto& record : all)
        if (value(record) == value(wanted)) expected.push_back(record);
      EXPECT_TRUE(ask(wanted, mask) == expected) << what;
    }
  };
  check("MGID", mask_of({0}), [](const auto& x) { return x.mgid; });
  check("PortGID", mask_of({1}), [](const auto& x) { return x.port_gid; });
  check("Q_Key", mask_of({2}), [](const auto& x) { return x.q_key; });
  check("MLID", mask_of({3}), [](const auto& x) { return x.mlid; });
  check("MTU", mask_of({4, 5}), [](const auto& x) { return x.mtu; });
  check("MTU alone", mask_of({5}), [](const auto& x) { return x.mtu; });
  check("TClass", mask_of({6}), [](const auto& x) { return x.traffic_class; });
  check("P_Key", mask_of({7}), [](const auto& x) { return x.p_key; });
  check("Rate", mask_of({8, 9}), [](const auto& x) { return x.rate; });
  check("Rate alone", mask_of({9}), [](const auto& x) { return x.rate; });
  check("PacketLife", mask_of({10, 11}), [](const auto& x) { return x.packet_life; });
  check("PacketLife alone", mask_of({11}), [](const auto& x) { return x.packet_life; });
  check("SL", mask_of({12}), [](const auto& x) { return x.sl; });
  check("FlowLabel", mask_of({13}), [](const auto& x) { return x.flow_label; });
  check("HopLimit", mask_of({14}), [](const auto& x) { return x.hop_limit; });
  check("Scope", mask_of({15}), [](const auto& x) { return x.scope; });
  check("JoinState", mask_of({16}), [](const auto& x) { return x.join_state; });
  check("ProxyJoin", mask_of({17}), [](const auto& x) { return x.proxy_join; });
}

/// Whatever arrives, the server neither fails nor answers an answer, and every request of a known
/// method gets one answer at most.
TEST_F(SaMulticast, EndlessNonsenseIsSurvived) {
  constexpr unsigned kSeed = 99;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  constexpr Method kMethods[] = {Method::Get, Method::Set, Method::GetTable, Method::Delete};
  constexpr std::uint16_t kAttributes[] = {attr::kClassPortInfo, attr::kNodeRecord,
                                           attr::kPortInfoRecord, attr::kPathRecord,
                                           attr::kMcMemberRecord};
  for (int i = 0; i < 4000; ++i) {
    auto request = bench.request(kMethods[random() % 4], kAttributes[random() % 5],
                                 random() | std::uint64_t{random()} << 32, 0, random() % 16);
    for (std::size_t at = 56; at < 256; ++at)
      if (random() % 3 == 0) request.mad.bytes[at] = static_cast<std::byte>(random());
    if (random() % 8 == 0) request.mad.bytes[random() % 56] = static_cast<std::byte>(random());
    bench.server.on_packet(bench.now, request);
    for (const auto& answer : bench.drain())
      EXPECT_TRUE(ib::wire::is_response(answer.mad.method()) ||
                  ib::mad::rmpp::is_active(answer.mad));
    bench.now = bench.now + std::chrono::milliseconds(100);
    bench.server.on_time(bench.now);
  }
}

}  // namespace
}  // namespace sm::sa::test
