// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ib::sim {
namespace {

using std::chrono::milliseconds;
using wire::Method;
using wire::MgmtClass;

constexpr int kEinval = -22, kEnomem = -12;

/// A port whose wire is a list.
class Wire final : public Attachment {
 public:
  struct Sent {
    bool smi;
    mad::Packet packet;
  };
  void transmit(Instant, bool smi, const mad::Packet& packet) override {
    sent.push_back({smi, packet});
  }
  void set_is_sm(Instant, bool on) override { is_sm = on; }
  std::uint8_t lmc() const override { return lmc_value; }
  std::uint8_t port_num() const override { return 1; }
  bool is_switch() const override { return false; }
  std::uint32_t receive_queue() const override { return slots; }
  bool has_receive_thresholds() const override { return thresholds; }
  bool has_sa_congestion() const override { return sa_congestion; }

  std::vector<Sent> sent;
  bool is_sm{false};
  std::uint8_t lmc_value{0};
  std::uint32_t slots{512};
  bool thresholds{true};
  bool sa_congestion{false};
};

Registration client_of(MgmtClass c, std::uint8_t version = 1) {
  Registration r;
  r.mgmt_class = static_cast<std::uint8_t>(c);
  r.class_version = version;
  r.qpn = wire::is_smp(c) ? 0 : 1;
  if (wire::is_vendor_range2(c)) r.oui = wire::kOpenIbOui;
  return r;
}
Registration server_of(MgmtClass c, std::initializer_list<Method> methods,
                       std::uint8_t version = 1) {
  Registration r = client_of(c, version);
  for (const Method m : methods) {
    const auto bit = static_cast<unsigned>(m);
    r.method_mask[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  return r;
}

UserMad message(std::int32_t agent, wire::Mad mad, std::uint32_t tid, std::uint32_t timeout_ms = 0,
                std::uint32_t retries = 0) {
  UserMad m;
  m.agent = agent;
  m.timeout_ms = timeout_ms;
  m.retries = retries;
  mad.set<&wire::MadHeader::tid>(Tid{tid});
  m.packet.mad = mad;
  m.packet.address = wire::is_smp(mad.mgmt_class()) ? mad::smi_address() : mad::gsi_address(Lid{7});
  return m;
}
wire::Mad perf_get() {
  return wire::make_mad(MgmtClass::Perf, Method::Get, wire::attr::kPortCounters);
}

Delivery arrival(const mad::Packet& packet, bool smi = false) {
  Delivery d;
  d.smi = smi;
  d.packet = packet;
  return d;
}
/// What the other side answers to `request`.
mad::Packet answer_to(const mad::Packet& request) {
  mad::Packet p = request;
  const auto method = static_cast<unsigned>(Method::GetResp);
  p.mad.set<&wire::MadHeader::method>(static_cast<Method>(method));
  return p;
}

class Kernel : public testing::Test {
 protected:
  Instant at(int ms) const { return Instant{} + milliseconds(ms); }
  /// Everything unread of a file.
  std::vector<UserMad> read(FileId from) {
    std::vector<UserMad> all;
    while (kernel.front(from) != nullptr) all.push_back(kernel.take(from));
    return all;
  }
  int send(FileId to, UserMad m, int ms = 0) { return kernel.send(at(ms), to, m); }

  Wire port;
  HostKernel kernel{port};
  FileId file = kernel.open();
};

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

// ---- MAD congestion control

class SaCongestionOfAPort : public Kernel {
 protected:
  void SetUp() override {
    port.sa_congestion = true;
    agent = kernel.register_agent(file, client_of(MgmtClass::SubnAdm, 2));
  }
  static wire::Mad path_get() {
    return wire::make_mad(MgmtClass::SubnAdm, Method::Get, wire::attr::kPathRecord);
  }
  /// Sends requests of these TIDs.
  void ask(std::uint32_t first, std::uint32_t last, int ms = 0) {
    for (auto tid = first; tid <= last; ++tid)
      ASSERT_EQ(send(file, message(agent, path_get(), tid, 1000), ms), 0);
  }
  std::uint32_t sent_tid(std::size_t i) const {
    return static_cast<std::uint32_t>(port.sent.at(i).packet.mad.tid().value);
  }
  std::int32_t agent{};
};

TEST_F(SaCongestionOfAPort, SendsKeepsAndDrops) {
  EXPECT_EQ(kernel.sa_limits(), (mad::SaLimits{16, 16, 20}));
  ask(1, 40);
  EXPECT_EQ(port.sent.size(), 16U);
  EXPECT_EQ(kernel.sa_drops(), 8U);
  const auto back = read(file);
  ASSERT_EQ(back.size(), 8U) << "those that were dropped are told";
  for (const UserMad& m : back) EXPECT_EQ(m.status, kStatusDropped);
  EXPECT_EQ(back.front().length, kMadHeaderBytes);
  kernel.reset_sa_drops();
  EXPECT_EQ(kernel.sa_drops(), 0U);
  // An answer lets the oldest of those that wait go.
  kernel.on_delivery(at(1), arrival(answer_to(port.sent.at(3).packet)));
  ASSERT_EQ(port.sent.size(), 17U);
  EXPECT_EQ(sent_tid(16), 17U);
}

TEST_F(SaCongestionOfAPort, WhatWaitsTooLongComesBack) {
  ask(1, 20);
  EXPECT_EQ(kernel.next_event(), at(20));
  kernel.advance(at(19));
  EXPECT_TRUE(read(file).empty());
  kernel.advance(at(20));
  const auto back = read(file);
  ASSERT_EQ(back.size(), 4U);
  EXPECT_EQ(back.front().status, kStatusTimedOut);
  EXPECT_EQ(static_cast<std::uint32_t>(back.front().packet.mad.tid().value), 17U);
  EXPECT_EQ(kernel.sa_drops(), 0U);
  kernel.advance(at(1000));  // the others found no answer
  EXPECT_EQ(read(file).size(), 16U);
  ask(41, 56, 1000);
  EXPECT_EQ(port.sent.size(), 32U);
}

TEST_F(SaCongestionOfAPort, IsOfAllProgramsOfThePortAndOfTheSaAlone) {
  ask(1, 16);
  const FileId other = kernel.open();
  const auto sa = kernel.register_agent(other, client_of(MgmtClass::SubnAdm, 2));
  const auto perf = kernel.register_agent(other, client_of(MgmtClass::Perf));
  ASSERT_EQ(send(other, message(sa, path_get(), 90, 1000)), 0);
  EXPECT_EQ(port.sent.size(), 16U);
  ASSERT_EQ(send(other, message(perf, perf_get(), 91, 1000)), 0);
  EXPECT_EQ(port.sent.size(), 17U);
  // Who goes makes room for others.
  kernel.close(file);
  EXPECT_LE(kernel.next_event(), at(1));
  kernel.advance(at(1));
  ASSERT_EQ(port.sent.size(), 18U);
  EXPECT_EQ(sent_tid(17), 90U);
}

TEST_F(SaCongestionOfAPort, LimitsHoldFromTheNextOn) {
  ask(1, 20);
  kernel.set_sa_limits({18, 16, 500});
  EXPECT_LE(kernel.next_event(), at(0));
  kernel.advance(at(30));
  EXPECT_EQ(port.sent.size(), 18U);
  EXPECT_TRUE(read(file).empty());
  kernel.advance(at(500));
  EXPECT_EQ(read(file).size(), 2U);
}

TEST_F(SaCongestionOfAPort, AProgramThatLeavesWhileItsRequestsWaitIsForgotten) {
  ask(1, 40);
  kernel.close(file);
  kernel.advance(at(5000));
  EXPECT_EQ(port.sent.size(), 16U);
  EXPECT_EQ(kernel.next_event(), kNever);
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

// ---- RMPP: two kernels, one wire between them
// ----------------------------------------------------

class TwoKernels : public testing::Test {
 protected:
  void SetUp() override {
    Registration asks = client_of(MgmtClass::SubnAdm, 2);
    asks.rmpp_version = 1;
    client_agent = client.register_agent(client_file, asks);
    Registration serves = server_of(MgmtClass::SubnAdm, {Method::Get, Method::GetTable}, 2);
    serves.rmpp_version = 1;
    server_agent = server.register_agent(server_file, serves);
  }
  /// Carries what is on the wire to the other side until nothing is; `lose` counts down.
  void settle(Instant now) {
    while (!client_port.sent.empty() || !server_port.sent.empty()) {
      carry(now, client_port, server, Lid{1});
      carry(now, server_port, client, Lid{2});
    }
  }
  void carry(Instant now, Wire& from, HostKernel& to, Lid source) {
    const auto sent = std::move(from.sent);
    from.sent.clear();
    for (const auto& s : sent) {
      carried++;
      if (carried == lose) continue;
      Delivery d = arrival(s.packet);
      d.packet.address.lid = source;
      to.on_delivery(now, d);
    }
  }
  /// A table of `bytes` that goes back to who asked for `request`.
  UserMad table(const UserMad& request, std::size_t bytes) const {
    UserMad m;
    m.agent = server_agent;
    m.packet = request.packet;
    m.packet.mad.set<&wire::MadHeader::method>(Method::GetTableResp);
    m.packet.mad.set<&wire::RmppHeader::active>(true);
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 % 251);
    const std::size_t first = std::min(bytes, wire::kSaDataBytes);
    std::memcpy(m.packet.mad.bytes.data() + wire::kSaDataOffset, data.data(), first);
    m.packet.more.assign(data.begin() + static_cast<std::ptrdiff_t>(first), data.end());
    m.length = static_cast<std::uint32_t>(wire::kSaDataOffset + bytes);
    return m;
  }
  UserMad get_table(std::uint32_t tid = 9) const {
    return message(client_agent,
                   wire::make_mad(MgmtClass::SubnAdm, Method::GetTable, wire::attr::kNodeRecord),
                   tid, 1000);
  }

  Wire client_port, server_port;
  HostKernel client{client_port}, server{server_port};
  FileId client_file = client.open(), server_file = server.open();
  std::int32_t client_agent{}, server_agent{};
  int carried{0}, lose{-1};
};

TEST_F(TwoKernels, CarryATableOfManySegments) {
  std::uint32_t tid = 1;
  for (const std::size_t bytes : {std::size_t{112}, std::size_t{100'000}}) {
    SCOPED_TRACE(bytes);
    UserMad request = get_table(tid++);
    ASSERT_EQ(client.send(Instant{}, client_file, request), 0);
    settle(Instant{});
    ASSERT_NE(server.front(server_file), nullptr);
    UserMad answer = table(server.take(server_file), bytes);
    const UserMad sent = answer;
    ASSERT_EQ(server.send(Instant{}, server_file, answer), 0);
    settle(Instant{});
    ASSERT_NE(client.front(client_file), nullptr);
    const UserMad got = client.take(client_file);
    EXPECT_EQ(got.length, wire::kSaDataOffset + bytes);
    EXPECT_EQ(got.packet.more, sent.packet.more);
    EXPECT_EQ(std::memcmp(got.packet.mad.data(), sent.packet.mad.data(),
                          std::min(bytes, wire::kSaDataBytes)),
              0);
    EXPECT_EQ(server.next_event(), kNever);
  }
}

TEST_F(TwoKernels, RepeatALostSegment) {
  UserMad request = get_table();
  ASSERT_EQ(client.send(Instant{}, client_file, request), 0);
  settle(Instant{});
  UserMad answer = table(server.take(server_file), 5000);
  answer.retries = 3;
  lose = carried + 5;
  ASSERT_EQ(server.send(Instant{}, server_file, answer), 0);
  settle(Instant{});
  EXPECT_EQ(client.front(client_file), nullptr);
  ASSERT_NE(server.next_event(), kNever);
  const Instant later = server.next_event();
  server.advance(later);
  settle(later);
  // The request's own timeout (1 s) is not looked at here: the client's clock stands still.
  ASSERT_NE(client.front(client_file), nullptr);
  EXPECT_EQ(client.front(client_file)->length, wire::kSaDataOffset + 5000);
}

TEST_F(TwoKernels, SendBackATableNobodyAcknowledges) {
  UserMad answer = table(get_table(), 1000);
  answer.retries = 1;
  ASSERT_EQ(server.send(Instant{}, server_file, answer), 0);
  while (server.next_event() != kNever) server.advance(server.next_event());
  ASSERT_NE(server.front(server_file), nullptr);
  EXPECT_EQ(server.front(server_file)->status, kStatusTimedOut);
  EXPECT_EQ(server.front(server_file)->length, kMadHeaderBytes);
}

TEST_F(TwoKernels, LeaveSegmentsToAnAgentThatDoesRmppItself) {
  Registration own = client_of(MgmtClass::SubnAdm, 2);
  own.rmpp_version = 1;
  own.user_rmpp = true;
  const FileId own_file = client.open();
  const auto agent = client.register_agent(own_file, own);
  UserMad request = get_table();
  request.agent = agent;
  ASSERT_EQ(client.send(Instant{}, own_file, request), 0);
  const mad::Packet asked = client_port.sent.at(0).packet;
  mad::Packet segment = asked;
  segment.mad.set<&wire::MadHeader::method>(Method::GetTableResp);
  segment.mad.set<&wire::RmppHeader::version>(1);
  segment.mad.set<&wire::RmppHeader::type>(1);
  segment.mad.set<&wire::RmppHeader::active>(true);
  for (std::uint32_t n = 1; n <= 3; ++n) {
    segment.mad.set<&wire::RmppHeader::data1>(n);
    client.on_delivery(Instant{}, arrival(segment));
  }
  int got = 0;
  while (client.front(own_file) != nullptr) {
    EXPECT_EQ(client.take(own_file).length, 256U);
    ++got;
  }
  EXPECT_EQ(got, 3);
  EXPECT_EQ(client_port.sent.size(), 1U) << "the kernel acknowledges nothing";
}

}  // namespace
}  // namespace ib::sim
