// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/sim/kernel_fixture.h"

namespace ib::sim {
namespace {

using std::chrono::milliseconds;
using wire::Method;
using wire::MgmtClass;

constexpr int kEinval = -22, kEnomem = -12;

TEST_F(Kernel, RefusesWhatSomebodyElseRegistered) {
  const auto server = server_of(MgmtClass::VendorPing, {Method::Get});
  EXPECT_EQ(kernel.register_agent(file, server), 0);
  EXPECT_EQ(kernel.register_agent(file, server), kEinval);
  const FileId other = kernel.open();
  EXPECT_EQ(kernel.register_agent(other, server), kEinval);
  // Another method, OUI or version, or no method at all, is no conflict.
  EXPECT_EQ(kernel.register_agent(other, server_of(MgmtClass::VendorPing, {Method::Set})), 0);
  Registration elsewhere = server;
  elsewhere.oui = 0x123456;
  EXPECT_EQ(kernel.register_agent(other, elsewhere), 1);
  EXPECT_EQ(kernel.register_agent(other, server_of(MgmtClass::VendorPing, {Method::Get}, 2)), 2);
  EXPECT_EQ(kernel.register_agent(other, client_of(MgmtClass::VendorPing)), 3);
  // Who goes makes room.
  kernel.close(file);
  EXPECT_EQ(kernel.register_agent(other, server), 4);
}

TEST_F(Kernel, RefusesRegistrationsThatMakeNoSense) {
  Registration no_oui = client_of(MgmtClass::VendorPing);
  no_oui.oui = 0;
  EXPECT_EQ(kernel.register_agent(file, no_oui), kEinval);
  Registration wrong_qp = client_of(MgmtClass::Perf);
  wrong_qp.qpn = 0;
  EXPECT_EQ(kernel.register_agent(file, wrong_qp), kEinval);
  Registration rmpp_without_header = client_of(MgmtClass::Perf);
  rmpp_without_header.rmpp_version = 1;
  EXPECT_EQ(kernel.register_agent(file, rmpp_without_header), kEinval);
  EXPECT_EQ(kernel.register_agent(file, client_of(MgmtClass::Perf, 8)), kEinval);
  EXPECT_EQ(kernel.register_agent(file, client_of(static_cast<MgmtClass>(0x60))), kEinval);
  for (int i = 0; i < kAgentsPerFile; ++i) {
    ASSERT_EQ(kernel.register_agent(file, client_of(MgmtClass::Perf)), i);
  }
  EXPECT_EQ(kernel.register_agent(file, client_of(MgmtClass::Perf)), kEnomem);
}

TEST_F(Kernel, WritesItsClientNumberIntoTheTidOfRequests) {
  const auto first = kernel.register_agent(file, client_of(MgmtClass::Perf));
  const auto second = kernel.register_agent(file, client_of(MgmtClass::Perf));
  ASSERT_EQ(send(file, message(first, perf_get(), 0x1111, 100)), 0);
  ASSERT_EQ(send(file, message(first, perf_get(), 0x1111, 100)), kEinval) << "under way already";
  ASSERT_EQ(send(file, message(second, perf_get(), 0x1111, 100)), 0);
  ASSERT_EQ(port.sent.size(), 2U);
  const auto tid_of = [&](std::size_t i) { return port.sent[i].packet.mad.tid().value; };
  EXPECT_EQ(tid_of(0) & 0xFFFFFFFF, 0x1111U);
  EXPECT_EQ(tid_of(1) & 0xFFFFFFFF, 0x1111U);
  EXPECT_NE(tid_of(0) >> 32, 0U);
  EXPECT_NE(tid_of(0) >> 32, tid_of(1) >> 32);
}

TEST_F(Kernel, LeavesTheTidOfAnswersAlone) {
  const auto agent = kernel.register_agent(file, client_of(MgmtClass::Perf));
  UserMad m = message(agent, perf_get(), 0);
  m.packet.mad.set<&wire::MadHeader::method>(Method::GetResp);
  m.packet.mad.set<&wire::MadHeader::tid>(Tid{0x1234567887654321});
  ASSERT_EQ(send(file, m), 0);
  EXPECT_EQ(port.sent.at(0).packet.mad.tid().value, 0x1234567887654321U);
}

TEST_F(Kernel, GivesAnAnswerToWhoAsked) {
  const FileId other = kernel.open();
  const auto mine = kernel.register_agent(file, client_of(MgmtClass::Perf));
  const auto theirs = kernel.register_agent(other, client_of(MgmtClass::Perf));
  ASSERT_EQ(send(file, message(mine, perf_get(), 5, 100)), 0);
  ASSERT_EQ(send(other, message(theirs, perf_get(), 5, 100)), 0) << "TIDs are per file";
  kernel.on_delivery(at(1), arrival(answer_to(port.sent.at(1).packet)));
  EXPECT_TRUE(read(file).empty());
  const auto got = read(other);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].agent, theirs);
  EXPECT_EQ(got[0].status, 0U);
  EXPECT_EQ(got[0].length, 256U);
}

