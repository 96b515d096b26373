// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What clients may say wrongly about a table that they are sent: it ends with the reason, once, it
// is counted, and nothing stays in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/sa/paths/multi_path.h"
#include "sm/sa/paths/path_records.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ib::mad::rmpp::Type;
using ib::wire::PathRecord;
using ib::wire::RmppHeader;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace attr = ib::wire::attr;
namespace rmpp = ib::mad::rmpp;
namespace status = ib::wire::status;

class SaRmppOut : public ::testing::Test {
 protected:
  Bench bench{small_tree()};

  std::vector<Packet> tell(const Packet& packet) {
    bench.server.on_packet(bench.now, packet);
    return bench.drain();
  }
  std::vector<Packet> pass(ib::Duration time) {
    bench.now = bench.now + time;
    bench.server.on_time(bench.now);
    return bench.drain();
  }
  /// A table of 13 segments, the first of which was sent.
  Packet begin_table() {
    auto request = bench.request(Method::GetTable, attr::kNodeRecord);
    EXPECT_THAT(tell(request), SizeIs(1));
    return request;
  }
  static RmppHeader ack(std::uint32_t segment, std::uint32_t window_last) {
    RmppHeader h;
    h.version = 1;
    h.type = static_cast<std::uint8_t>(Type::Ack);
    h.active = true;
    h.data1 = segment;
    h.data2 = window_last;
    return h;
  }
  static Packet with(Packet request, const RmppHeader& header) {
    ib::wire::encode(header, request.mad.bytes.data());
    return request;
  }
  void expect_forgotten() {
    EXPECT_THAT(pass(std::chrono::minutes(1)), IsEmpty());
    EXPECT_EQ(bench.server.next_deadline(), ib::kNever);
  }
};

TEST_F(SaRmppOut, AWrongAckEndsTheTableWithTheReason) {
  struct Case {
    const char* what;
    RmppHeader header;
    std::uint8_t status;
  };
  auto of_version_2 = ack(1, 65), with_status = ack(1, 65), stop = ack(1, 65);
  of_version_2.version = 2;
  with_status.status = 3;
  stop.type = static_cast<std::uint8_t>(Type::Stop);
  stop.status = 77;
  const Case cases[] = {
      {"a window of zero", ack(1, 0), rmpp::status::kWindowTooSmall},
      {"a segment that was not sent", ack(2, 66), rmpp::status::kSegmentTooBig},
      {"the last segment there can be", ack(0xFFFFFFFF, 0xFFFFFFFF), rmpp::status::kSegmentTooBig},
      {"a version that there is not", of_version_2, rmpp::status::kBadVersion},
      {"a status in an ACK", with_status, rmpp::status::kIllegalStatus},
      {"a STOP for no reason there is", stop, rmpp::status::kIllegalStatus}};
  std::uint64_t ended = 0;
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const auto request = begin_table();
    const auto sent = tell(with(request, c.header));
    ASSERT_THAT(sent, SizeIs(1));
    EXPECT_EQ(header_of(sent[0].mad).type, static_cast<std::uint8_t>(Type::Abort));
    EXPECT_EQ(header_of(sent[0].mad).status, c.status);
    EXPECT_EQ(sent[0].mad.tid(), request.mad.tid());
    EXPECT_EQ(bench.server.counters().transfers_aborted, ++ended);
    // Whatever comes for it now is nobody's.
    const auto stray = bench.server.counters().dropped_stray;
    EXPECT_THAT(tell(with(request, ack(1, 65))), IsEmpty());
    EXPECT_EQ(bench.server.counters().dropped_stray, stray + 1);
  }
  expect_forgotten();
}

TEST_F(SaRmppOut, AClientThatStopsOrAbortsHearsNoMore) {
  for (const auto& [type, why] :
       {std::pair{Type::Stop, rmpp::status::kResourcesExhausted},
        std::pair{Type::Abort, rmpp::status::kTotalTimeTooLong},
        std::pair{Type::Abort, std::uint8_t{0}}, std::pair{Type::Abort, std::uint8_t{255}}}) {
    const auto request = begin_table();
    auto header = ack(0, 0);
    header.type = static_cast<std::uint8_t>(type);
    header.status = why;
    EXPECT_THAT(tell(with(request, header)), IsEmpty());
  }
  EXPECT_EQ(bench.server.counters().transfers_aborted, 4U);
  expect_forgotten();
}

