// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// From what happens to what subscribers are told, through the whole server: ports that come and go,
// groups that begin and end, what devices say; and what becomes of subscribers that leave.
#include "sm/sa/reports/forwarding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sm/sa/registry/notices.h"
#include "sm/sa/registry/untold_clients.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::wire::InformInfo;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;
namespace trap = ib::wire::trap;

class SaForwarding : public ::testing::Test {
 protected:
  Bench bench{small_tree()};
  std::vector<Guid> untold;  // ports that are to be asked to register again

  void subscribe(std::size_t host, std::uint16_t number, const Gid& producer = {}) {
    InformInfo i;
    i.gid = producer;
    i.lid_range_begin = Lid{0xFFFF};
    i.is_generic = i.subscribe = 1;
    i.type = 0xFFFF;
    i.trap_number = number;
    i.producer_type = 0xFFFFFF;
    ASSERT_EQ(bench.ask(bench.request(Method::Set, attr::kInformInfo, i, 0, 0, host)).mad.status(),
              status::kOk);
  }
  /// Everything sent until nothing is left to do now.
  std::vector<Packet> run() {
    std::vector<Packet> out;
    for (int turn = 0; turn < 100; ++turn) {
      if (bench.server.next_deadline() <= bench.now) bench.server.on_time(bench.now);
      const auto sent = bench.drain();
      bench.server.take_multicast_changed();  // as the router does: a deadline till then
      for (const Guid port : bench.server.take_untold_clients()) untold.push_back(port);
      out.insert(out.end(), sent.begin(), sent.end());
      if (sent.empty() && bench.server.next_deadline() > bench.now) break;
    }
    return out;
  }
  void run_for(ib::Duration time) {
    const Instant end = bench.now + time;
    while (bench.server.next_deadline() <= end) {
      bench.now = std::max(bench.now, bench.server.next_deadline());
      run();
    }
    bench.now = end;
  }
  /// A port goes and comes; within 20 s one host answers what it is told of that.
  void tell_while_only_answers(std::size_t host) {
    bench.server.publish(bench.now, with_state(7, ib::wire::PortState::Down));
    bench.server.publish(bench.now, bench.snapshot);
    const Instant end = bench.now + seconds(20);
    while (bench.server.next_deadline() <= end) {
      bench.now = std::max(bench.now, bench.server.next_deadline());
      for (const auto& packet : run())
        if (packet.address.lid == bench.host(host).lid) answer(packet);
    }
    bench.now = end;
  }
  /// A port says that its link changed.
  void link_change_at(std::size_t host) {
    ib::wire::Notice notice;
    notice.type = 1;
    notice.producer_type = 2;
    notice.trap_number = trap::kLinkStateChange;
    notice.issuer_lid = bench.host(host).lid;
    notice.details[1] = static_cast<std::uint8_t>(notice.issuer_lid.value);
    bench.server.on_notice(bench.now, notice, notice.issuer_lid);
  }
  void answer(const Packet& report) {
    Packet back = report;
    back.mad.set<&ib::wire::MadHeader::method>(Method::ReportResp);
    bench.server.on_packet(bench.now, back);
  }
  /// Reports sent now, each answered until there are no more: "LID trap subject".
  std::vector<std::string> told() {
    std::vector<std::string> lines;
    for (auto sent = run(); !sent.empty(); sent = run()) {
      for (const auto& packet : sent) {
        if (packet.mad.method() != Method::Report) continue;
        const auto notice = ib::wire::body<ib::wire::Notice>(packet.mad);
        lines.push_back(std::to_string(packet.address.lid.value) + " " +
                        std::to_string(notice.trap_number) +
                        (is_gid_notice(notice) ? " " + to_string(subject_of(notice)) : ""));
        answer(packet);
      }
    }
    return lines;
  }
  std::string line(std::size_t host, std::uint16_t number, const Gid& subject) {
    return std::to_string(bench.host(host).lid.value) + " " + std::to_string(number) + " " +
           to_string(subject);
  }
  /// The subnet as it is, but for one port's state.
  std::shared_ptr<Snapshot> with_state(std::size_t host, ib::wire::PortState port_state) {
    auto snapshot = std::make_shared<Snapshot>(*bench.snapshot);
    auto observed = std::make_shared<ib::discover::Observed>(*snapshot->observed);
    fields_of(observed->port(bench.hosts[host])).set<&ib::wire::PortInfo::port_state>(port_state);
    snapshot->observed = observed;
    ++snapshot->generation;
    return snapshot;
  }
  std::vector<store::Subscription> kept() { return bench.store->load()->subscriptions; }
};

