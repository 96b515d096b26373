// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The sender of RMPP against acknowledgements made by hand.
#include <gtest/gtest.h>

#include <algorithm>
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

TEST(RmppLength, IsWhatTheKernelWrites) {
  const auto sa = [](std::size_t data) { return first_payload_length(MgmtClass::SubnAdm, data); };
  EXPECT_EQ(sa(0), 20U);
  EXPECT_EQ(sa(64), 84U);
  EXPECT_EQ(sa(200), 220U);
  EXPECT_EQ(sa(201), 241U);
  EXPECT_EQ(sa(640), 4 * 220U - 160U);
  EXPECT_EQ(first_payload_length(MgmtClass::VendorPing, 217), 2 * 220U - 215U);
}

TEST(RmppSender, AnEmptyTableIsOneSegmentWithoutData) {
  Sender sender(
      table_head(), [](std::span<std::byte>) { return std::size_t{0}; }, 0);
  const auto sent = drain(sender, kStart);
  ASSERT_EQ(sent.size(), 1U);
  const RmppHeader h = header_of(sent[0]);
  EXPECT_TRUE(h.first && h.last && h.active);
  EXPECT_EQ(h.version, 1);
  EXPECT_EQ(h.type, 1);
  EXPECT_EQ(h.data1, 1U);
  EXPECT_EQ(h.data2, 20U);
  EXPECT_EQ(sent[0].get<&wire::SaHeader::attribute_offset>(), 14);
  sender.on_mad(kStart, ack_for(sent[0], 1, 1));
  EXPECT_EQ(sender.state(), Sender::State::Done);
  EXPECT_EQ(sender.next_deadline(), kNever);
}

TEST(RmppSender, SendsOneSegmentThenWhatTheWindowGrants) {
  const auto data = pattern(2000);
  Sender sender(table_head(), stream(data), data.size());
  auto sent = drain(sender, kStart);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(header_of(sent[0]).data2, 10 * 220U);
  sender.on_mad(kStart, ack_for(sent[0], 1, 5));
  sent = drain(sender, kStart);
  ASSERT_EQ(sent.size(), 4U);
  EXPECT_EQ(header_of(sent[0]).data2, 0U) << "a middle segment announces nothing";
  EXPECT_EQ(header_of(sent[3]).data1, 5U);
  sender.on_mad(kStart, ack_for(sent[0], 5, 65));
  sent = drain(sender, kStart);
  ASSERT_EQ(sent.size(), 5U);
  EXPECT_TRUE(header_of(sent[4]).last);
  EXPECT_EQ(header_of(sent[4]).data2, 220U);
}

TEST(RmppSender, AStreamOfUnknownLengthAnnouncesZeroAndMarksTheLast) {
  for (const std::size_t bytes :
       std::initializer_list<std::size_t>{0, 1, 199, 200, 201, 400, 1000}) {
    const auto data = pattern(bytes);
    Sender sender(table_head(), stream(data));
    Receiver receiver;
    for (int turn = 0; turn < 20 && sender.state() == Sender::State::Sending; ++turn) {
      for (const Mad& mad : drain(sender, kStart)) {
        if (header_of(mad).first && !header_of(mad).last) {
          EXPECT_EQ(header_of(mad).data2, 0U);
        }
        ASSERT_TRUE(receiver.on_mad(kStart, kServer, mad));
      }
      while (auto answer = receiver.next_send()) sender.on_mad(kStart, answer->mad);
    }
    EXPECT_EQ(sender.state(), Sender::State::Done) << bytes;
    const auto message = receiver.next_message();
    ASSERT_TRUE(message) << bytes;
    EXPECT_EQ(data_of(*message), data) << bytes;
  }
}

TEST(RmppSender, HoldsNoMoreThanItsOwnWindow) {
  const auto data = pattern(20000);
  std::size_t read = 0;
  auto source = stream(data, 200);
  SenderOptions options;
  options.window = 8;
  Sender sender(
      table_head(),
      [&](std::span<std::byte> out) {
        const std::size_t n = source(out);
        read += n;
        return n;
      },
      std::nullopt, options);
  auto sent = drain(sender, kStart);
  sender.on_mad(kStart, ack_for(sent[0], 1, 0x80000000U));  // a window of 2^31 is no reason to read
  EXPECT_EQ(drain(sender, kStart).size(), 8U);
  EXPECT_LE(read, 200U * 10) << "the window and one segment read ahead";
}

