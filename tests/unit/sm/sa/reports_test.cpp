// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reports to subscribers: one at a time, repeated, given up; queues with bounds.
#include "sm/sa/reports/reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "sm/sa/registry/notices.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::wire::InformInfo;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace trap = ib::wire::trap;

/// Reports with some subscribers, and the clock.
class SaReports : public ::testing::Test {
 protected:
  std::shared_ptr<Snapshot> snapshot = snapshot_of(small_tree());
  std::vector<PortRef> hosts = hosts_of(snapshot->fabric());
  Policy policy;
  State state;
  World world{std::make_shared<const Paths>(snapshot), state, policy};
  Reports reports;
  Instant now{1'000'000'000};

  const ib::fabric::Port& host(std::size_t i) const { return snapshot->fabric().port(hosts[i]); }
  store::Subscription subscription(std::size_t h, std::uint16_t number, std::uint32_t qpn = 1) {
    store::Subscription s;
    s.subscriber = host(h).guid;
    s.to = ib::mad::gsi_address(host(h).lid);
    s.to.qpn = qpn;
    s.inform_info.lid_range_begin = Lid{0xFFFF};
    s.inform_info.is_generic = s.inform_info.subscribe = 1;
    s.inform_info.type = 0xFFFF;
    s.inform_info.trap_number = number;
    s.inform_info.producer_type = 0xFFFFFF;
    return s;
  }
  void subscribe(const store::Subscription& s) {
    store::Batch batch;
    batch.subscriptions.push_back(s);
    state.apply(batch);
  }
  void cancel(const store::Subscription& s) {
    store::Batch batch;
    batch.subscriptions_removed.push_back(s);
    state.apply(batch);
  }
  static Event news(std::uint64_t guid, std::uint16_t number = trap::kGidInService) {
    return gid_event(number, Gid::from(ib::kDefaultSubnetPrefix, Guid{guid}));
  }
  std::vector<Packet> sent() {
    reports.step(now, world);
    std::vector<Packet> out;
    while (auto packet = reports.next_send(now)) out.push_back(std::move(*packet));
    return out;
  }
  std::vector<Packet> sent_after(ib::Duration time) {
    std::vector<Packet> out;
    const Instant end = now + time;
    while (reports.next_deadline() <= end) {
      now = std::max(now, reports.next_deadline());
      reports.on_time(now);
      for (auto& packet : sent()) out.push_back(std::move(packet));
    }
    now = end;
    return out;
  }
  bool answer(const Packet& report, std::uint16_t status = 0) {
    Packet back = report;
    back.mad.set<&ib::wire::MadHeader::method>(Method::ReportResp);
    back.mad.set<&ib::wire::MadHeader::status>(status);
    return reports.on_packet(now, back);
  }
  static Guid subject(const Packet& report) {
    return subject_of(ib::wire::body<ib::wire::Notice>(report.mad)).guid();
  }
};

TEST_F(SaReports, AReportAsItIsOnTheWire) {
  auto s = subscription(3, 64, 0x1234);
  s.to.sl = ib::Sl{5};
  s.to.p_key_index = 1;
  s.to.grh = ib::mad::Grh{Gid::from(ib::kDefaultSubnetPrefix, host(3).guid), 0, 0xFF, 0, 0};
  subscribe(s);
  auto event = news(0xABC);
  event.notice.issuer_lid = Lid{1};
  event.issuer_gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{0x77});
  reports.notify(event);
  const auto out = sent();
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(out[0].address, s.to);
  const auto& mad = out[0].mad;
  EXPECT_EQ(mad.mgmt_class(), ib::wire::MgmtClass::SubnAdm);
  EXPECT_EQ(mad.get<&ib::wire::MadHeader::class_version>(), 2);
  EXPECT_EQ(mad.method(), Method::Report);
  EXPECT_EQ(static_cast<unsigned>(mad.method()), 0x06U);
  EXPECT_EQ(mad.attribute_id(), 0x0002);
  EXPECT_EQ(ib::wire::body<ib::wire::Notice>(mad), event.notice);
  // The issuer's GID follows the notice.
  EXPECT_EQ(mad.data()[64], std::byte{0xFE});
  EXPECT_EQ(mad.data()[79], std::byte{0x77});
  EXPECT_GT(reports.reply_within(), seconds(1)) << "its answer has to find the way back";
  EXPECT_TRUE(answer(out[0]));
  EXPECT_FALSE(answer(out[0])) << "twice";
  EXPECT_THAT(sent_after(seconds(60)), IsEmpty());
}

TEST_F(SaReports, GoesToThoseWhoWantItAndNobodyElse) {
  subscribe(subscription(3, 64));
  subscribe(subscription(4, 65));
  subscribe(subscription(5, 0xFFFF));
  reports.notify(news(1));
  std::vector<Lid> lids;
  for (const auto& packet : sent()) lids.push_back(packet.address.lid);
  EXPECT_THAT(lids, ElementsAre(host(3).lid, host(5).lid));
}

