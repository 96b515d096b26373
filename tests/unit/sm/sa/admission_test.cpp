// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Queues: fairness, bounds, BUSY, age; repetitions; and that every request is answered once.
#include "sm/sa/intake/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "sm/sa/paths/path_records.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

constexpr auto kAnything = [](Lid, const Packet&) { return true; };

/// No record, no components.
Packet bare(Bench& bench, Method method, std::uint16_t attribute, std::size_t from) {
  return bench.request(method, attribute, std::uint64_t{0}, std::uint32_t{0}, from);
}

Packet numbered(std::uint64_t tid) {
  Packet packet;
  packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{tid});
  return packet;
}

TEST(Admission, RequestersTakeTurns) {
  Admission admission;
  for (std::uint64_t i = 0; i < 3; ++i) admission.offer(Instant{0}, Lid{1}, numbered(10 + i));
  admission.offer(Instant{0}, Lid{2}, numbered(20));
  admission.offer(Instant{0}, Lid{3}, numbered(30));
  std::vector<std::uint64_t> order;
  while (auto next = admission.next(kAnything)) order.push_back(next->mad.tid().value);
  EXPECT_THAT(order, ElementsAre(10, 20, 30, 11, 12));
  EXPECT_EQ(admission.waiting(), 0U);
  EXPECT_EQ(admission.next_deadline(), ib::kNever);
}

TEST(Admission, AQueueHasABound) {
  AdmissionOptions options;
  options.queue_size = 4;
  Admission admission(options);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(admission.offer(Instant{0}, Lid{1}, numbered(1)));
  EXPECT_FALSE(admission.offer(Instant{0}, Lid{1}, numbered(1)));
  EXPECT_TRUE(admission.offer(Instant{0}, Lid{2}, numbered(1)));
}

TEST(Admission, TheGreedyLeaveRoomForTheModest) {
  AdmissionOptions options;
  options.queue_size = 1000;
  options.queue_in_all = 1000;
  Admission admission(options);
  for (std::uint16_t lid = 1; lid <= 100; ++lid)
    for (int i = 0; i < 1000; ++i) admission.offer(Instant{0}, Lid{lid}, numbered(1));
  EXPECT_LT(admission.waiting(), 1000U);
  for (std::uint16_t lid = 101; lid <= 200; ++lid)
    EXPECT_TRUE(admission.offer(Instant{0}, Lid{lid}, numbered(1)));
}

TEST(Admission, WhatIsHeldBackComesOutWhenItIsTooOld) {
  Admission admission;
  admission.offer(Instant{0}, Lid{1}, numbered(1));
  admission.offer(Instant{5}, Lid{2}, numbered(2));
  const auto not_first = [](Lid who, const Packet&) { return who != Lid{1}; };
  EXPECT_EQ(admission.next(not_first)->mad.tid().value, 2U);
  EXPECT_FALSE(admission.next(not_first));
  EXPECT_FALSE(admission.has_next());
  const auto late = admission.next_deadline();
  EXPECT_EQ(late, Instant{0} + std::chrono::seconds(2));
  EXPECT_FALSE(admission.expired(late - std::chrono::nanoseconds(1)));
  EXPECT_EQ(admission.expired(late)->mad.tid().value, 1U);
  EXPECT_EQ(admission.waiting(), 0U);
  admission.resume();
  EXPECT_FALSE(admission.has_next());
}

/// A table that has to wait, or a write, does not hold up what is asked after it.
TEST(Admission, WhatIsHeldBackHoldsUpItsOwnKind) {
  Admission admission;
  const auto of = [](Method method, std::uint64_t tid) {
    auto packet = numbered(tid);
    packet.mad.set<&ib::wire::MadHeader::method>(method);
    return packet;
  };
  std::uint64_t tid = 0;
  for (const auto method : {Method::GetTable, Method::Set, Method::GetMulti, Method::Get,
                            Method::GetTraceTable, Method::Delete, Method::Get})
    admission.offer(Instant{0}, Lid{1}, of(method, ++tid));
  const auto only_gets = [](Lid who, const Packet& request) {
    EXPECT_EQ(who, Lid{1});
    return request.mad.method() == Method::Get;
  };
  std::vector<std::uint64_t> order;
  while (auto next = admission.next(only_gets)) order.push_back(next->mad.tid().value);
  EXPECT_THAT(order, ElementsAre(4, 7));
  EXPECT_FALSE(admission.has_next());
  admission.resume();
  order.clear();
  while (auto next = admission.next(kAnything)) order.push_back(next->mad.tid().value);
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 6, 5));
}

