// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The receiver of RMPP against segments made by hand.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "libdiag/mad/rmpp.h"
#include "tests/unit/mad/rmpp_segments.h"

namespace ib::mad::rmpp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::Mad;
using wire::MgmtClass;
using wire::RmppHeader;

TEST(RmppReceiver, AcknowledgesAGetTableRespWithMethodGetTable) {
  Receiver receiver;
  ASSERT_TRUE(receiver.on_mad(kStart, kServer, segment(1, true, false, 0)));
  const auto ack = receiver.next_send();
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->address, kServer);
  EXPECT_EQ(ack->mad.method(), wire::Method::GetTable);
  EXPECT_EQ(ack->mad.get<&wire::SaHeader::attribute_offset>(), 14);
  const RmppHeader h = header_of(ack->mad);
  EXPECT_EQ(h.type, 2);
  EXPECT_TRUE(h.active);
  EXPECT_FALSE(h.first || h.last);
  EXPECT_EQ(h.data1, 1U);
  EXPECT_EQ(h.data2, 65U) << "an eighth of 512 receive slots beyond the first";
}

TEST(RmppReceiver, RepeatsItsAckForALateDuplicate) {
  Receiver receiver;
  receiver.on_mad(kStart, kServer, segment(1, true, true, 84));
  EXPECT_TRUE(receiver.next_send());
  const auto message = receiver.next_message();
  ASSERT_TRUE(message);
  EXPECT_EQ(data_bytes(*message), 64U);
  receiver.on_mad(kStart + seconds(9), kServer, segment(1, true, true, 84));
  EXPECT_TRUE(receiver.next_send()) << "the ACK was lost";
  EXPECT_FALSE(receiver.next_message()) << "but the message is delivered once";
  receiver.on_time(kStart + seconds(10));
  EXPECT_EQ(receiver.next_deadline(), kNever);
}

TEST(RmppReceiver, AbortsWhatIsMalformed) {
  struct Case {
    const char* what;
    std::vector<Mad> mads;
    std::uint8_t status;
  };
  Mad bad_version = segment(1, true, false, 0), bad_type = bad_version, bad_status = bad_version;
  bad_version.set<&RmppHeader::version>(255);
  bad_type.set<&RmppHeader::type>(7);
  bad_status.set<&RmppHeader::status>(3);
  const Mad first = segment(1, true, false, 0);
  const std::vector<Case> cases = {
      {"version 255", {bad_version}, status::kBadVersion},
      {"type 7", {bad_type}, status::kBadType},
      {"status in DATA", {bad_status}, status::kIllegalStatus},
      {"segment 0", {segment(0, false, false, 0)}, status::kBadSegment},
      {"segment 0 that claims to be first", {segment(0, true, false, 0)}, status::kBadSegment},
      {"segment 1 without FIRST", {segment(1, false, false, 0)}, status::kBadSegment},
      {"LAST without FIRST", {segment(1, false, true, 84)}, status::kBadSegment},
      {"FIRST in the middle", {first, segment(2, true, false, 0)}, status::kBadSegment},
      {"last longer than a MAD", {segment(1, true, true, 221)}, status::kBadPayloadLength},
      {"last shorter than its SA header", {segment(1, true, true, 19)}, status::kBadPayloadLength},
      {"announced 3 segments, sent 2",
       {segment(1, true, false, 660), segment(2, false, true, 220)},
       status::kBadPayloadLength},
      {"a segment behind the last",
       {first, segment(3, false, true, 84), segment(4, false, false, 0)},
       status::kBadSegment},
      {"a last before one that came early",
       {first, segment(4, false, false, 0), segment(3, false, true, 84)},
       status::kBadSegment},
  };
  for (const Case& c : cases) {
    Receiver receiver;
    for (const Mad& mad : c.mads) ASSERT_TRUE(receiver.on_mad(kStart, kServer, mad)) << c.what;
    std::optional<Packet> last;
    while (auto answer = receiver.next_send()) last = answer;
    ASSERT_TRUE(last) << c.what;
    EXPECT_EQ(header_of(last->mad).type, 4) << c.what;
    EXPECT_EQ(header_of(last->mad).status, c.status) << c.what;
    EXPECT_EQ(last->mad.method(), wire::Method::GetTable) << c.what;
    EXPECT_FALSE(receiver.next_message()) << c.what;
    EXPECT_EQ(receiver.incomplete(), 0U) << c.what;
    EXPECT_EQ(receiver.bytes(), 0U) << c.what;
  }
}