TEST_F(Kernel, DropsASecondAnswerAndOneNobodyWaitsFor) {
  const auto agent = kernel.register_agent(file, client_of(MgmtClass::Perf));
  ASSERT_EQ(send(file, message(agent, perf_get(), 5, 100)), 0);
  const auto answer = arrival(answer_to(port.sent.at(0).packet));
  kernel.on_delivery(at(1), answer);
  kernel.on_delivery(at(2), answer);
  EXPECT_EQ(read(file).size(), 1U);
  // Timeout 0: the request is done when it is sent.
  ASSERT_EQ(send(file, message(agent, perf_get(), 6, 0)), 0);
  kernel.on_delivery(at(3), arrival(answer_to(port.sent.at(1).packet)));
  EXPECT_TRUE(read(file).empty());
  EXPECT_EQ(kernel.counters().dropped_no_request, 2U);
  EXPECT_EQ(kernel.next_event(), kNever);
}

TEST_F(Kernel, MatchesClassAndGrhOfAnAnswerButNotItsSource) {
  const auto agent = kernel.register_agent(file, client_of(MgmtClass::Perf));
  ASSERT_EQ(send(file, message(agent, perf_get(), 5, 100)), 0);
  mad::Packet answer = answer_to(port.sent.at(0).packet);
  mad::Packet other_class = answer;
  other_class.mad.set<&wire::MadHeader::mgmt_class>(MgmtClass::DevMgt);
  kernel.on_delivery(at(1), arrival(other_class));
  mad::Packet with_grh = answer;
  with_grh.address.grh = mad::Grh{};
  kernel.on_delivery(at(1), arrival(with_grh));
  EXPECT_TRUE(read(file).empty());
  answer.address.lid = Lid{99};
  kernel.on_delivery(at(1), arrival(answer));
  EXPECT_EQ(read(file).size(), 1U);
}

TEST_F(Kernel, MatchesThePathBitsTheRequestWasSentFrom) {
  port.lmc_value = 2;
  const auto agent = kernel.register_agent(file, client_of(MgmtClass::Perf));
  UserMad request = message(agent, perf_get(), 5, 100);
  request.packet.address.path_bits = 1;
  ASSERT_EQ(send(file, request), 0);
  mad::Packet answer = answer_to(port.sent.at(0).packet);
  answer.address.path_bits = 2;
  kernel.on_delivery(at(1), arrival(answer));
  EXPECT_TRUE(read(file).empty());
  answer.address.path_bits = 5;  // the bits above the LMC are the LID's
  kernel.on_delivery(at(1), arrival(answer));
  EXPECT_EQ(read(file).size(), 1U);
}

TEST_F(Kernel, RepeatsARequestAndThenSendsItBack) {
  const auto agent = kernel.register_agent(file, client_of(MgmtClass::Perf));
  ASSERT_EQ(send(file, message(agent, perf_get(), 5, 100, 2)), 0);
  EXPECT_EQ(kernel.next_event(), at(100));
  kernel.advance(at(99));
  EXPECT_EQ(port.sent.size(), 1U);
  kernel.advance(at(100));
  kernel.advance(at(200));
  EXPECT_EQ(port.sent.size(), 3U);
  EXPECT_EQ(port.sent[2].packet.mad, port.sent[0].packet.mad);
  EXPECT_TRUE(read(file).empty());
  kernel.advance(at(300));
  EXPECT_EQ(port.sent.size(), 3U);
  const auto got = read(file);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].status, kStatusTimedOut);
  EXPECT_EQ(got[0].length, kMadHeaderBytes);
  EXPECT_EQ(got[0].agent, agent);
  EXPECT_EQ(got[0].packet.mad.tid(), port.sent[0].packet.mad.tid());
  EXPECT_EQ(got[0].packet.address.lid, Lid{7});
  EXPECT_EQ(kernel.next_event(), kNever);
  // The identifier is free again.
  EXPECT_EQ(send(file, message(agent, perf_get(), 5, 100), 301), 0);
}