TEST(SaAdmission, AFullQueueIsAnsweredBusy) {
  Options options;
  options.admission.queue_size = 8;
  Bench bench(small_tree(), options);
  for (int i = 0; i < 10; ++i)
    bench.server.on_packet(bench.now, bench.request(Method::Get, attr::kClassPortInfo));
  bench.server.on_packet(bench.now, bare(bench, Method::Get, attr::kClassPortInfo, 1));
  std::size_t busy = 0, good = 0;
  for (const auto& answer : bench.drain()) ++(answer.mad.status() == status::kBusy ? busy : good);
  EXPECT_EQ(busy, 2U);
  EXPECT_EQ(good, 9U);
  EXPECT_EQ(bench.server.counters().busy_queue_full, 2U);
  EXPECT_EQ(bench.server.counters().waiting_most, 9U);
}

TEST(SaAdmission, LimitsMayChangeWhileItServes) {
  Bench bench(small_tree());
  EXPECT_EQ(bench.server.limits(), Limits{});
  bench.server.set_limits({16, 16, 30});
  EXPECT_EQ(bench.server.limits(), (Limits{16, 16, 30}));
  for (int i = 0; i < 20; ++i)
    bench.server.on_packet(bench.now, bench.request(Method::Get, attr::kClassPortInfo));
  EXPECT_EQ(bench.server.counters().busy_queue_full, 4U);
  bench.server.set_limits({16, 20, 30});
  for (int i = 0; i < 20; ++i)
    bench.server.on_packet(bench.now, bench.request(Method::Get, attr::kClassPortInfo));
  EXPECT_EQ(bench.server.counters().busy_queue_full, 20U);
  bench.server.on_time(bench.now + std::chrono::milliseconds(30));
  EXPECT_EQ(bench.server.counters().busy_too_old, 20U);
  bench.server.reset_counters();
  EXPECT_EQ(describe(bench.server.counters()), "");
}

TEST(SaAdmission, ABusyRequestIsNewWhenItComesAgain) {
  Options options;
  options.admission.queue_size = 1;
  Bench bench(small_tree(), options);
  const auto first = bench.request(Method::Get, attr::kClassPortInfo);
  const auto second = bench.request(Method::Get, attr::kClassPortInfo);
  bench.server.on_packet(bench.now, first);
  bench.server.on_packet(bench.now, second);
  EXPECT_THAT(bench.drain(), SizeIs(2));
  EXPECT_EQ(bench.ask(second).mad.status(), status::kOk);
}

TEST(SaAdmission, AnOldRequestIsAnsweredBusyEvenIfNobodyServes) {
  Bench bench(small_tree());
  bench.server.on_packet(bench.now, bench.request(Method::Get, attr::kClassPortInfo));
  bench.now = bench.server.next_deadline();
  bench.server.on_time(bench.now);
  const auto answer = bench.server.next_send(bench.now);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->mad.status(), status::kBusy);
  EXPECT_FALSE(bench.server.work(bench.now));
}

TEST(SaAdmission, AStormFromOneHostIsItsOwnDelay) {
  Bench bench(small_tree());
  for (int i = 0; i < 200; ++i)
    bench.server.on_packet(bench.now, bare(bench, Method::Get, attr::kClassPortInfo, 0));
  const auto modest = bare(bench, Method::Get, attr::kClassPortInfo, 1);
  bench.server.on_packet(bench.now, modest);
  bench.server.work(bench.now);
  bench.server.work(bench.now);
  std::vector<Lid> served;
  while (auto answer = bench.server.next_send(bench.now)) served.push_back(answer->address.lid);
  EXPECT_THAT(served, ElementsAre(bench.host(0).lid, bench.host(1).lid));
}