TEST_F(SaReports, OneAtATimeAndInOrder) {
  subscribe(subscription(3, 0xFFFF));
  for (std::uint64_t i = 1; i <= 3; ++i) reports.notify(news(i));
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto out = sent();
    ASSERT_THAT(out, SizeIs(1));
    EXPECT_EQ(subject(out[0]).value, i);
    answer(out[0]);
  }
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(SaReports, AnAddressIsToldOnceHoweverOftenItSubscribed) {
  subscribe(subscription(3, 64));
  subscribe(subscription(3, 0xFFFF));
  subscribe(subscription(3, 64, 2));
  reports.notify(news(1));
  EXPECT_THAT(sent(), SizeIs(2)) << "one for each QP";
}

TEST_F(SaReports, WhatIsKnownToWaitIsNotQueuedAgain) {
  subscribe(subscription(3, 0xFFFF));
  reports.notify(news(1));
  auto first = sent();
  for (int i = 0; i < 10; ++i) reports.notify(news(2));
  answer(first[0]);
  auto second = sent();
  ASSERT_THAT(second, SizeIs(1));
  answer(second[0]);
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(SaReports, OfManyWithoutAnAnswerNoneKeepsItsPlaceForLong) {
  for (std::size_t h = 3; h < 3 + 4; ++h)
    for (std::uint32_t qpn = 1; qpn <= 50; ++qpn) subscribe(subscription(h, 0xFFFF, qpn));
  reports.notify(news(1));
  sent();
  EXPECT_GT(reports.reply_within(), ReportOptions{}.timeout) << "there are places enough";
  auto least = reports.reply_within();
  for (int i = 0; i < 10; ++i) {
    sent_after(ReportOptions{}.timeout);
    least = std::min(least, reports.reply_within());
  }
  EXPECT_EQ(least, ReportOptions{}.timeout);
}

TEST_F(SaReports, RepeatsAndGoesOn) {
  subscribe(subscription(3, 0xFFFF));
  reports.notify(news(1));
  reports.notify(news(2));
  sent();
  const auto out = sent_after(milliseconds(600));
  ASSERT_THAT(out, SizeIs(1)) << "the first, once more";
  EXPECT_EQ(subject(out[0]).value, 1U);
  // The second waits until the first is given up.
  bool second = false;
  for (const auto& packet : sent_after(seconds(4))) second = second || subject(packet).value == 2;
  EXPECT_TRUE(second);
  EXPECT_GE(reports.counters().failed, 1U);
}

TEST_F(SaReports, AnyAnswerIsASignOfLife) {
  subscribe(subscription(3, 0xFFFF));
  reports.notify(news(1));
  answer(sent()[0], 0x000C);
  EXPECT_EQ(reports.counters().answered, 1U);
  EXPECT_EQ(reports.counters().failed, 0U);
}

TEST_F(SaReports, WhoAnswersNothingIsGivenUp) {
  subscribe(subscription(3, 0xFFFF));
  subscribe(subscription(4, 0xFFFF));
  for (std::uint64_t i = 1; i <= 5; ++i) reports.notify(news(i));
  const Lid deaf = host(3).lid;
  std::size_t to_deaf = 0, told = 0;
  const Instant end = now + seconds(60);
  std::vector<Packet> out = sent();
  while (true) {
    for (const auto& packet : out) {
      if (packet.address.lid == deaf) {
        ++to_deaf;
      } else {
        answer(packet);
        ++told;
      }
    }
    out = sent();
    if (!out.empty()) continue;
    if (reports.next_deadline() > end) break;
    now = std::max(now, reports.next_deadline());
    reports.on_heard(now);
    reports.on_time(now);
  }
  EXPECT_EQ(told, 5U) << "the others are not held up";
  EXPECT_EQ(to_deaf, 12U) << "three reports, four times each";
  const auto dead = reports.next_dead();
  ASSERT_TRUE(dead);
  EXPECT_EQ(dead->lid, deaf);
  EXPECT_FALSE(reports.next_dead());
  EXPECT_EQ(reports.next_deadline(), ib::kNever);
  EXPECT_EQ(reports.counters().dropped, 2U) << "what waited for it";
}

/// Our own switch reboots, and every subscriber is as silent as a dead one.
TEST_F(SaReports, WhileNobodyIsHeardNobodyIsGivenUp) {
  subscribe(subscription(3, 0xFFFF));
  for (std::uint64_t i = 1; i <= 5; ++i) reports.notify(news(i));
  reports.on_heard(now);
  EXPECT_THAT(sent(), SizeIs(1));
  now = now + milliseconds(1);
  EXPECT_THAT(sent_after(seconds(60)), SizeIs(19));
  EXPECT_EQ(reports.counters().failed, 5U);
  EXPECT_FALSE(reports.next_dead());
  for (std::uint64_t i = 6; i <= 8; ++i) {
    reports.notify(news(i));
    EXPECT_THAT(sent(), SizeIs(1));
    reports.on_heard(now);
    sent_after(seconds(4));
  }
  EXPECT_TRUE(reports.next_dead());
}

TEST_F(SaReports, FailuresInARowCount) {
  subscribe(subscription(3, 0xFFFF));
  for (std::uint64_t i = 1; i <= 6; ++i) {
    reports.notify(news(i));
    const auto out = sent();
    ASSERT_THAT(out, SizeIs(1)) << i;
    if (i % 3 == 0) {
      answer(out[0]);
    } else {
      sent_after(seconds(4));
    }
  }
  EXPECT_FALSE(reports.next_dead());
}

TEST_F(SaReports, WhoCancelsIsNotTold) {
  subscribe(subscription(3, 64));
  subscribe(subscription(3, 66));
  reports.notify(news(1));
  reports.notify(news(2));
  auto out = sent();
  cancel(subscription(3, 64));
  answer(out[0]);
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(reports.next_deadline(), ib::kNever);
}

TEST_F(SaReports, QueuesAreBounded) {
  ReportOptions options;
  options.queue_max = 4;
  options.queued_max = 6;
  reports = Reports(options);
  subscribe(subscription(3, 0xFFFF));
  reports.notify(news(1));
  auto first = sent();
  for (std::uint64_t i = 2; i <= 10; ++i) reports.notify(news(i));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(reports.counters().dropped, 5U);
  answer(first[0]);
  EXPECT_EQ(subject(sent()[0]).value, 7U) << "the oldest were dropped";

  // All queues together.
  for (std::size_t h = 4; h < 12; ++h) subscribe(subscription(h, 0xFFFF));
  const auto before = reports.counters().dropped;
  for (std::uint64_t i = 20; i < 40; ++i) reports.notify(news(i));
  sent();
  EXPECT_GT(reports.counters().dropped, before);
}

TEST_F(SaReports, TheInboxIsBounded) {
  ReportOptions options;
  options.inbox_max = 3;
  reports = Reports(options);
  for (std::uint64_t i = 1; i <= 5; ++i) reports.notify(news(i));
  EXPECT_EQ(reports.counters().notices_dropped, 2U);
  EXPECT_LE(reports.next_deadline(), now) << "there is something to match";
  sent();
  EXPECT_EQ(reports.next_deadline(), ib::kNever);
}

/// Thousands of subscriptions are not looked through at once; who comes or goes meanwhile hears or
/// does not, and everybody else once.
TEST_F(SaReports, ManySubscriptionsAreLookedThroughInSteps) {
  constexpr std::uint32_t kMany = 5000;
  for (std::uint32_t qpn = 1; qpn <= kMany; ++qpn)
    subscribe(subscription(qpn % 16, qpn % 10 == 0 ? 64 : 65, qpn));
  reports.notify(news(1));
  std::map<std::pair<std::uint16_t, std::uint32_t>, unsigned> heard;
  std::size_t steps = 0;
  const auto gone = subscription(10, 64, 4090);
  for (; reports.next_deadline() <= now && steps < 100; ++steps) {
    if (steps == 1) cancel(gone);
    const auto out = sent();
    EXPECT_LE(out.size(), 400U) << "a part of them";
    for (const auto& report : out) {
      ++heard[{report.address.lid.value, report.address.qpn}];
      EXPECT_TRUE(answer(report));
    }
  }
  EXPECT_GE(steps, 3U);
  heard.erase({gone.to.lid.value, gone.to.qpn});
  EXPECT_THAT(heard, SizeIs(kMany / 10 - 1));
  for (const auto& [who, times] : heard) EXPECT_EQ(times, 1U) << who.second;
}

/// Whatever is lost on the way, what is acknowledged was told once and in order.
TEST_F(SaReports, LossySubscribersHearInOrder) {
  std::mt19937 random(11);
  SCOPED_TRACE("seed 11");
  ReportOptions options;
  options.attempts = 20;
  reports = Reports(options);
  for (std::size_t h = 2; h < 10; ++h) subscribe(subscription(h, 0xFFFF));
  std::map<Lid, std::uint64_t> last;
  std::uint64_t told = 0, next = 0;
  const auto hear = [&](const std::vector<Packet>& out) {
    for (const auto& packet : out) {
      if (random() % 4 == 0) continue;  // the report was lost
      auto& heard = last[packet.address.lid];
      const auto guid = subject(packet).value;
      ASSERT_TRUE(guid == heard || guid == heard + 1) << guid << " after " << heard;
      heard = guid;
      if (random() % 4 != 0) told += answer(packet) ? 1U : 0U;  // else the answer was
    }
  };
  for (int turn = 0; turn < 2000; ++turn) {
    if (next < 40) reports.notify(news(++next));
    hear(sent());
    if (reports.next_deadline() == ib::kNever) break;
    now = std::max(now, reports.next_deadline());
    reports.on_time(now);
    hear(sent());
  }
  EXPECT_EQ(told, 8U * 40U);
  for (const auto& [lid, heard] : last) EXPECT_EQ(heard, 40U) << lid.value;
}

}  // namespace
}  // namespace sm::sa::test
