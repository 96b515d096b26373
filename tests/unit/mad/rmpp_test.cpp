// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// RMPP machines against each other over a bad wire.
#include "libdiag/mad/rmpp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "tests/unit/mad/rmpp_segments.h"

namespace ib::mad::rmpp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::Mad;
using wire::MgmtClass;
using wire::RmppHeader;

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