TEST(RmppReceiver, AsTheKernelTakesLengthsAsTheyCome) {
  ReceiverOptions options;
  options.as_kernel = true;
  Receiver receiver(options);
  receiver.on_mad(kStart, kServer, segment(1, true, false, 99999));
  receiver.on_mad(kStart, kServer, segment(2, false, true, 4000));
  const auto message = receiver.next_message();
  ASSERT_TRUE(message);
  EXPECT_EQ(data_bytes(*message), 400U);
}

TEST(RmppReceiver, IgnoresASegmentOfNoMessageAndOneBeyondTheWindow) {
  Receiver receiver;
  EXPECT_TRUE(receiver.on_mad(kStart, kServer, segment(2, false, false, 0)));
  EXPECT_EQ(receiver.counters().orphans, 1U);
  receiver.on_mad(kStart, kServer, segment(1, true, false, 0));
  receiver.on_mad(kStart, kServer, segment(66, false, false, 0));
  receiver.on_mad(kStart, kServer, segment(0xFFFFFFFF, false, true, 220));
  EXPECT_EQ(receiver.counters().out_of_window, 2U);
  EXPECT_EQ(receiver.bytes(), 256U);
}

TEST(RmppReceiver, HalfOpenMessagesAreCappedAndExpire) {
  ReceiverOptions options;
  options.messages_max = 8;
  options.messages_per_source = 3;
  Receiver receiver(options);
  const auto open = [&](std::uint16_t lid, std::uint64_t tid) {
    Mad mad = segment(1, true, false, 0);
    mad.set<&wire::MadHeader::tid>(Tid{tid});
    receiver.on_mad(kStart, gsi_address(Lid{lid}), mad);
  };
  for (std::uint64_t tid = 0; tid < 1000; ++tid) open(7, tid);
  EXPECT_EQ(receiver.incomplete(), 3U);
  EXPECT_EQ(receiver.counters().stops_sent, 997U);
  for (std::uint16_t lid = 100; lid < 200; ++lid) open(lid, 1);
  EXPECT_EQ(receiver.incomplete(), 8U);
  EXPECT_EQ(receiver.bytes(), 8U * 256);
  std::optional<Packet> last;
  while (auto answer = receiver.next_send()) last = answer;
  EXPECT_EQ(header_of(last->mad).type, 3);
  EXPECT_EQ(header_of(last->mad).status, 1);

  EXPECT_EQ(receiver.next_deadline(), kStart + seconds(40));
  receiver.on_time(kStart + seconds(40));
  EXPECT_EQ(receiver.incomplete(), 0U);
  EXPECT_EQ(receiver.bytes(), 0U);
  EXPECT_EQ(receiver.counters().expired, 8U);
  const auto abort = receiver.next_send();
  ASSERT_TRUE(abort);
  EXPECT_EQ(header_of(abort->mad).type, 4);
  EXPECT_EQ(header_of(abort->mad).status, status::kTotalTimeTooLong);
}

TEST(RmppReceiver, AMessageThatGrowsTooLongIsStopped) {
  ReceiverOptions options;
  options.message_bytes_max = 1000;
  Receiver receiver(options);
  receiver.on_mad(kStart, kServer, segment(1, true, false, 0xFFFFFFFF));
  for (std::uint32_t n = 2; n < 10; ++n)
    receiver.on_mad(kStart, kServer, segment(n, false, false, 0));
  EXPECT_EQ(receiver.counters().stops_sent, 1U);
  EXPECT_EQ(receiver.incomplete(), 0U);
  EXPECT_EQ(receiver.bytes(), 0U);
}

TEST(RmppReceiver, ForgetsAMessageItsSenderAborts) {
  Receiver receiver;
  receiver.on_mad(kStart, kServer, segment(1, true, false, 0));
  Mad abort = segment(1, true, false, 0);
  abort.set<&RmppHeader::type>(4);
  abort.set<&RmppHeader::status>(status::kTooManyRetries);
  EXPECT_TRUE(receiver.on_mad(kStart, kServer, abort));
  EXPECT_EQ(receiver.incomplete(), 0U);
  EXPECT_TRUE(receiver.next_send()) << "the ACK of the first";
  EXPECT_FALSE(receiver.next_send()) << "an ABORT is never answered";
}

}  // namespace
}  // namespace ib::mad::rmpp