TEST_F(SaForwarding, PortsThatLeaveAndComeBack) {
  subscribe(3, 64);
  subscribe(4, 65);
  EXPECT_THAT(told(), IsEmpty()) << "who was there from the start is no news";
  bench.server.publish(bench.now, with_state(7, ib::wire::PortState::Initialize));
  EXPECT_THAT(told(), ElementsAre(line(4, 65, bench.gid(7))));
  bench.server.publish(bench.now, with_state(7, ib::wire::PortState::Armed));
  EXPECT_THAT(told(), IsEmpty()) << "not usable yet";
  bench.server.publish(bench.now, bench.snapshot);
  EXPECT_THAT(told(), ElementsAre(line(3, 64, bench.gid(7))));
  bench.server.publish(bench.now, bench.snapshot);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(SaForwarding, TheReportIsTheSubnetManagers) {
  subscribe(3, 65);
  bench.server.publish(bench.now, with_state(7, ib::wire::PortState::Down));
  const auto sent = run();
  ASSERT_THAT(sent, SizeIs(1));
  const auto notice = ib::wire::body<ib::wire::Notice>(sent[0].mad);
  EXPECT_EQ(notice.issuer_lid, bench.snapshot->sm_lid);
  EXPECT_EQ(notice.producer_type, 4U);
  Gid issuer;
  std::transform(sent[0].mad.data() + 64, sent[0].mad.data() + 80, issuer.bytes.begin(),
                 [](std::byte b) { return static_cast<std::uint8_t>(b); });
  EXPECT_EQ(issuer, Gid::from(ib::kDefaultSubnetPrefix, bench.snapshot->sm_port_guid));
}

TEST_F(SaForwarding, GroupsThatBeginAndEnd) {
  subscribe(3, 66);
  subscribe(3, 67);
  ib::wire::McMemberRecord r;
  ASSERT_TRUE(ib::parse_gid("ff12:401b:ffff::1234", r.mgid));
  r.port_gid = bench.gid(5);
  r.join_state = 1;
  r.q_key = 0x0b1b;
  r.p_key = ib::kDefaultPKey;
  bench.ask(bench.request(Method::Set, attr::kMcMemberRecord, r, 0x130C7, 0, 5));
  EXPECT_THAT(told(), ElementsAre(line(3, 66, r.mgid)));
  bench.ask(bench.request(Method::Delete, attr::kMcMemberRecord, r, 0x10003, 0, 5));
  EXPECT_THAT(told(), ElementsAre(line(3, 67, r.mgid)));
}

TEST_F(SaForwarding, WhatDevicesSayOfThemselves) {
  subscribe(3, 0xFFFF);
  link_change_at(6);
  EXPECT_THAT(told(), ElementsAre(std::to_string(bench.host(3).lid.value) + " 128"));
  ib::wire::Notice notice;
  notice.trap_number = trap::kLinkStateChange;
  notice.issuer_lid = bench.host(6).lid;
  bench.server.on_notice(bench.now, notice, bench.host(7).lid);
  notice.issuer_lid = Lid{0xBFFF};
  bench.server.on_notice(bench.now, notice, Lid{0xBFFF});
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(bench.server.counters().notices_implausible, 2U);
  EXPECT_EQ(bench.server.counters().reports_answered, 1U);
}

/// Every GID of a port means the port: an alias, and the default prefix where the subnet has
/// another.
TEST_F(SaForwarding, ADeviceIsMeantByEachOfItsGids) {
  constexpr std::uint64_t kOurs = 0xFEC0'0000'0000'0001;
  auto snapshot = snapshot_of(small_tree());
  snapshot->subnet_prefix = kOurs;
  bench = Bench(snapshot);
  ib::wire::GuidInfoRecord alias;
  alias.lid = bench.host(6).lid;
  alias.guid_info.guid[1] = Guid{0xA1};
  ASSERT_EQ(
      bench.ask(bench.request(Method::Set, attr::kGuidInfoRecord, alias, 0x23, 0, 6)).mad.status(),
      status::kOk);
  const Guid own = bench.host(6).guid;
  subscribe(0, 128, Gid::from(kOurs, own));
  subscribe(1, 128, Gid::from(kOurs, Guid{0xA1}));
  subscribe(2, 128, Gid::from(ib::kDefaultSubnetPrefix, own));
  subscribe(3, 128, Gid::from(ib::kDefaultSubnetPrefix, Guid{0xA1}));
  subscribe(4, 128, Gid::from(kOurs, bench.host(7).guid));
  const auto at = [&](std::size_t host) {
    return std::to_string(bench.host(host).lid.value) + " 128";
  };
  link_change_at(6);
  EXPECT_THAT(told(), UnorderedElementsAre(at(0), at(1), at(2), at(3)));
  link_change_at(7);
  EXPECT_THAT(told(), ElementsAre(at(4)));

  bench.ask(bench.request(Method::Delete, attr::kGuidInfoRecord, alias, 0x23, 0, 6));
  link_change_at(6);
  EXPECT_THAT(told(), UnorderedElementsAre(at(0), at(2))) << "the alias is nobody's any more";
}

TEST_F(SaForwarding, OnePortsStormIsLimited) {
  subscribe(3, 0xFFFF);
  ib::wire::Notice notice;
  notice.trap_number = trap::kBadPKey;
  notice.type = 4;
  notice.issuer_lid = bench.host(6).lid;
  for (unsigned i = 0; i < 1000; ++i) {
    notice.details[20] = static_cast<std::uint8_t>(i);
    notice.details[21] = static_cast<std::uint8_t>(i >> 8);
    bench.server.on_notice(bench.now, notice, bench.host(6).lid);
  }
  EXPECT_EQ(bench.server.counters().notices_limited, 1000U - 64U);
  const auto before = bench.server.counters().notices_limited;
  notice.issuer_lid = bench.host(7).lid;
  bench.server.on_notice(bench.now, notice, bench.host(7).lid);
  EXPECT_EQ(bench.server.counters().notices_limited, before) << "others are heard";
  bench.now = bench.now + seconds(1);
  notice.issuer_lid = bench.host(6).lid;
  bench.server.on_notice(bench.now, notice, bench.host(6).lid);
  EXPECT_EQ(bench.server.counters().notices_limited, before) << "and it too, later";
}

TEST_F(SaForwarding, ASubscriberThatLeavesIsForgotten) {
  subscribe(3, 64);
  subscribe(4, 64);
  auto fabric = small_tree();
  const auto cut = bench.host(3).guid;
  auto at = fabric.find_port_guid(cut);
  ASSERT_TRUE(at);
  fabric.node(at->node).guid = Guid{0xDEAD};  // another device in its place
  fabric.port(*at).guid = Guid{0xDEAE};
  fabric.reindex();
  bench.server.publish(bench.now, snapshot_of(std::move(fabric)));
  run();
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0].subscriber, bench.host(4).guid);
  EXPECT_THAT(bench.store->load()->clients_to_ask, ElementsAre(cut))
      << "it may be in another part of the fabric, and hear nothing of that";
}