TEST(SaReplays, ARepeatedReadGetsTheStoredAnswerForFiveSeconds) {
  Bench bench(small_tree());
  const auto request = bench.request(Method::Get, attr::kClassPortInfo);
  const auto first = bench.ask(request);
  bench.now = bench.now + std::chrono::milliseconds(4999);
  EXPECT_EQ(bench.ask(request).mad, first.mad);
  EXPECT_EQ(bench.server.counters().replayed, 1U);
  // By another LID, QP, method or TID, or in other words, it is another request.
  auto other = request;
  other.address.qpn = 2;
  bench.ask(other);
  other = request;
  other.address.lid = bench.host(1).lid;
  bench.ask(other);
  other = request;
  other.mad.set<&ib::wire::SaHeader::component_mask>(std::uint64_t{1});
  bench.ask(other);
  EXPECT_EQ(bench.server.counters().replayed, 1U);
  bench.now = bench.now + std::chrono::seconds(6);
  bench.ask(request);
  EXPECT_EQ(bench.server.counters().replayed, 1U);
}

/// Of an answer that is one record only the record is kept: what is made of it again is the same,
/// whatever the subnet has become meanwhile.
TEST(SaReplays, ARepeatedPathIsTheStoredOne) {
  Bench bench(small_tree());
  ib::wire::PathRecord wanted;
  wanted.slid = bench.host(0).lid;
  wanted.dlid = bench.host(1).lid;
  const auto request =
      bench.request(Method::Get, attr::kPathRecord, wanted,
                    bit(path_bit::kSlid) | bit(path_bit::kDlid), std::uint32_t{0}, std::size_t{0});
  const auto first = bench.ask(request);
  EXPECT_EQ(first.mad.status(), 0);
  auto later = std::make_shared<sm::Snapshot>(*bench.snapshot);
  later->subnet_timeout = static_cast<std::uint8_t>(later->subnet_timeout + 1);
  bench.server.publish(bench.now, later);
  EXPECT_EQ(bench.ask(request).mad, first.mad);
  EXPECT_EQ(bench.server.counters().replayed, 1U);
  auto again = request;
  again.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{0x777});
  EXPECT_NE(ib::wire::body<ib::wire::PathRecord>(bench.ask(again).mad),
            ib::wire::body<ib::wire::PathRecord>(first.mad));
}

TEST(SaReplays, WhatIsUnderWayIsNotBegunTwice) {
  Bench bench(small_tree());
  const auto request = bench.request(Method::Get, attr::kClassPortInfo);
  bench.server.on_packet(bench.now, request);
  bench.server.on_packet(bench.now, request);
  EXPECT_THAT(bench.drain(), SizeIs(1));
  EXPECT_EQ(bench.server.counters().under_way, 1U);
}

TEST(Replays, AreBounded) {
  ReplayOptions options;
  const auto room = [](std::size_t answers) {
    return answers * (sizeof(AnswerLog::Entry) + ib::wire::kMadBytes);
  };
  options.reads_bytes_max = room(100);
  options.writes_bytes_max = room(10);
  Replays replays(options);
  for (std::uint64_t tid = 1; tid <= 1000; ++tid) {
    for (const Method method : {Method::Get, Method::Set}) {
      auto request = numbered(tid);
      request.mad.set<&ib::wire::MadHeader::method>(method);
      request.mad.bytes.back() = std::byte{1};  // trailing zeros are not kept
      replays.find(Instant{0}, request);
      replays.begin();
      replays.end(Instant{0}, request, request);
    }
  }
  EXPECT_EQ(replays.size(), 110U) << "reads do not push writes out";
}

/// A TID that is used again while it is under way, twice; the answer to the first comes last but
/// one.
TEST(Replays, AnAnswerIsNotKeptForAnotherRequestOfItsTid) {
  Replays replays;
  std::array<Packet, 3> requests{numbered(1), numbered(1), numbered(1)};
  for (std::uint8_t i = 0; i < 3; ++i) requests[i].mad.data()[0] = std::byte{i};
  const auto& [first, second, third] = requests;
  for (const auto& request : {first, second}) {
    EXPECT_EQ(replays.find(Instant{0}, request), Replays::Seen::Never);
    replays.begin();
  }
  replays.end(Instant{0}, second, second);
  EXPECT_EQ(replays.find(Instant{0}, second), Replays::Seen::Answered);
  EXPECT_EQ(replays.find(Instant{0}, third), Replays::Seen::Never);
  replays.begin();
  replays.end(Instant{0}, first, first);
  EXPECT_EQ(replays.find(Instant{0}, third), Replays::Seen::UnderWay);
  replays.end(Instant{0}, third, third);
  EXPECT_EQ(replays.find(Instant{0}, third), Replays::Seen::Answered);
  EXPECT_EQ(replays.find(Instant{0}, first), Replays::Seen::Never);
}

