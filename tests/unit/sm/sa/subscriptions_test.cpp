// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Subscribing to notices: who may, to what; which notice is meant, and who may hear of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/sa/registry/expiry.h"
#include "sm/sa/registry/notices.h"
#include "sm/sa/registry/world.h"
#include "sm/sa/reports/audience.h"
#include "tests/unit/sm/sa/subnet.h"
#include "tests/unit/sm/sa/to_trap.h"

namespace sm::sa::test {
namespace {

using ib::wire::InformInfo;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;
namespace trap = ib::wire::trap;

class SaSubscriptions : public ::testing::Test {
 protected:
  Bench bench{small_tree()};

  Packet set(const InformInfo& i, std::size_t from, std::uint32_t qpn = 1) {
    auto packet = bench.request(Method::Set, attr::kInformInfo, i, 0, 0, from);
    packet.address.qpn = qpn;
    return bench.ask(packet);
  }
  std::uint16_t status_of(const InformInfo& i, std::size_t from, std::uint32_t qpn = 1) {
    return set(i, from, qpn).mad.status();
  }
  std::vector<store::Subscription> kept() { return bench.store->load()->subscriptions; }
  static InformInfo cancelled(InformInfo i) {
    i.subscribe = 0;
    return i;
  }
};

TEST_F(SaSubscriptions, ASubscriptionIsEchoedAndKept) {
  auto wish = to_trap(64);
  wish.qpn = 77;  // means nothing here: reports go where the request came from
  const auto answer = set(wish, 3, 5);
  EXPECT_EQ(answer.mad.method(), Method::GetResp);
  ASSERT_EQ(answer.mad.status(), status::kOk);
  EXPECT_EQ(ib::wire::body<InformInfo>(answer.mad), wish);
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0].subscriber, bench.host(3).guid);
  EXPECT_EQ(kept()[0].to.lid, bench.host(3).lid);
  EXPECT_EQ(kept()[0].to.qpn, 5U);
  EXPECT_EQ(kept()[0].inform_info.qpn, 5U);
  EXPECT_FALSE(kept()[0].trusted);
}

TEST_F(SaSubscriptions, TheSameOnceMoreIsOne) {
  EXPECT_EQ(status_of(to_trap(64), 3), status::kOk);
  EXPECT_EQ(status_of(to_trap(64), 3), status::kOk);
  EXPECT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(status_of(to_trap(65), 3), status::kOk);
  EXPECT_EQ(status_of(to_trap(64), 3, 2), status::kOk) << "another QP is another subscriber";
  EXPECT_THAT(kept(), SizeIs(3));
}

TEST_F(SaSubscriptions, WhatOthersSubscribeToDoesNotOutdateAnAnswer) {
  set(to_trap(64), 3);
  const auto request =
      bench.request(Method::Set, attr::kInformInfo, cancelled(to_trap(64)), 0, 0, 3);
  EXPECT_EQ(bench.ask(request).mad.status(), status::kOk);
  EXPECT_EQ(status_of(to_trap(64), 4), status::kOk) << "another host";
  EXPECT_EQ(status_of(to_trap(65), 3), status::kOk) << "another trap";
  EXPECT_EQ(status_of(to_trap(64), 3, 2), status::kOk) << "another QP";
  bench.now = bench.now + std::chrono::seconds(29);
  EXPECT_EQ(bench.ask(request).mad.status(), status::kOk) << "its answer was lost";
  EXPECT_EQ(bench.server.counters().replayed, 1U);
}

TEST_F(SaSubscriptions, ALateCopyOfACancellationLeavesTheSubscription) {
  set(to_trap(64), 3);
  const auto request =
      bench.request(Method::Set, attr::kInformInfo, cancelled(to_trap(64)), 0, 0, 3);
  EXPECT_EQ(bench.ask(request).mad.status(), status::kOk);
  EXPECT_EQ(status_of(to_trap(64), 3), status::kOk);
  EXPECT_EQ(bench.ask(request).mad.status(), status::kOk);
  EXPECT_THAT(kept(), SizeIs(1));
}