TEST_F(Kernel, ANegativeTimeOutIsForEver) {
  const auto agent = kernel.register_agent(file, client_of(MgmtClass::Perf));
  ASSERT_EQ(send(file, message(agent, perf_get(), 5, 0xFFFFFFFF)), 0);
  EXPECT_EQ(kernel.next_event(), kNever);
  kernel.on_delivery(at(1'000'000), arrival(answer_to(port.sent.at(0).packet)));
  EXPECT_EQ(read(file).size(), 1U);
}

TEST_F(Kernel, SendsNoMoreRequestsThanAnswersAreExpectedAtATime) {
  const struct {
    Registration of;
    wire::Mad mad;
    std::size_t most;
  } kinds[] = {
      {client_of(MgmtClass::SubnDirected),
       wire::make_mad(MgmtClass::SubnDirected, Method::Get, wire::attr::kNodeInfo), 128},
      {client_of(MgmtClass::SubnAdm, 2),
       wire::make_mad(MgmtClass::SubnAdm, Method::Get, wire::attr::kPathRecord), 16},
      {client_of(MgmtClass::Perf), perf_get(), 200},  // as many as there are
  };
  for (const auto& kind : kinds) {
    port.sent.clear();
    const auto agent = kernel.register_agent(file, kind.of);
    for (std::uint32_t tid = 1; tid <= 200; ++tid)
      ASSERT_EQ(send(file, message(agent, kind.mad, tid, 100)), 0);
    EXPECT_EQ(port.sent.size(), kind.most);
    // Who waits has taken an identifier, but no clock runs.
    if (kind.most < 200) {
      EXPECT_EQ(send(file, message(agent, kind.mad, 200, 100)), kEinval);
      kernel.on_delivery(at(50), arrival(answer_to(port.sent.at(0).packet), kind.of.qpn == 0));
      EXPECT_EQ(port.sent.size(), kind.most + 1);
      kernel.advance(at(100));  // all but the one that went just now
      EXPECT_EQ(port.sent.size(), std::min<std::size_t>(2 * kind.most, 200));
      EXPECT_EQ(kernel.next_event(), at(150));
    }
    // What needs no answer goes at once.
    const std::size_t before = port.sent.size();
    EXPECT_EQ(send(file, message(agent, kind.mad, 1000), 100), 0);
    EXPECT_EQ(port.sent.size(), before + 1);
    EXPECT_EQ(kernel.unregister_agent(file, agent), 0);
    EXPECT_EQ(kernel.next_event(), kNever);
    read(file);
  }
}

TEST_F(Kernel, AnswersGetAndSetNobodyIsThereFor) {
  mad::Packet request;
  request.address = mad::gsi_address(Lid{3});
  request.mad = wire::make_mad(MgmtClass::VendorPing, Method::Get, wire::attr::kPing);
  kernel.on_delivery(at(0), arrival(request));
  ASSERT_EQ(port.sent.size(), 1U);
  const wire::Mad& answer = port.sent[0].packet.mad;
  EXPECT_EQ(answer.method(), Method::GetResp);
  EXPECT_EQ(answer.status(), wire::status::kBadAttribute);
  EXPECT_EQ(port.sent[0].packet.address.lid, Lid{3});

  for (const Method m : {Method::Send, Method::Trap, Method::GetTable, Method::GetResp}) {
    request.mad.set<&wire::MadHeader::method>(m);
    kernel.on_delivery(at(0), arrival(request));
  }
  EXPECT_EQ(port.sent.size(), 1U) << "everything else is dropped";
}

TEST_F(Kernel, DropsWhatIsNoMadForItsQueuePair) {
  const auto arrives = [&](wire::Mad mad, bool smi, std::uint8_t base_version = 1) {
    mad.set<&wire::MadHeader::base_version>(base_version);
    mad::Packet packet;
    packet.address = mad::gsi_address(Lid{3});
    packet.mad = mad;
    kernel.on_delivery(at(0), arrival(packet, smi));
  };
  const auto smp = wire::make_mad(MgmtClass::SubnLid, Method::Get, wire::attr::kSmInfo);
  arrives(perf_get(), false, 0x80);
  arrives(perf_get(), true);
  arrives(smp, false);
  arrives(wire::make_mad(MgmtClass::Comm, Method::Get, 0x0010), false);
  EXPECT_TRUE(port.sent.empty());
  EXPECT_EQ(kernel.counters().dropped_no_agent, 4U);
  arrives(perf_get(), false);
  arrives(smp, true);
  EXPECT_EQ(port.sent.size(), 2U);
}