/// Segments that got lost are sent again from the gap on; without progress it ends.
TEST_F(SaRmppOut, AGapIsFilledAndThenGivenUp) {
  const auto request = begin_table();
  EXPECT_THAT(tell(with(request, ack(1, 65))), SizeIs(12));
  EXPECT_THAT(tell(with(request, ack(4, 65))), IsEmpty()) << "5 is missing";
  EXPECT_THAT(tell(with(request, ack(3, 65))), IsEmpty()) << "an older one changes nothing";
  for (int again = 0; again < 3; ++again) {
    const auto sent = pass(std::chrono::seconds(2));
    ASSERT_THAT(sent, SizeIs(9));
    EXPECT_EQ(header_of(sent[0].mad).data1, 5U);
    EXPECT_TRUE(header_of(sent[8].mad).last);
  }
  const auto end = pass(std::chrono::seconds(2));
  ASSERT_THAT(end, SizeIs(1));
  EXPECT_EQ(header_of(end[0].mad).status, rmpp::status::kTooManyRetries);
  EXPECT_EQ(bench.server.counters().segments_resent, 3U) << "times that it was repeated";
  expect_forgotten();
}

/// What a requester's ACKs took tells how long the next is waited for, in this table and the next.
TEST_F(SaRmppOut, ALostSegmentCostsAFewRoundTrips) {
  using std::chrono::milliseconds;
  auto request = begin_table();
  EXPECT_THAT(pass(milliseconds(249)), IsEmpty()) << "nothing is known";
  EXPECT_THAT(pass(milliseconds(1)), SizeIs(1));
  EXPECT_THAT(tell(with(request, ack(1, 65))), SizeIs(12)) << "which of the two came? no measure";
  EXPECT_THAT(pass(milliseconds(249)), IsEmpty());
  EXPECT_THAT(pass(milliseconds(1)), SizeIs(12));
  tell(with(request, ack(13, 77)));

  request = begin_table();
  EXPECT_THAT(pass(milliseconds(2)), IsEmpty());
  EXPECT_THAT(tell(with(request, ack(1, 65))), SizeIs(12));
  EXPECT_THAT(pass(milliseconds(49)), IsEmpty());
  EXPECT_THAT(pass(milliseconds(1)), SizeIs(12)) << "all were lost";
  EXPECT_THAT(pass(milliseconds(99)), IsEmpty());
  EXPECT_THAT(pass(milliseconds(1)), SizeIs(12)) << "twice as long";
  tell(with(request, ack(13, 77)));

  begin_table();
  EXPECT_THAT(pass(milliseconds(49)), IsEmpty());
  EXPECT_THAT(pass(milliseconds(1)), SizeIs(1)) << "the same requester";
  auto other = bench.request(Method::GetTable, attr::kNodeRecord);
  other.address = ib::mad::gsi_address(bench.host(1).lid);
  EXPECT_THAT(tell(other), SizeIs(1));
  EXPECT_THAT(pass(milliseconds(60)), IsEmpty()) << "of another nothing is known";
}

/// A client whose ACKs are lost is not kept from asking on: what waits for one is small.
TEST_F(SaRmppOut, AnswersOfOneSegmentTakeAnEighthOfAPlace) {
  PathRecord wanted;
  wanted.slid = bench.host(0).lid;
  wanted.dlid = bench.host(1).lid;
  const auto one = [&] {
    const auto packet = bench.request(Method::GetTable, attr::kPathRecord, wanted,
                                      bit(path_bit::kSlid) | bit(path_bit::kDlid));
    return tell(packet).size();
  };
  const std::size_t places = Options{}.transfers_per_requester;
  for (std::size_t i = 0; i < 8 * places; ++i) ASSERT_EQ(one(), 1U) << i;
  EXPECT_EQ(one(), 0U) << "it waits";
  EXPECT_THAT(tell(bench.request(Method::GetTable, attr::kNodeRecord)), IsEmpty());
}