TEST_F(SaSubscriptions, CancellingNeedsTheSameWords) {
  EXPECT_EQ(status_of(cancelled(to_trap(64)), 3), status::kSaReqInvalid) << "there is none";
  set(to_trap(64), 3);
  EXPECT_EQ(status_of(cancelled(to_trap(65)), 3), status::kSaReqInvalid);
  EXPECT_EQ(status_of(cancelled(to_trap(64)), 4), status::kSaReqInvalid) << "another's";
  EXPECT_EQ(status_of(cancelled(to_trap(64)), 3, 2), status::kSaReqInvalid) << "another QP's";
  auto other_qp = cancelled(to_trap(64));
  other_qp.qpn = 9;
  EXPECT_EQ(status_of(other_qp, 3), status::kSaReqInvalid);
  EXPECT_THAT(kept(), SizeIs(1));
  auto same_qp = cancelled(to_trap(64));
  same_qp.qpn = 1;
  EXPECT_EQ(status_of(same_qp, 3), status::kOk);
  EXPECT_THAT(kept(), IsEmpty());
  set(to_trap(64), 3);
  EXPECT_EQ(status_of(cancelled(to_trap(64)), 3), status::kOk) << "without a QP";
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(SaSubscriptions, OnlySetIsThere) {
  for (const auto method : {Method::Get, Method::GetTable, Method::Delete})
    EXPECT_EQ(bench.ask(bench.request(method, attr::kInformInfo, to_trap(64), 0)).mad.status(),
              status::kBadAttribute);
}

TEST_F(SaSubscriptions, NonsenseIsRefused) {
  auto wish = to_trap(64);
  wish.subscribe = 2;
  EXPECT_EQ(status_of(wish, 3), status::kSaReqInvalid);
  wish = to_trap(64);
  wish.is_generic = 2;
  EXPECT_EQ(status_of(wish, 3), status::kSaReqInvalid);
  auto packet = bench.request(Method::Set, attr::kInformInfo, to_trap(64), 0);
  packet.address.lid = Lid{0xBFFF};
  EXPECT_EQ(bench.ask(packet).mad.status(), status::kSaReqInvalid) << "from nowhere";
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(SaSubscriptions, SecurityTrapsNeedTrust) {
  for (const std::uint16_t number : std::initializer_list<std::uint16_t>{256, 257, 258, 259})
    EXPECT_EQ(status_of(to_trap(number), 3), status::kSaReqInvalid) << number;
  EXPECT_EQ(status_of(to_trap(255), 3), status::kOk);
  EXPECT_EQ(status_of(to_trap(260), 3), status::kOk);
  EXPECT_EQ(status_of(to_trap(0xFFFF), 3), status::kOk) << "all the others";
  bench.sm_key = 1;
  for (const std::uint16_t number : std::initializer_list<std::uint16_t>{256, 257, 258, 259})
    EXPECT_EQ(status_of(to_trap(number), 3), status::kOk) << number;
  for (const auto& s : kept())
    EXPECT_EQ(s.trusted, s.inform_info.trap_number >= 256 && s.inform_info.trap_number <= 259);
}

TEST_F(SaSubscriptions, LidRanges) {
  const auto range = [&](unsigned begin, unsigned end) {
    auto wish = to_trap(64);
    wish.lid_range_begin = Lid{static_cast<std::uint16_t>(begin)};
    wish.lid_range_end = Lid{static_cast<std::uint16_t>(end)};
    return status_of(wish, 3);
  };
  const unsigned own = bench.host(3).lid.value;
  EXPECT_EQ(range(own, 0), status::kOk) << "one LID";
  EXPECT_EQ(range(own, own), status::kOk);
  EXPECT_EQ(range(1, 0xBFFF), status::kOk) << "an end beyond every port";
  EXPECT_EQ(range(0xFFFF, 0), status::kOk) << "all";
  EXPECT_EQ(range(0xFFFF, 5), status::kOk) << "the end does not count then";
  EXPECT_EQ(range(0, 0), status::kOk) << "nobody's, as osmtest asks";
  EXPECT_EQ(range(0, 5), status::kOk);
  EXPECT_EQ(range(5, 4), status::kSaReqInvalid);
  EXPECT_EQ(range(0xBFFF, 0), status::kSaReqInvalid) << "a beginning beyond every port";
  EXPECT_EQ(range(0xC000, 0xC001), status::kSaReqInvalid);
}

TEST_F(SaSubscriptions, OfOneGid) {
  auto wish = to_trap(128);
  wish.gid = bench.gid(5);
  wish.lid_range_begin = Lid{0};
  EXPECT_EQ(status_of(wish, 3), status::kOk);
  wish.lid_range_begin = Lid{7};
  EXPECT_EQ(status_of(wish, 3), status::kOk);
  EXPECT_THAT(kept(), SizeIs(1)) << "the LIDs do not count beside a GID";
  wish.gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0xDEAD});
  EXPECT_EQ(status_of(wish, 3), status::kSaReqInvalid) << "nobody's, not yet perhaps";
}