TEST_F(Kernel, AnswersADirectedRouteWithItsDirectionBit) {
  mad::Packet request;
  request.address = mad::smi_address();
  request.mad = wire::make_mad(MgmtClass::SubnDirected, Method::Get, wire::attr::kSmInfo);
  kernel.on_delivery(at(0), arrival(request, true));
  ASSERT_EQ(port.sent.size(), 1U);
  EXPECT_TRUE(port.sent[0].smi);
  EXPECT_EQ(port.sent[0].packet.mad.get<&wire::MadHeader::status>(), 0x800C);
}

TEST_F(Kernel, GivesUnsolicitedMadsToClassVersionMethodAndOui) {
  const auto ping = kernel.register_agent(file, server_of(MgmtClass::VendorPing, {Method::Get}));
  mad::Packet request;
  request.mad = wire::make_mad(MgmtClass::VendorPing, Method::Get, wire::attr::kPing);
  kernel.on_delivery(at(0), arrival(request));
  const auto got = read(file);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].agent, ping);
  request.mad.set<&wire::VendorHeader::oui>(0x123456U);
  kernel.on_delivery(at(0), arrival(request));
  EXPECT_TRUE(read(file).empty());
  EXPECT_EQ(kernel.counters().unmatched_answered, 1U);
}

TEST_F(Kernel, RefusesDirectedRoutesThatDoNotStartAtThisPort) {
  const auto agent = kernel.register_agent(file, client_of(MgmtClass::SubnDirected));
  wire::Mad mad = wire::make_mad(MgmtClass::SubnDirected, Method::Get, wire::attr::kNodeInfo);
  EXPECT_EQ(send(file, message(agent, mad, 1, 100)), 0) << "to the own SMA";
  mad.set<&wire::SmpHeader::hop_count>(1);
  std::array<std::uint8_t, 64> path{};
  path[1] = 2;
  mad.set<&wire::SmpHeader::initial_path>(path);
  EXPECT_EQ(send(file, message(agent, mad, 2, 100)), kEinval);
  path[1] = 1;
  mad.set<&wire::SmpHeader::initial_path>(path);
  EXPECT_EQ(send(file, message(agent, mad, 3, 100)), 0);
  mad.set<&wire::SmpHeader::hop_count>(64);
  EXPECT_EQ(send(file, message(agent, mad, 4, 100)), kEinval);
  EXPECT_EQ(port.sent.size(), 2U);
}

TEST_F(Kernel, LetsADirectedRouteStartWhereALidLeads) {
  const auto agent = kernel.register_agent(file, client_of(MgmtClass::SubnDirected));
  wire::Mad mad = wire::make_mad(MgmtClass::SubnDirected, Method::Get, wire::attr::kPortInfo);
  mad.set<&wire::SmpHeader::hop_count>(1);
  std::array<std::uint8_t, 64> path{};
  path[1] = 8;  // of the switch that the LID leads to, not ours
  mad.set<&wire::SmpHeader::initial_path>(path);
  EXPECT_EQ(send(file, message(agent, mad, 1, 100)), kEinval);
  mad.set<&wire::SmpHeader::dr_slid>(Lid{3});
  EXPECT_EQ(send(file, message(agent, mad, 2, 100)), 0);
  EXPECT_EQ(port.sent.size(), 1U);
}

TEST_F(Kernel, RefusesWhatItCannotSend) {
  const auto agent = kernel.register_agent(file, client_of(MgmtClass::Perf));
  UserMad too_short = message(agent, perf_get(), 1);
  too_short.length = kRmppHeaderBytes - 1;
  EXPECT_EQ(send(file, too_short), kEinval);
  UserMad too_long = message(agent, perf_get(), 1);
  too_long.packet.more.resize(1);
  too_long.length = wire::kMadBytes + 1;
  EXPECT_EQ(send(file, too_long), kEinval);
  EXPECT_EQ(send(file, message(agent + 1, perf_get(), 1)), kEinval);
  EXPECT_EQ(send(file, message(-1, perf_get(), 1)), kEinval);
  ASSERT_EQ(kernel.unregister_agent(file, agent), 0);
  EXPECT_EQ(kernel.unregister_agent(file, agent), kEinval);
  EXPECT_EQ(send(file, message(agent, perf_get(), 1)), kEinval);
  EXPECT_TRUE(port.sent.empty());
}

