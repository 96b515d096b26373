// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// RMPP machines against each other over a bad wire, and against segments made by hand.
#include "libdiag/mad/rmpp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ib::mad::rmpp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::Mad;
using wire::MgmtClass;
using wire::RmppHeader;

constexpr Instant kStart{1'000'000'000};
const Address kServer = gsi_address(Lid{1});
const Address kClient = gsi_address(Lid{2});

Mad table_head(MgmtClass c = MgmtClass::SubnAdm, std::uint64_t tid = 0x1234500000007) {
  Mad mad = wire::make_mad(c, wire::Method::GetTableResp, wire::attr::kNodeRecord);
  mad.set<&wire::MadHeader::tid>(Tid{tid});
  if (c == MgmtClass::SubnAdm) mad.set<&wire::SaHeader::attribute_offset>(14);
  return mad;
}

std::vector<std::byte> pattern(std::size_t n) {
  std::vector<std::byte> data(n);
  for (std::size_t i = 0; i < n; ++i) data[i] = static_cast<std::byte>((i * 7 + i / 251) & 0xFF);
  return data;
}

Sender::Fill stream(const std::vector<std::byte>& data, std::size_t at_once = 33) {
  return [&data, at_once, at = std::size_t{0}](std::span<std::byte> out) mutable {
    const std::size_t n = std::min({out.size(), data.size() - at, at_once});
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(at), n, out.begin());
    at += n;
    return n;
  };
}

std::vector<std::byte> data_of(const Packet& message) {
  const std::size_t total = data_bytes(message);
  const std::size_t header = header_bytes(message.mad.mgmt_class());
  std::vector<std::byte> data(message.mad.bytes.begin() + static_cast<std::ptrdiff_t>(header),
                              message.mad.bytes.end());
  data.insert(data.end(), message.more.begin(), message.more.end());
  data.resize(total);
  return data;
}

RmppHeader header_of(const Mad& mad) { return wire::decode<RmppHeader>(mad.bytes.data()); }

std::vector<Mad> drain(Sender& sender, Instant now) {
  std::vector<Mad> out;
  while (auto mad = sender.next_send(now)) out.push_back(*mad);
  return out;
}

Mad ack_for(const Mad& segment, std::uint32_t number, std::uint32_t window_last) {
  Mad ack;
  std::copy_n(segment.bytes.begin(), 56, ack.bytes.begin());
  ack.set<&wire::MadHeader::method>(wire::Method::GetTable);
  RmppHeader h = header_of(segment);
  h.type = 2;
  h.first = h.last = false;
  h.data1 = number;
  h.data2 = window_last;
  wire::encode(h, ack.bytes.data());
  return ack;
}

Mad segment(std::uint32_t number, bool first, bool last, std::uint32_t length) {
  Mad mad = table_head();
  RmppHeader h;
  h.version = 1;
  h.type = 1;
  h.active = true;
  h.first = first;
  h.last = last;
  h.data1 = number;
  h.data2 = length;
  wire::encode(h, mad.bytes.data());
  mad.bytes[56] = static_cast<std::byte>(number);
  return mad;
}

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

/// Sends `bytes` of data over a wire that loses, repeats and reorders both ways.
void exchange(std::uint32_t seed, MgmtClass c) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 engine(seed);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  const std::size_t bytes = random() % 3 == 0 ? random() % 500 : random() % 30000;
  const unsigned loss = random() % 3 * 10;
  const auto data = pattern(bytes);
  SenderOptions sending;
  sending.window = 1 + random() % 80;
  sending.retries = 60;
  ReceiverOptions receiving;
  receiving.window = 1 + random() % 80;
  receiving.message_timeout = seconds(100000);
  receiving.as_kernel = sending.window > receiving.window && chance(50);
  const bool known = chance(50);
  Sender sender(table_head(c), stream(data, 1 + random() % 300),
                known ? std::optional(bytes) : std::nullopt, sending);
  Receiver receiver(receiving);
  std::vector<Mad> down, up;
  std::vector<Packet> messages;
  Instant now = kStart;
  for (int turn = 0; turn < 20000 && sender.state() == Sender::State::Sending; ++turn) {
    while (auto mad = sender.next_send(now)) {
      if (!chance(loss)) down.push_back(*mad);
      if (chance(10)) down.push_back(*mad);
    }
    std::shuffle(down.begin(), down.end(), engine);
    const std::size_t arrive = down.empty() ? 0 : 1 + random() % down.size();
    for (std::size_t i = 0; i < arrive; ++i) {
      ASSERT_TRUE(receiver.on_mad(now, kServer, down.back()));
      down.pop_back();
    }
    while (auto answer = receiver.next_send()) {
      ASSERT_EQ(header_of(answer->mad).type, 2) << "nothing is refused";
      if (!chance(loss)) up.push_back(answer->mad);
      if (chance(10)) up.push_back(answer->mad);
    }
    std::shuffle(up.begin(), up.end(), engine);
    for (const Mad& ack : up) {
      ASSERT_TRUE(sender.owns(ack));
      ASSERT_FALSE(receiver.on_mad(now, kClient, ack));
      sender.on_mad(now, ack);
    }
    up.clear();
    while (auto message = receiver.next_message()) messages.push_back(*message);
    if (down.empty()) {
      if (sender.next_deadline() != kNever) now = std::max(now, sender.next_deadline());
      sender.on_time(now);
    }
  }
  EXPECT_EQ(sender.state(), Sender::State::Done);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(data_of(messages[0]), data);
  EXPECT_EQ(messages[0].mad.tid(), Tid{0x1234500000007});
}

TEST(Rmpp, EveryMessageArrivesOnceWholeOverABadWire) {
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    exchange(seed, seed % 4 == 0 ? MgmtClass::VendorIbtracer : MgmtClass::SubnAdm);
    if (HasFatalFailure()) return;
  }
}

TEST(Rmpp, AMessageInOneBufferComesOutAsTheSameBuffer) {
  Mad head = table_head();
  for (const std::size_t bytes : std::initializer_list<std::size_t>{0, 1, 64, 200, 201, 12345}) {
    const auto data = pattern(bytes);
    std::vector<std::byte> buffer(head.bytes.begin(), head.bytes.begin() + 56);
    buffer.insert(buffer.end(), data.begin(), data.end());
    Sender sender(buffer);
    Receiver receiver;
    for (int turn = 0; turn < 10; ++turn) {
      for (const Mad& mad : drain(sender, kStart)) receiver.on_mad(kStart, kServer, mad);
      while (auto answer = receiver.next_send()) sender.on_mad(kStart, answer->mad);
    }
    ASSERT_EQ(sender.state(), Sender::State::Done) << bytes;
    EXPECT_EQ(data_of(*receiver.next_message()), data) << bytes;
  }
}

}  // namespace
}  // namespace ib::mad::rmpp