TEST_F(SaRmppOut, TwoTablesByOneTid) {
  const auto first = begin_table();
  // Another QP, another LID, another method are others.
  auto other = bench.request(Method::GetTable, attr::kPortInfoRecord);
  other.mad.set<&ib::wire::MadHeader::tid>(first.mad.tid());
  auto elsewhere = other;
  elsewhere.address.qpn = 77;
  EXPECT_THAT(tell(elsewhere), SizeIs(1));
  elsewhere = other;
  elsewhere.address.lid = bench.host(3).lid;
  EXPECT_THAT(tell(elsewhere), SizeIs(1));
  auto multi = bench.request(Method::GetMulti, attr::kMultiPathRecord);
  multi.mad.set<&ib::wire::MadHeader::tid>(first.mad.tid());
  const auto refused = tell(multi);
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].mad.status(), status::kSaInsufficientComponents);
  EXPECT_EQ(bench.server.counters().transfers, 3U);
  // An ACK moves its own.
  const auto sent = tell(with(first, ack(1, 65)));
  EXPECT_THAT(sent, SizeIs(12));
  for (const auto& packet : sent) EXPECT_EQ(packet.address.qpn, first.address.qpn);
  EXPECT_THAT(tell(with(first, ack(13, 77))), IsEmpty());
  EXPECT_EQ(bench.server.counters().transfers_aborted, 0U);
}

/// Who asks something else by a TID that is in use has done with what it was asked before by it: a
/// program that was started again, say.
TEST_F(SaRmppOut, AnotherQuestionByOneTidTakesThePlaceOfTheFirst) {
  const auto first = begin_table();
  EXPECT_THAT(tell(first), IsEmpty()) << "the same again is under way";
  EXPECT_EQ(bench.server.counters().under_way, 1U);
  // A trace is a GetTableResp as well.
  auto other = bench.request(Method::GetTable, attr::kPortInfoRecord);
  auto trace = bench.request(Method::GetTraceTable, attr::kTraceRecord);
  for (auto* request : {&other, &trace}) {
    request->mad.set<&ib::wire::MadHeader::tid>(first.mad.tid());
    EXPECT_THAT(tell(*request), SizeIs(1));
  }
  EXPECT_EQ(bench.server.counters().under_way, 1U);
  EXPECT_EQ(bench.server.counters().transfers_aborted, 2U);
}

/// A GetMulti's answer is a table like any other, though its request came in segments by its TID.
TEST_F(SaRmppOut, TheAnswerToAGetMultiEndsTheSameWay) {
  ib::wire::MultiPathRecord record;
  record.sgid_count = 1;
  record.dgid_count = 4;
  auto request = bench.request(Method::GetMulti, attr::kMultiPathRecord, record,
                               bit(multi_path_bit::kSgidCount) | bit(multi_path_bit::kDgidCount));
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t b = 0; b < 16; ++b)
      request.mad.data()[24 + 16 * i + b] = std::byte{bench.gid(i).bytes[b]};
  RmppHeader h;
  h.version = 1;
  h.type = static_cast<std::uint8_t>(Type::Data);
  h.active = h.first = h.last = true;
  h.data1 = 1;
  h.data2 = 20 + 24 + 5 * 16;
  const auto sent = tell(with(request, h));
  ASSERT_THAT(sent, SizeIs(2)) << "an ACK, and the first of two segments";
  EXPECT_EQ(header_of(sent[1].mad).data2, 4U * 64 + 2 * 20);
  const auto end = tell(with(request, ack(1, 0)));
  ASSERT_THAT(end, SizeIs(1));
  EXPECT_EQ(header_of(end[0].mad).status, rmpp::status::kWindowTooSmall);
  expect_forgotten();
}

}  // namespace
}  // namespace sm::sa::test