/// It would never be told anything: who speaks here has a GID of this subnet.
TEST_F(SaSubscriptions, OfAGidOfAnotherSubnet) {
  auto wish = to_trap(128);
  for (const std::uint64_t prefix : {std::uint64_t{0x20010000'00000000}, std::uint64_t{0}}) {
    wish.gid = Gid::from(prefix, bench.host(5).guid);
    EXPECT_EQ(status_of(wish, 3), status::kSaInvalidGid) << "a port's GUID is not its GID";
    wish.gid = Gid::from(prefix, Guid{0xDEAD});
    EXPECT_EQ(status_of(wish, 3), status::kSaInvalidGid);
  }
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(SaSubscriptions, OnePortSubscribesSoOftenAndNoMore) {
  Options options;
  options.quotas.subscriptions = 2;
  Bench tight(small_tree(), options);
  const auto ask = [&](std::size_t from, std::uint16_t number, bool cancel = false) {
    auto wish = to_trap(number);
    wish.subscribe = cancel ? 0 : 1;
    return tight.ask(tight.request(Method::Set, attr::kInformInfo, wish, 0, 0, from)).mad.status();
  };
  EXPECT_EQ(ask(3, 64), status::kOk);
  EXPECT_EQ(ask(3, 65), status::kOk);
  EXPECT_EQ(ask(3, 66), status::kSaNoResources);
  EXPECT_EQ(ask(3, 65), status::kOk) << "once more is no more";
  EXPECT_EQ(ask(4, 66), status::kOk);
  EXPECT_EQ(ask(3, 64, true), status::kOk);
  EXPECT_EQ(ask(3, 66), status::kOk);
}

TEST_F(SaSubscriptions, SurviveARestart) {
  set(to_trap(64), 3);
  bench.sm_key = 1;
  set(to_trap(257), 4);
  Bench after(small_tree(), {}, *bench.store->load());
  EXPECT_EQ(after.server.contents().subscriptions, kept());
}

// ---- which notice is meant

Event event_of(std::uint16_t number, Lid issuer, std::uint8_t type = 4,
               std::uint32_t producer = 1) {
  Event e;
  e.notice.trap_number = number;
  e.notice.issuer_lid = issuer;
  e.notice.type = type;
  e.notice.producer_type = producer;
  e.issuer_gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x10});
  return e;
}

class SaMeant : public SaSubscriptions {
 protected:
  Policy policy;
  State state;
  World world{std::make_shared<const Paths>(bench.snapshot), state, policy};
};

TEST_F(SaMeant, EveryFieldOfInformInfoCounts) {
  const auto event = event_of(144, Lid{8});
  EXPECT_TRUE(is_meant(world, to_trap(144), event));
  EXPECT_TRUE(is_meant(world, to_trap(0xFFFF), event));
  EXPECT_FALSE(is_meant(world, to_trap(145), event));
  auto wanted = to_trap(144);
  wanted.type = 4;
  EXPECT_TRUE(is_meant(world, wanted, event));
  wanted.type = 3;
  EXPECT_FALSE(is_meant(world, wanted, event));
  wanted = to_trap(144);
  wanted.producer_type = 1;
  EXPECT_TRUE(is_meant(world, wanted, event));
  wanted.producer_type = 4;
  EXPECT_FALSE(is_meant(world, wanted, event));
  wanted = to_trap(144);
  wanted.is_generic = 0;
  EXPECT_FALSE(is_meant(world, wanted, event));
}

TEST_F(SaMeant, AVendorsNoticeIsMatchedByDeviceAndVendor) {
  auto event = event_of(0x1234, Lid{8}, 4, 0x2C9);
  event.notice.is_generic = false;
  auto wanted = to_trap(0x1234);
  EXPECT_FALSE(is_meant(world, wanted, event));
  wanted.is_generic = 0;
  EXPECT_TRUE(is_meant(world, wanted, event));
  wanted.producer_type = 0x2C9;
  EXPECT_TRUE(is_meant(world, wanted, event));
  wanted.producer_type = 0x2CA;
  EXPECT_FALSE(is_meant(world, wanted, event));
}

TEST_F(SaMeant, LidRangesOfIssuers) {
  const auto meant = [&](unsigned begin, unsigned end, unsigned issuer) {
    auto wanted = to_trap(144);
    wanted.lid_range_begin = Lid{static_cast<std::uint16_t>(begin)};
    wanted.lid_range_end = Lid{static_cast<std::uint16_t>(end)};
    return is_meant(world, wanted, event_of(144, Lid{static_cast<std::uint16_t>(issuer)}));
  };
  EXPECT_TRUE(meant(8, 0, 8)) << "an end of 0: this LID alone";
  EXPECT_FALSE(meant(8, 0, 9));
  EXPECT_FALSE(meant(8, 0, 7));
  EXPECT_TRUE(meant(8, 10, 8));
  EXPECT_TRUE(meant(8, 10, 10));
  EXPECT_FALSE(meant(8, 10, 11));
  EXPECT_TRUE(meant(8, 0xFFFF, 0xBFFF));
  EXPECT_TRUE(meant(0xFFFF, 0, 1));
  EXPECT_TRUE(meant(0xFFFF, 1, 2));
}

TEST_F(SaMeant, AnyLidOfTheIssuersPortWillDo) {
  auto fabric = small_tree();
  auto& port = fabric.port(hosts_of(fabric)[1]);
  port.lid = Lid{256};
  port.lmc = 3;
  fabric.reindex();
  world.paths = std::make_shared<const Paths>(snapshot_of(std::move(fabric)));
  const auto meant = [&](unsigned begin, unsigned end) {
    auto wanted = to_trap(144);
    wanted.lid_range_begin = Lid{static_cast<std::uint16_t>(begin)};
    wanted.lid_range_end = Lid{static_cast<std::uint16_t>(end)};
    return is_meant(world, wanted, event_of(144, Lid{256}));
  };
  EXPECT_TRUE(meant(256, 0));
  EXPECT_TRUE(meant(263, 0));
  EXPECT_TRUE(meant(200, 256));
  EXPECT_TRUE(meant(260, 900));
  EXPECT_FALSE(meant(264, 0));
  EXPECT_FALSE(meant(200, 255));
}

TEST_F(SaMeant, WhoSpeaksIsNotBuried) {
  store::Batch batch;
  for (const std::size_t host : {3U, 4U}) {
    store::Subscription s;
    s.subscriber = bench.host(host).guid;
    s.to = ib::mad::gsi_address(bench.host(host).lid);
    s.inform_info = to_trap(144);
    batch.subscriptions.push_back(s);
  }
  state.apply(batch);
  Expiry expiry;
  for (const auto& s : batch.subscriptions) expiry.on_dead_subscriber(state, s.to);
  expiry.on_sign_of_life(bench.host(3).guid, batch.subscriptions[0].to);
  expiry.on_sign_of_life(bench.host(3).guid, batch.subscriptions[1].to);  // not his
  const auto change = expiry.next(bench.now, world, {});
  ASSERT_TRUE(change);
  EXPECT_THAT(change->batch.subscriptions_removed, ElementsAre(batch.subscriptions[1]));
}

class SaLeft : public SaMeant {
 protected:
  SaLeft() {
    store::Batch batch;
    subscription.subscriber = bench.host(3).guid;
    subscription.to = ib::mad::gsi_address(bench.host(3).lid);
    subscription.inform_info = to_trap(144);
    batch.subscriptions.push_back(subscription);
    state.apply(batch);
    auto fabric = small_tree();
    fabric.port(bench.hosts[3]).guid = Guid{0xDEAD};
    elsewhere.paths = std::make_shared<const Paths>(snapshot_of(std::move(fabric)));
  }
  store::Subscription subscription;
  World elsewhere = world;  // without the subscriber
  Expiry expiry;
};

TEST_F(SaLeft, WhoIsBackBeforeItsEndWasStoredIsNotEnded) {
  expiry.on_snapshot(elsewhere, nullptr);
  const auto change = expiry.next(bench.now, elsewhere, {});
  ASSERT_TRUE(change);
  EXPECT_THAT(change->batch.subscriptions_removed, ElementsAre(subscription));
  expiry.on_done(bench.now, false);
  expiry.on_snapshot(elsewhere, nullptr);
  const auto again_at = expiry.next_deadline(state, {});
  ASSERT_NE(again_at, ib::kNever);
  const auto again = expiry.next(again_at, elsewhere, {});
  ASSERT_TRUE(again);
  EXPECT_THAT(again->batch.subscriptions_removed, SizeIs(1)) << "however often it was missed";
  expiry.on_done(again_at, false);

  expiry.on_snapshot(world, nullptr);
  EXPECT_EQ(expiry.next_deadline(state, {}), ib::kNever);
  EXPECT_FALSE(expiry.next(again_at + std::chrono::minutes(1), world, {}));
}

TEST_F(SaLeft, WhoseCommitFailedWhileItCameBackIsNotEnded) {
  expiry.on_snapshot(elsewhere, nullptr);
  ASSERT_TRUE(expiry.next(bench.now, elsewhere, {}));
  expiry.on_snapshot(world, nullptr);
  expiry.on_done(bench.now, false);
  EXPECT_EQ(expiry.next_deadline(state, {}), ib::kNever);
}

TEST_F(SaLeft, WhoHasWithdrawnEndsNothingBeforeTheNextSnapshot) {
  store::Service service;
  service.expires = 1;
  store::Batch batch;
  batch.services.push_back(service);
  state.apply(batch);
  expiry.on_snapshot(elsewhere, nullptr);
  expiry.on_dead_subscriber(state, subscription.to);
  expiry.withdraw();
  EXPECT_EQ(expiry.next_deadline(state, {}), ib::kNever);
  EXPECT_FALSE(expiry.next(bench.now + std::chrono::hours(1), elsewhere, {}));
  expiry.on_snapshot(world, nullptr);
  EXPECT_NE(expiry.next_deadline(state, {}), ib::kNever) << "the service's lease is over";
}

TEST_F(SaMeant, AGidPutsTheLidsAside) {
  auto wanted = to_trap(144);
  wanted.gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x10});
  wanted.lid_range_begin = Lid{1};
  EXPECT_TRUE(is_meant(world, wanted, event_of(144, Lid{8})));
  wanted.gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x11});
  wanted.lid_range_begin = Lid{0xFFFF};
  EXPECT_FALSE(is_meant(world, wanted, event_of(144, Lid{8})));
}