TEST(RmppSender, RepeatsFromTheLastAckAndThenGivesUpWithAnAbort) {
  const auto data = pattern(1000);
  SenderOptions options;
  options.ack_timeout = milliseconds(100);
  options.ack_timeout_max = milliseconds(400);
  options.retries = 2;
  Sender sender(table_head(), stream(data), data.size(), options);
  Instant now = kStart;
  const Mad first = drain(sender, now).at(0);
  sender.on_mad(now, ack_for(first, 1, 65));
  EXPECT_EQ(drain(sender, now).size(), 4U);
  EXPECT_EQ(sender.next_deadline(), now + milliseconds(100));
  sender.on_time(now + milliseconds(99));
  EXPECT_TRUE(drain(sender, now).empty()) << "not yet";
  for (const int wait_ms : {100, 200}) {
    now = now + milliseconds(wait_ms);
    sender.on_time(now);
    const auto again = drain(sender, now);
    ASSERT_EQ(again.size(), 4U);
    EXPECT_EQ(header_of(again[0]).data1, 2U);
  }
  EXPECT_EQ(sender.next_deadline(), now + milliseconds(400));
  sender.on_time(now + milliseconds(400));
  EXPECT_EQ(sender.state(), Sender::State::Failed);
  EXPECT_EQ(sender.failure(), status::kTooManyRetries);
  const auto last_words = drain(sender, now);
  ASSERT_EQ(last_words.size(), 1U);
  EXPECT_EQ(header_of(last_words[0]).type, 4);
  EXPECT_EQ(header_of(last_words[0]).status, 126);
  EXPECT_EQ(last_words[0].method(), wire::Method::GetTableResp);
  EXPECT_EQ(sender.next_deadline(), kNever);
}

TEST(RmppSender, WaitsAsLongAsRoundTripsShow) {
  const auto data = pattern(200 * 200);
  SenderOptions options;
  options.ack_timeout = milliseconds(250);
  options.ack_timeout_min = milliseconds(50);
  options.patience = std::chrono::seconds(8);
  Sender sender(table_head(), stream(data), data.size(), options);
  Instant now = kStart;
  const Mad first = drain(sender, now).at(0);
  EXPECT_EQ(sender.next_deadline(), now + milliseconds(250)) << "nothing is known";
  now = now + milliseconds(20);
  sender.on_mad(now, ack_for(first, 1, 65));
  EXPECT_EQ(drain(sender, now).size(), 64U);
  EXPECT_EQ(sender.next_deadline(), now + milliseconds(60)) << "20 ms, give or take four times 10";
  now = now + milliseconds(1);
  sender.on_mad(now, ack_for(first, 65, 129));
  EXPECT_EQ(drain(sender, now).size(), 64U);
  now = now + milliseconds(1);
  sender.on_mad(now, ack_for(first, 129, 193));
  EXPECT_EQ(drain(sender, now).size(), 64U);
  const auto wait = sender.next_deadline() - now;
  EXPECT_GE(wait, milliseconds(50));
  EXPECT_LE(wait, milliseconds(70));
  // All of the window is lost, and so comes again. What answers it says nothing about time.
  now = sender.next_deadline();
  sender.on_time(now);
  EXPECT_EQ(drain(sender, now).size(), 64U);
  EXPECT_EQ(sender.next_deadline(), now + 2 * wait);
  now = now + milliseconds(90);
  sender.on_mad(now, ack_for(first, 150, 193));
  EXPECT_TRUE(drain(sender, now).empty()) << "the rest is under way";
  EXPECT_EQ(sender.next_deadline(), now + wait);
  now = sender.next_deadline();
  sender.on_time(now);
  EXPECT_EQ(drain(sender, now).size(), 43U);
  sender.on_mad(now, ack_for(first, 193, 257));
  EXPECT_EQ(drain(sender, now).size(), 7U);
  EXPECT_EQ(sender.next_deadline(), now + wait);
}

/// However short the waits are, a receiver has as long as ever before it is given up.
TEST(RmppSender, GivesUpAfterItsPatience) {
  const auto data = pattern(1000);
  SenderOptions options;
  options.ack_timeout = milliseconds(250);
  options.ack_timeout_min = milliseconds(50);
  options.patience = std::chrono::seconds(8);
  for (const bool acknowledged : {false, true}) {
    Sender sender(table_head(), stream(data), data.size(), options);
    Instant now = kStart;
    const Mad first = drain(sender, now).at(0);
    if (acknowledged) sender.on_mad(now, ack_for(first, 1, 65));
    std::size_t sent = 0;
    while (sender.state() == Sender::State::Sending) {
      sent += drain(sender, now).size();
      now = sender.next_deadline();
      sender.on_time(now);
    }
    EXPECT_EQ(sender.failure(), status::kTooManyRetries);
    EXPECT_GE(now - kStart, options.patience);
    EXPECT_LE(now - kStart, options.patience + options.ack_timeout_max);
    EXPECT_LE(sent, (acknowledged ? 4U : 1U) * 10) << "it doubles";
  }
}

