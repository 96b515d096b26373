// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests longer than one MAD, and segments that are none: each is answered or aborted once, and
// nothing stays in memory. What is asked here is refused with 0x000C, which shows that it arrived.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::mad::rmpp::Sender;
using ib::mad::rmpp::SenderOptions;
using ib::mad::rmpp::Type;
using ib::wire::RmppHeader;
using ib::wire::SaHeader;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace rmpp = ib::mad::rmpp;
namespace status = ib::wire::status;

class SaRmppIn : public ::testing::Test {
 protected:
  Bench bench{small_tree()};

  /// A GetMulti that no SA serves, of `data` bytes.
  std::vector<std::byte> message(std::size_t data) {
    const auto request = bench.request(Method::GetMulti, attr::kNodeRecord);
    std::vector<std::byte> bytes(ib::wire::kSaDataOffset + data, std::byte{0x11});
    std::copy_n(request.mad.bytes.begin(), ib::wire::kSaDataOffset, bytes.begin());
    return bytes;
  }
  /// One segment as a client might send it.
  Packet segment(std::uint32_t number, bool first, bool last, std::uint32_t length,
                 std::size_t from = 0) {
    Packet packet = bench.request(Method::GetMulti, attr::kNodeRecord, std::uint64_t{0},
                                  std::uint32_t{0}, from);
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{77});
    RmppHeader h;
    h.version = 1;
    h.type = static_cast<std::uint8_t>(Type::Data);
    h.active = true;
    h.first = first;
    h.last = last;
    h.data1 = number;
    h.data2 = length;
    ib::wire::encode(h, packet.mad.bytes.data());
    return packet;
  }
  std::vector<Packet> tell(const Packet& packet) {
    bench.server.on_packet(bench.now, packet);
    return bench.drain();
  }
  /// The RMPPStatus of the one packet that `packet` brings about.
  int status_of(const Packet& packet, Type type = Type::Abort) {
    const auto sent = tell(packet);
    if (sent.size() != 1 || header_of(sent[0].mad).type != static_cast<std::uint8_t>(type))
      return -1;
    EXPECT_EQ(sent[0].mad.method(), Method::GetMultiResp) << "to the sender of a GetMulti";
    return header_of(sent[0].mad).status;
  }
  /// Nothing is left, not even when time has passed.
  void expect_forgotten() {
    bench.now = bench.now + std::chrono::minutes(1);
    bench.server.on_time(bench.now);
    bench.drain();
    EXPECT_EQ(bench.server.next_deadline(), ib::kNever);
  }
};

/// The flag is none of a Set's, but it does no harm; 0x82 would be no method.
TEST_F(SaRmppIn, ASetInOneSegmentIsAcknowledgedAndAnswered) {
  ib::wire::McMemberRecord member;
  member.mgid = ipoib_group(ib::kDefaultPKey).mgid;
  member.port_gid = bench.gid(0);
  member.join_state = 1;
  auto packet = bench.request(Method::Set, attr::kMcMemberRecord, member, 0x10003);
  RmppHeader h;
  h.version = 1;
  h.type = static_cast<std::uint8_t>(Type::Data);
  h.active = h.first = h.last = true;
  h.data1 = 1;
  h.data2 = 220;
  ib::wire::encode(h, packet.mad.bytes.data());
  const auto sent = tell(packet);
  ASSERT_THAT(sent, SizeIs(2));
  for (const auto& mad : sent) EXPECT_EQ(mad.mad.method(), Method::GetResp);
  EXPECT_TRUE(rmpp::is_active(sent[0].mad));
  EXPECT_FALSE(rmpp::is_active(sent[1].mad));
  EXPECT_EQ(sent[1].mad.status(), status::kOk);
}

TEST_F(SaRmppIn, ALongRequestIsPutTogetherAndAnswered) {
  SenderOptions two_sided;
  two_sided.response_follows = true;
  Sender client(message(3000), two_sided);
  std::vector<Packet> answers;
  for (int turn = 0; turn < 100 && answers.empty(); ++turn) {
    while (auto mad = client.next_send(bench.now))
      bench.server.on_packet(bench.now, Packet{ib::mad::gsi_address(bench.host(0).lid), *mad, {}});
    for (auto& packet : bench.drain()) {
      if (client.owns(packet.mad)) {
        client.on_mad(bench.now, packet.mad);
      } else {
        answers.push_back(packet);
      }
    }
  }
  EXPECT_EQ(client.state(), Sender::State::Done);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].mad.method(), Method::GetMultiResp);
  EXPECT_EQ(answers[0].mad.status(), status::kBadAttribute);
  EXPECT_FALSE(rmpp::is_active(answers[0].mad));
  EXPECT_EQ(bench.server.counters().messages_in, 1U);
  EXPECT_EQ(bench.server.counters().segments_in, 15U);
  // The client turns the transaction round: nothing to say to that.
  std::size_t turns = 0;
  while (auto mad = client.next_send(bench.now)) {
    ++turns;
    EXPECT_THAT(tell(Packet{ib::mad::gsi_address(bench.host(0).lid), *mad, {}}), IsEmpty());
  }
  EXPECT_EQ(turns, 1U);
  expect_forgotten();
}