TEST_F(Kernel, ForgetsRequestsOfAnAgentThatIsGone) {
  const auto agent = kernel.register_agent(file, client_of(MgmtClass::Perf));
  ASSERT_EQ(send(file, message(agent, perf_get(), 5, 100)), 0);
  const mad::Packet answer = answer_to(port.sent.at(0).packet);
  ASSERT_EQ(kernel.unregister_agent(file, agent), 0);
  kernel.on_delivery(at(1), arrival(answer));
  kernel.advance(at(1000));
  EXPECT_TRUE(read(file).empty());
  EXPECT_EQ(port.sent.size(), 1U);
}

TEST_F(Kernel, DropsWhatDoesNotFitIntoTheReceiveQueue) {
  port.slots = 2;
  const auto agent = kernel.register_agent(file, server_of(MgmtClass::VendorPing, {Method::Get}));
  ASSERT_GE(agent, 0);
  mad::Packet request;
  request.mad = wire::make_mad(MgmtClass::VendorPing, Method::Get, wire::attr::kPing);
  for (int i = 0; i < 5; ++i) kernel.on_delivery(at(0), arrival(request));
  EXPECT_EQ(kernel.counters().dropped_queue, 3U);
  kernel.take(file);
  kernel.on_delivery(at(0), arrival(request));
  EXPECT_EQ(read(file).size(), 2U);
  // A file that is closed unread gives its slots back.
  kernel.on_delivery(at(0), arrival(request));
  kernel.on_delivery(at(0), arrival(request));
  kernel.close(file);
  file = kernel.open();
  kernel.register_agent(file, server_of(MgmtClass::VendorPing, {Method::Get}));
  kernel.on_delivery(at(0), arrival(request));
  EXPECT_EQ(read(file).size(), 1U);
}

TEST_F(Kernel, WhatOneProgramLeavesUnreadKeepsNothingFromOthers) {
  port.slots = 2;
  ASSERT_GE(kernel.register_agent(file, server_of(MgmtClass::VendorPing, {Method::Get})), 0);
  mad::Packet request;
  request.mad = wire::make_mad(MgmtClass::VendorPing, Method::Get, wire::attr::kPing);
  for (int i = 0; i < 5; ++i) kernel.on_delivery(at(0), arrival(request));
  ASSERT_EQ(kernel.counters().dropped_queue, 3U);

  const auto other = kernel.open();
  const auto agent = kernel.register_agent(other, client_of(MgmtClass::Perf));
  ASSERT_EQ(send(other, message(agent, perf_get(), 5, 100)), 0);
  kernel.on_delivery(at(1), arrival(answer_to(port.sent.at(0).packet)));
  EXPECT_EQ(read(other).size(), 1U);
  EXPECT_EQ(kernel.counters().dropped_queue, 3U);
}

TEST_F(Kernel, DropsAndCountsWhatComesAboveTheThreshold) {
  ASSERT_GE(kernel.register_agent(file, server_of(MgmtClass::VendorPing, {Method::Get})), 0);
  mad::Packet request;
  request.mad = wire::make_mad(MgmtClass::VendorPing, Method::Get, wire::attr::kPing);
  ASSERT_EQ(kernel.set_receive_threshold(file, 3), 0);
  for (int i = 0; i < 5; ++i) kernel.on_delivery(at(0), arrival(request));
  EXPECT_EQ(kernel.receive_queue(file).unread, 3U);
  EXPECT_EQ(kernel.receive_queue(file).dropped, 2U);
  EXPECT_EQ(kernel.counters().dropped_threshold, 2U);
  EXPECT_EQ(kernel.counters().dropped_queue, 0U);
  // One that is read makes room for one.
  kernel.pop(file);
  for (int i = 0; i < 2; ++i) kernel.on_delivery(at(0), arrival(request));
  EXPECT_EQ(kernel.receive_queue(file).dropped, 3U);
  kernel.reset_dropped(file);
  EXPECT_EQ(kernel.receive_queue(file).dropped, 0U);
  // A higher threshold, and none, hold from then on.
  ASSERT_EQ(kernel.set_receive_threshold(file, 4), 0);
  for (int i = 0; i < 2; ++i) kernel.on_delivery(at(0), arrival(request));
  EXPECT_EQ(kernel.receive_queue(file).dropped, 1U);
  ASSERT_EQ(kernel.set_receive_threshold(file, 0), 0);
  for (int i = 0; i < 9; ++i) kernel.on_delivery(at(0), arrival(request));
  EXPECT_EQ(kernel.receive_queue(file).dropped, 1U);
  EXPECT_EQ(read(file).size(), 13U);
}

