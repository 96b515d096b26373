// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// RMPP of the kernel: two kernels, one wire between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/sim/kernel_fixture.h"

namespace ib::sim {
namespace {

using std::chrono::milliseconds;
using wire::Method;
using wire::MgmtClass;

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