TEST_F(SaRmppIn, OneSegmentIsARequestWithAndWithoutTheFlag) {
  const auto with = tell(segment(1, true, true, 220));
  ASSERT_THAT(with, SizeIs(2)) << "an ACK, and the answer";
  EXPECT_EQ(header_of(with[0].mad).type, static_cast<std::uint8_t>(Type::Ack));
  EXPECT_EQ(with[1].mad.status(), status::kBadAttribute);
  const auto without = bench.ask(bench.request(Method::GetMulti, attr::kNodeRecord));
  EXPECT_EQ(without.mad.status(), status::kBadAttribute);
  // GetTable asks in one MAD, but may wear the flag.
  auto table = bench.request(Method::GetTable, attr::kServiceRecord + 1);
  RmppHeader h = header_of(segment(1, true, true, 220).mad);
  ib::wire::encode(h, table.mad.bytes.data());
  EXPECT_EQ(tell(table)[1].mad.status(), status::kBadAttribute);
}

TEST_F(SaRmppIn, AnAnswerThatWasLostIsGivenAgain) {
  const auto request = segment(1, true, true, 220);
  const auto first = tell(request);
  ASSERT_THAT(first, SizeIs(2));
  const auto again = tell(request);
  ASSERT_THAT(again, SizeIs(2));
  EXPECT_EQ(again[1].mad, first[1].mad);
  EXPECT_EQ(bench.server.counters().replayed, 1U);
}

TEST_F(SaRmppIn, MalformedSegmentsAreAbortedWithTheReason) {
  EXPECT_EQ(status_of(segment(0, true, true, 220)), rmpp::status::kBadSegment);
  EXPECT_EQ(status_of(segment(1, false, true, 220)), rmpp::status::kBadSegment);
  EXPECT_EQ(status_of(segment(2, true, false, 0)), rmpp::status::kBadSegment);
  EXPECT_EQ(status_of(segment(1, true, true, 221)), rmpp::status::kBadPayloadLength);
  EXPECT_EQ(status_of(segment(1, true, true, 19)), rmpp::status::kBadPayloadLength);
  auto packet = segment(1, true, true, 220);
  auto h = header_of(packet.mad);
  h.version = 2;
  ib::wire::encode(h, packet.mad.bytes.data());
  EXPECT_EQ(status_of(packet), rmpp::status::kBadVersion);
  h.version = 1;
  h.type = 9;
  ib::wire::encode(h, packet.mad.bytes.data());
  EXPECT_EQ(status_of(packet), rmpp::status::kBadType);
  h.type = 1;
  h.status = 3;
  ib::wire::encode(h, packet.mad.bytes.data());
  EXPECT_EQ(status_of(packet), rmpp::status::kIllegalStatus);
  EXPECT_EQ(bench.server.counters().messages_refused, 8U);
  expect_forgotten();
}

TEST_F(SaRmppIn, AnAnnouncedLengthThatIsNotKeptIsAborted) {
  EXPECT_THAT(tell(segment(1, true, false, 5000)), SizeIs(1));
  EXPECT_EQ(status_of(segment(2, false, true, 220)), rmpp::status::kBadPayloadLength);
}

TEST_F(SaRmppIn, AGapWaitsUntilTheTimeIsUp) {
  EXPECT_THAT(tell(segment(1, true, false, 0)), SizeIs(1));
  EXPECT_THAT(tell(segment(3, false, true, 220)), IsEmpty()) << "2 may be on its way";
  bench.now = bench.server.next_deadline();
  bench.server.on_time(bench.now);
  const auto sent = bench.drain();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(header_of(sent[0].mad).status, rmpp::status::kTotalTimeTooLong);
  EXPECT_EQ(bench.server.counters().messages_expired, 1U);
  expect_forgotten();
}