TEST(RmppSender, AnOldAckChangesNothing) {
  const auto data = pattern(2000);
  Sender sender(table_head(), stream(data), data.size());
  const Mad first = drain(sender, kStart).at(0);
  sender.on_mad(kStart, ack_for(first, 1, 6));
  drain(sender, kStart);
  sender.on_mad(kStart, ack_for(first, 4, 8));
  drain(sender, kStart);
  sender.on_mad(kStart, ack_for(first, 1, 6));
  EXPECT_EQ(sender.state(), Sender::State::Sending);
  EXPECT_TRUE(drain(sender, kStart).empty());
}

struct BadAnswer {
  const char* what;
  std::uint8_t version, type, status;
  std::uint32_t data1, data2;
  std::uint8_t failure;
  bool answered;
};
TEST(RmppSender, RefusesWhatNoReceiverMaySend) {
  const BadAnswer cases[] = {
      {"window before segment", 1, 2, 0, 2, 1, status::kWindowTooSmall, true},
      {"segment never sent", 1, 2, 0, 9, 70, status::kSegmentTooBig, true},
      {"status in an ACK", 1, 2, 7, 2, 70, status::kIllegalStatus, true},
      {"version 255", 255, 2, 0, 2, 70, status::kBadVersion, true},
      {"type 9", 1, 9, 0, 2, 70, status::kBadType, true},
      {"STOP", 1, 3, 1, 0, 0, status::kResourcesExhausted, false},
      {"STOP with a wrong status", 1, 3, 118, 0, 0, status::kIllegalStatus, true},
      {"ABORT", 1, 4, 118, 0, 0, status::kTotalTimeTooLong, false},
      {"ABORT with a wrong status", 1, 4, 1, 0, 0, status::kIllegalStatus, false},
  };
  for (const BadAnswer& c : cases) {
    const auto data = pattern(1000);
    Sender sender(table_head(), stream(data), data.size());
    const Mad first = drain(sender, kStart).at(0);
    sender.on_mad(kStart, ack_for(first, 1, 3));
    drain(sender, kStart);
    Mad answer = ack_for(first, c.data1, c.data2);
    answer.set<&RmppHeader::version>(c.version);
    answer.set<&RmppHeader::type>(c.type);
    answer.set<&RmppHeader::status>(c.status);
    ASSERT_TRUE(sender.owns(answer)) << c.what;
    sender.on_mad(kStart, answer);
    EXPECT_EQ(sender.state(), Sender::State::Failed) << c.what;
    EXPECT_EQ(sender.failure(), c.failure) << c.what;
    const auto sent = drain(sender, kStart);
    EXPECT_EQ(sent.size(), c.answered ? 1U : 0U) << c.what;
    if (c.answered) {
      EXPECT_EQ(header_of(sent[0]).type, 4) << c.what;
      EXPECT_EQ(header_of(sent[0]).status, c.failure) << c.what;
      EXPECT_EQ(header_of(sent[0]).version, 1) << c.what;
    }
    sender.on_mad(kStart, answer);
    EXPECT_TRUE(drain(sender, kStart).empty()) << "no storm: " << c.what;
  }
}

TEST(RmppSender, OwnsOnlyAnswersToItsOwnMessage) {
  const auto data = pattern(1000);
  Sender sender(table_head(), stream(data), data.size());
  const Mad first = drain(sender, kStart).at(0);
  Mad other = ack_for(first, 1, 65);
  EXPECT_TRUE(sender.owns(other));
  other.set<&wire::MadHeader::tid>(Tid{9});
  EXPECT_FALSE(sender.owns(other));
  EXPECT_FALSE(sender.owns(first)) << "its own data segment";
  other = ack_for(first, 1, 65);
  other.set<&RmppHeader::active>(false);
  EXPECT_FALSE(sender.owns(other));
}

TEST(RmppSender, TurnsRoundAfterATwoSidedRequest) {
  Mad head = wire::make_mad(MgmtClass::SubnAdm, wire::Method::GetMulti, 0x003A);
  SenderOptions options;
  options.response_follows = true;
  const auto data = pattern(56);
  Sender sender(head, stream(data), data.size(), options);
  const Mad first = drain(sender, kStart).at(0);
  Mad ack = ack_for(first, 1, 65);
  ack.set<&wire::MadHeader::method>(wire::Method::GetMultiResp);
  sender.on_mad(kStart, ack);
  EXPECT_EQ(sender.state(), Sender::State::Done);
  const auto turned = drain(sender, kStart);
  ASSERT_EQ(turned.size(), 1U);
  EXPECT_EQ(turned[0].method(), wire::Method::GetMulti);
  EXPECT_EQ(header_of(turned[0]).type, 2);
  EXPECT_EQ(header_of(turned[0]).data1, 0U);
  EXPECT_EQ(header_of(turned[0]).data2, 1U);
}

}  // namespace
}  // namespace ib::mad::rmpp