TEST_F(SaForwarding, ASubscriberWithAnotherLidHasToAskAgain) {
  subscribe(3, 64);
  auto fabric = small_tree();
  auto at = fabric.find_port_guid(bench.host(3).guid);
  fabric.port(*at).lid = Lid{200};
  fabric.reindex();
  bench.server.publish(bench.now, snapshot_of(std::move(fabric)));
  run();
  EXPECT_THAT(kept(), IsEmpty());
}

/// The one that has the LID now subscribes before what was there of the other has ended.
TEST_F(SaForwarding, ASubscriberStaysThatHasTheLidOfOneWhoseSubscriptionsEnd) {
  subscribe(3, 64);
  subscribe(3, 65);
  auto fabric = small_tree();
  std::swap(fabric.port(*fabric.find_port_guid(bench.host(3).guid)).lid,
            fabric.port(*fabric.find_port_guid(bench.host(4).guid)).lid);
  fabric.reindex();
  bench.server.publish(bench.now, snapshot_of(std::move(fabric)));
  subscribe(3, 64);  // from its LID
  run();
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0].subscriber, bench.host(4).guid);
  EXPECT_EQ(kept()[0].inform_info.trap_number, 64);
}

TEST_F(SaForwarding, ADeadSubscriberIsRemovedForGood) {
  subscribe(3, 0xFFFF);
  subscribe(3, 64);
  subscribe(4, 0xFFFF);
  for (int i = 0; i < 3; ++i) tell_while_only_answers(4);
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0].subscriber, bench.host(4).guid);
  EXPECT_EQ(bench.server.counters().subscribers_dead, 1U);
  EXPECT_EQ(bench.server.contents().subscriptions, kept());
  // The host may be there, behind a cable that loses MADs.
  EXPECT_THAT(untold, ElementsAre(bench.host(3).guid));
  EXPECT_THAT(bench.store->load()->clients_to_ask, ElementsAre(bench.host(3).guid))
      << "who is to ask it may die before it has";
}