TEST(Replays, OneTidForManyThingsLeavesNothingBehind) {
  Replays replays;
  for (std::uint8_t i = 0; i < 200; ++i) {
    auto request = numbered(1);
    request.mad.set<&ib::wire::MadHeader::method>(Method::Set);
    request.mad.set<&ib::wire::MadHeader::attribute_id>(attr::kMcMemberRecord);
    request.mad.data()[0] = std::byte{i};
    replays.find(Instant{0}, request);
    replays.begin();
    replays.end(Instant{0}, request, request);
  }
  EXPECT_EQ(replays.size(), 1U);
  EXPECT_EQ(replays.subjects(), 1U);
}

/// Reads, tables and writes from all hosts, some sent twice at once, some of the answers lost:
/// every TID gets one final answer, or BUSY, and only a repetition gets one more.
TEST(SaAdmission, EveryRequestGetsOneAnswerOrBusy) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Options options;
    options.admission.queue_size = 3;
    options.transfers_max = 4;
    options.transfers_per_requester = 2;
    Bench bench(small_tree(), options);
    struct Asked {
      std::size_t sent{0}, answers{0};
    };
    std::map<std::pair<std::uint16_t, std::uint64_t>, Asked> asked;
    std::map<std::pair<std::uint16_t, std::uint64_t>, ib::mad::rmpp::Receiver> tables;
    const auto server_address = ib::mad::gsi_address(bench.snapshot->sm_lid);
    const auto deliver = [&](const Packet& packet) {
      const std::pair key{packet.address.lid.value, packet.mad.tid().value};
      ASSERT_TRUE(asked.contains(key)) << "nobody asked that";
      if (!ib::mad::rmpp::is_active(packet.mad)) {
        ++asked[key].answers;
        return;
      }
      auto& receiver = tables[key];
      receiver.on_mad(bench.now, server_address, packet.mad);
      while (receiver.next_message()) ++asked[key].answers;
      while (auto ack = receiver.next_send()) {
        ack->address = packet.address;
        bench.server.on_packet(bench.now, *ack);
      }
    };
    const auto drain = [&](std::size_t slice) {
      for (std::size_t i = 0; i < slice && bench.server.work(bench.now); ++i) {
      }
      run_commits(bench.server, *bench.store, bench.now);
      while (auto packet = bench.server.next_send(bench.now)) deliver(*packet);
    };
    for (int step = 0; step < 3000; ++step) {
      const std::size_t from = random() % bench.hosts.size();
      Packet request;
      switch (random() % 4) {
        case 0:
          request = bare(bench, Method::GetTable, attr::kNodeRecord, from);
          break;
        case 1: {
          ib::wire::McMemberRecord member;
          member.mgid = ipoib_group(ib::kDefaultPKey).mgid;
          member.port_gid = bench.gid(from);
          member.join_state = 1;
          request = bench.request(random() % 2 == 0 ? Method::Set : Method::Delete,
                                  attr::kMcMemberRecord, member, 0x10003, 0, from);
          break;
        }
        case 2:
          request = bare(bench, Method::Get, 0x7777, from);
          break;
        default:
          request = bare(bench, Method::Get, attr::kClassPortInfo, from);
      }
      auto& entry = asked[{request.address.lid.value, request.mad.tid().value}];
      const std::size_t times = random() % 8 == 0 ? 2 : 1;
      for (std::size_t i = 0; i < times; ++i, ++entry.sent)
        bench.server.on_packet(bench.now, request);
      drain(random() % 3);
      bench.now = bench.now + std::chrono::microseconds(random() % 2000);
      if (bench.server.next_deadline() <= bench.now) bench.server.on_time(bench.now);
    }
    for (int turn = 0; turn < 1000; ++turn) {
      drain(100);
      bench.now = bench.now + std::chrono::microseconds(10);
      if (bench.server.next_deadline() <= bench.now) bench.server.on_time(bench.now);
    }
    for (const auto& [key, entry] : asked) {
      EXPECT_GE(entry.answers, 1U) << "LID " << key.first << " TID " << key.second;
      EXPECT_LE(entry.answers, entry.sent);
    }
    const auto& c = bench.server.counters();
    EXPECT_EQ(c.requests, c.answers + c.replayed + c.under_way);
    EXPECT_GT(c.busy_queue_full, 0U);
  }
}

}  // namespace
}  // namespace sm::sa::test