TEST_F(SaRmppIn, SegmentsWithoutEndAreStopped) {
  EXPECT_THAT(tell(segment(1, true, false, 0)), SizeIs(1));
  std::uint32_t number = 1;
  std::vector<Packet> sent;
  do {
    sent = tell(segment(++number, false, false, 0));
  } while (number < 1000 &&
           (sent.empty() || header_of(sent[0].mad).type == static_cast<std::uint8_t>(Type::Ack)));
  EXPECT_LT(number * 200, 17'000U) << "16 KB at the most";
  EXPECT_EQ(header_of(sent[0].mad).type, static_cast<std::uint8_t>(Type::Stop));
  EXPECT_EQ(header_of(sent[0].mad).status, rmpp::status::kResourcesExhausted);
  expect_forgotten();
}

TEST_F(SaRmppIn, TwoMessagesByOneTidAreAborted) {
  EXPECT_THAT(tell(segment(1, true, false, 0)), SizeIs(1));
  EXPECT_THAT(tell(segment(1, true, false, 0)), SizeIs(1)) << "the same again is a repetition";
  auto other = segment(1, true, false, 0);
  other.mad.data()[0] = std::byte{0x77};
  EXPECT_EQ(status_of(other), rmpp::status::kBadSegment);
  expect_forgotten();
}

TEST_F(SaRmppIn, OneRequesterHasEightAtOnceAndLeavesRoomForOthers) {
  auto packet = segment(1, true, false, 0);
  std::size_t stopped = 0;
  for (std::uint64_t tid = 1; tid <= 20; ++tid) {
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{tid});
    packet.address.qpn = static_cast<std::uint32_t>(100 + tid);  // many QPs are one requester
    const auto sent = tell(packet);
    ASSERT_THAT(sent, SizeIs(1));
    stopped += header_of(sent[0].mad).type == static_cast<std::uint8_t>(Type::Stop) ? 1 : 0;
  }
  EXPECT_EQ(stopped, 12U);
  EXPECT_THAT(tell(segment(1, true, true, 220, 1)), SizeIs(2));
  expect_forgotten();
}

/// All LIDs of a port are one, and what is whole with one segment needs no place.
TEST_F(SaRmppIn, APortHasEightAtOnceWhateverItsLmc) {
  auto fabric = small_tree();
  auto& port = fabric.port(hosts_of(fabric)[1]);
  port.lid = Lid{256};
  port.lmc = 5;
  fabric.reindex();
  bench = Bench(fabric);
  auto packet = segment(1, true, false, 0, 1);
  std::size_t taken = 0;
  for (std::uint16_t i = 0; i < 64; ++i) {
    packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{std::uint64_t{100} + i});
    packet.address.lid = Lid{static_cast<std::uint16_t>(256 + i % 32)};
    const auto sent = tell(packet);
    ASSERT_THAT(sent, SizeIs(1));
    taken += header_of(sent[0].mad).type == static_cast<std::uint8_t>(Type::Ack) ? 1 : 0;
  }
  EXPECT_EQ(taken, 8U);
  EXPECT_THAT(tell(segment(1, true, true, 220, 1)), SizeIs(2)) << "acknowledged and answered";
}

TEST_F(SaRmppIn, AWrongKeyIsNotEvenAcknowledged) {
  bench.sm_key = 99;
  EXPECT_THAT(tell(segment(1, true, true, 220)), IsEmpty());
  EXPECT_EQ(bench.server.counters().dropped_sm_key, 1U);
}

TEST_F(SaRmppIn, AnAttributeOffsetThatHoldsNoRecordIsRefused) {
  auto packet = bench.request(Method::GetMulti, attr::kMultiPathRecord);
  packet.mad.set<&SaHeader::attribute_offset>(std::uint16_t{2});
  EXPECT_NE(bench.ask(packet).mad.status(), status::kOk);
}

TEST_F(SaRmppIn, AWindowOfZeroEndsATableInTime) {
  const auto request = bench.request(Method::GetTable, attr::kNodeRecord);
  ASSERT_THAT(tell(request), SizeIs(1));
  Packet ack = request;
  RmppHeader h;
  h.version = 1;
  h.type = static_cast<std::uint8_t>(Type::Ack);
  h.active = true;
  h.data1 = 1;
  h.data2 = 0;
  ib::wire::encode(h, ack.mad.bytes.data());
  const auto sent = tell(ack);
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(header_of(sent[0].mad).status, rmpp::status::kWindowTooSmall);
  EXPECT_EQ(bench.server.counters().transfers_aborted, 1U);
  expect_forgotten();
}

TEST_F(SaRmppIn, ThroughTheKernelsRmppARequestArrivesWhole) {
  Options options;
  options.kernel_rmpp = true;
  Bench whole(small_tree(), options);
  Packet request = segment(1, true, false, 0);
  request.more.assign(900, std::byte{1});
  whole.server.on_packet(whole.now, request);
  const auto sent = whole.drain();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].mad.status(), status::kBadAttribute);
}

}  // namespace
}  // namespace sm::sa::test