// ---- who may hear

class SaHearing : public SaMeant {
 protected:
  store::Subscription subscriber(std::size_t host, bool trusted) {
    store::Subscription s;
    s.subscriber = bench.host(host).guid;
    s.to = ib::mad::gsi_address(bench.host(host).lid);
    s.inform_info = to_trap(0xFFFF);
    s.trusted = trusted;
    return s;
  }
};

TEST_F(SaHearing, SecurityIsForTheTrustedHoweverTheySubscribed) {
  for (const std::uint16_t number : std::initializer_list<std::uint16_t>{256, 257, 258, 259}) {
    const auto event = event_of(number, bench.host(5).lid, 2);
    EXPECT_FALSE(may_hear(world, subscriber(3, false), event)) << number;
    EXPECT_TRUE(may_hear(world, subscriber(3, true), event)) << number;
    // A device that gives it another type tells it to nobody else either.
    EXPECT_FALSE(may_hear(world, subscriber(3, false), event_of(number, bench.host(5).lid, 4)));
  }
  EXPECT_TRUE(may_hear(world, subscriber(3, false), event_of(144, bench.host(5).lid)));
  // A vendor's notice of this type.
  auto vendors = event_of(1, bench.host(5).lid, 2);
  vendors.notice.is_generic = false;
  EXPECT_FALSE(may_hear(world, subscriber(3, false), vendors));
}