TEST_F(Kernel, AThresholdIsThatOfOneFile) {
  ASSERT_GE(kernel.register_agent(file, server_of(MgmtClass::VendorPing, {Method::Get})), 0);
  const auto other = kernel.open();
  ASSERT_GE(kernel.register_agent(other, server_of(MgmtClass::VendorPing, {Method::Set})), 0);
  ASSERT_EQ(kernel.set_receive_threshold(file, 1), 0);
  mad::Packet get, set;
  get.mad = wire::make_mad(MgmtClass::VendorPing, Method::Get, wire::attr::kPing);
  set.mad = wire::make_mad(MgmtClass::VendorPing, Method::Set, wire::attr::kPing);
  for (int i = 0; i < 4; ++i) {
    kernel.on_delivery(at(0), arrival(get));
    kernel.on_delivery(at(0), arrival(set));
  }
  EXPECT_EQ(read(file).size(), 1U);
  EXPECT_EQ(read(other).size(), 4U);
  EXPECT_EQ(kernel.receive_queue(other).dropped, 0U);
}

TEST_F(Kernel, WithoutTheModuleOptionThereIsNoThreshold) {
  port.thresholds = false;
  EXPECT_EQ(kernel.set_receive_threshold(file, 3), -95);
  EXPECT_EQ(kernel.receive_queue(file).threshold, 0U);
}

/// Takes as many as it has room for.
struct FewAtOnce final : Reader {
  std::size_t room{0};
  std::size_t program_read{0};
  std::vector<mad::Packet> got;
  std::size_t unread(std::size_t) override { return got.size() - program_read; }
  bool read(std::int32_t agent, const mad::Packet& packet) override {
    EXPECT_EQ(agent, 0);
    if (got.size() == room) return false;
    got.push_back(packet);
    return true;
  }
};

TEST_F(Kernel, AReaderGetsMadsAtOnceButNoneBeforeThoseThatWait) {
  FewAtOnce reader;
  const FileId direct = kernel.open(&reader);
  ASSERT_EQ(kernel.register_agent(direct, server_of(MgmtClass::Perf, {Method::Get})), 0);
  std::uint32_t next = 1;
  const auto arrives = [&] {
    kernel.on_delivery(at(1), arrival(message(0, perf_get(), next++).packet));
  };
  const auto tid = [](const mad::Packet& p) { return p.mad.tid().value; };
  reader.room = 2;
  for (int i = 0; i < 4; ++i) arrives();
  EXPECT_EQ(reader.got.size(), 2U);
  reader.room = 10;
  arrives();
  ASSERT_EQ(reader.got.size(), 2U) << "two wait already";
  const auto waited = read(direct);
  ASSERT_EQ(waited.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(tid(waited[i].packet), 3 + i);
  arrives();
  ASSERT_EQ(reader.got.size(), 3U);
  EXPECT_EQ(tid(reader.got[2]), 6U);
  EXPECT_EQ(kernel.front(direct), nullptr);
}

TEST_F(Kernel, LetsOneOpenerHaveTheIssmFile) {
  const IssmId first = kernel.issm_open(at(0));
  EXPECT_TRUE(kernel.issm_granted(first));
  EXPECT_TRUE(port.is_sm);
  const IssmId second = kernel.issm_open(at(0));
  EXPECT_FALSE(kernel.issm_granted(second));
  kernel.issm_close(at(1), first);
  EXPECT_TRUE(kernel.issm_granted(second));
  EXPECT_TRUE(port.is_sm);
  kernel.issm_close(at(2), second);
  EXPECT_FALSE(port.is_sm);
  EXPECT_FALSE(kernel.issm_busy());
}

}  // namespace
}  // namespace ib::sim