/// It subscribes whenever it is asked, and answers no Report.
TEST_F(SaForwarding, WhoIsDeadAgainAndAgainIsAskedEveryTenMinutes) {
  subscribe(4, 0xFFFF);
  for (int minute = 0; minute < 15; ++minute) {
    subscribe(3, 0xFFFF);
    for (int i = 0; i < 3; ++i) tell_while_only_answers(4);
    ASSERT_THAT(kept(), SizeIs(1));
    EXPECT_EQ(untold.size(), minute < 10 ? 1U : 2U) << minute;
  }
  EXPECT_THAT(untold, Each(bench.host(3).guid));
}

/// Another one is master meanwhile. In the store it is one that is to be asked, and would be until
/// the next start.
TEST_F(SaForwarding, WhoIsToBeAskedLaterIsNotForgottenWhenTheServerWithdraws) {
  subscribe(4, 0xFFFF);
  for (int i = 0; i < 2; ++i) {
    subscribe(3, 0xFFFF);
    for (int n = 0; n < 3; ++n) tell_while_only_answers(4);
  }
  ASSERT_THAT(untold, SizeIs(1));
  ASSERT_THAT(bench.store->load()->clients_to_ask, ElementsAre(bench.host(3).guid));
  bench.server.withdraw();
  run_for(std::chrono::minutes(10));
  EXPECT_THAT(untold, SizeIs(2));
}

/// Each time that there are some a part of the fabric is swept and planned.
TEST(UntoldClients, ThatFallSilentOneAfterAnotherAreToldOfOnceASecond) {
  UntoldClients untold;
  Instant now{1'000'000'000};
  unsigned times = 0;
  std::set<Guid> told;
  for (std::uint64_t i = 1; i <= 300; ++i, now = now + milliseconds(10)) {
    untold.add(now, {Guid{i}});
    const auto some = untold.take(now);
    times += some.empty() ? 0 : 1;
    told.insert(some.begin(), some.end());
    EXPECT_TRUE(i != 1 || some == std::vector{Guid{1}}) << "the first at once";
  }
  EXPECT_EQ(times, 3U);
  now = untold.next_deadline();
  for (const Guid port : untold.take(now)) told.insert(port);
  EXPECT_THAT(told, SizeIs(300));
  EXPECT_EQ(untold.next_deadline(), ib::kNever);
}

/// Who takes its LID away asks it.
TEST_F(SaForwarding, WhoHasAnotherLidIsNotAskedForThat) {
  subscribe(3, 64);
  auto fabric = small_tree();
  fabric.port(*fabric.find_port_guid(bench.host(3).guid)).lid = Lid{200};
  fabric.reindex();
  bench.server.publish(bench.now, snapshot_of(std::move(fabric)));
  run();
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_THAT(untold, IsEmpty());
}

/// A program that was started again: reports that nobody answered meanwhile are not held against
/// it, or it would lose what it has just been granted.
TEST_F(SaForwarding, WhoSubscribesAgainIsAlive) {
  subscribe(3, 0xFFFF);
  bench.server.publish(bench.now, with_state(7, ib::wire::PortState::Down));
  run_for(seconds(3));
  bench.server.publish(bench.now, bench.snapshot);
  run_for(seconds(3));
  ASSERT_EQ(bench.server.counters().reports_failed, 2U);
  bench.server.publish(bench.now, with_state(7, ib::wire::PortState::Down));
  run_for(milliseconds(700));
  subscribe(3, 0xFFFF);
  run_for(seconds(20));
  EXPECT_EQ(bench.server.counters().reports_failed, 3U);
  EXPECT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(bench.server.counters().subscribers_dead, 0U);
}

TEST_F(SaForwarding, AfterARestartSubscribersAreToldOfNothingOld) {
  subscribe(3, 0xFFFF);
  Bench after(small_tree(), {}, *bench.store->load());
  after.server.on_time(after.now);
  EXPECT_THAT(after.drain(), IsEmpty());
}

}  // namespace
}  // namespace sm::sa::test