/// `sa_key auto`: a requester that said 1 before could be any.
TEST_F(SaHearing, TheKeyThatEverybodyKnowsIsNoneOnceThereIsASecret) {
  const auto event = event_of(256, bench.host(5).lid, 2);
  auto s = subscriber(3, true);
  EXPECT_TRUE(may_hear(world, s, event));
  world.key_is_secret = true;
  EXPECT_FALSE(may_hear(world, s, event));
  EXPECT_TRUE(may_hear(world, s, event_of(144, bench.host(5).lid))) << "what is told to all";
  s.by_secret = true;
  EXPECT_TRUE(may_hear(world, s, event));
}

TEST_F(SaHearing, WhoLeftHearsNothing) {
  auto s = subscriber(3, false);
  s.subscriber = Guid{0xDEAD};
  EXPECT_FALSE(may_hear(world, s, event_of(144, Lid{8})));
  s = subscriber(3, false);
  s.to.lid = bench.host(4).lid;  // its port has another LID now
  EXPECT_FALSE(may_hear(world, s, event_of(144, Lid{8})));
}

TEST_F(SaHearing, AGroupIsNewsForItsPartition) {
  auto group = ipoib_group(ib::kDefaultPKey);
  EXPECT_TRUE(may_hear(world, subscriber(3, false), group_event(trap::kMcGroupCreated, group)));
  group.p_key = ib::PKey{0x8123};
  EXPECT_FALSE(may_hear(world, subscriber(3, false), group_event(trap::kMcGroupCreated, group)));
}

// ---- what devices say

TEST(SaNotices, DevicesSpeakOfThemselvesOnly) {
  const auto notice = [](std::uint16_t number, unsigned at, std::uint8_t lid) {
    auto n = event_of(number, Lid{8}).notice;
    if (at != 0) n.details[at] = lid;
    return n;
  };
  EXPECT_TRUE(is_plausible(notice(128, 1, 8), Lid{8}));
  EXPECT_FALSE(is_plausible(notice(128, 1, 9), Lid{8}));
  for (const std::uint16_t number : std::initializer_list<std::uint16_t>{129, 130, 131, 144, 145}) {
    EXPECT_TRUE(is_plausible(notice(number, 3, 8), Lid{8})) << number;
    EXPECT_FALSE(is_plausible(notice(number, 3, 9), Lid{8})) << number;
  }
  for (const std::uint16_t number : std::initializer_list<std::uint16_t>{256, 257, 258, 259})
    EXPECT_TRUE(is_plausible(notice(number, 3, 9), Lid{8})) << "these accuse others";
  for (const std::uint16_t number : std::initializer_list<std::uint16_t>{64, 65, 66, 67})
    EXPECT_FALSE(is_plausible(notice(number, 0, 0), Lid{8})) << "only the subnet manager's to say";
  EXPECT_FALSE(is_plausible(notice(144, 3, 8), Lid{9})) << "in another's name";
}

TEST(SaNotices, AGidEventNamesIt) {
  const auto gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x1234});
  const auto event = gid_event(trap::kGidInService, gid);
  EXPECT_EQ(subject_of(event.notice), gid);
  EXPECT_TRUE(is_gid_notice(event.notice));
  EXPECT_FALSE(is_gid_notice(event_of(144, Lid{1}).notice));
  EXPECT_EQ(event.notice.type, 3);
  EXPECT_EQ(event.notice.producer_type, 4U);
  // Six reserved bytes, then the GID.
  EXPECT_EQ(event.notice.details[5], 0);
  EXPECT_EQ(event.notice.details[6], 0xFE);
  EXPECT_EQ(event.notice.details[21], 0x34);
}

}  // namespace
}  // namespace sm::sa::test
