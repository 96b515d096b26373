// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/under_way.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "sm/sa/intake/outbox.h"

namespace sm::sa::test {
namespace {

RequestKey key_with(std::uint64_t tid) { return {tid, 1, 7, 53, 1}; }

TEST(UnderWay, AnEmptyOneHasNothing) {
  UnderWay table;
  EXPECT_EQ(table.find(key_with(1)), nullptr);
  table.erase(key_with(1));
  EXPECT_EQ(table.find(key_with(1)), nullptr);
}

/// Random requests that begin, begin again and end, beside a plain map, over growths of the table.
TEST(UnderWay, DoesWhatASimpleOneDoes) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    UnderWay table;
    std::map<std::uint64_t, std::uint64_t> known;
    for (std::uint64_t step = 1; step <= 30'000; ++step) {
      // TIDs far apart, as well as counted ones, which stand side by side.
      const std::uint64_t tid = random() % 1500 * (random() % 2 == 0 ? 1 : 0x100000001);
      if (random() % 3 != 0) {
        table.put({key_with(tid), step, step, 0});
        known[tid] = step;
      } else {
        table.erase(key_with(tid));
        known.erase(tid);
      }
      const std::uint64_t asked = random() % 1500;
      const auto* found = table.find(key_with(asked));
      const auto expected = known.find(asked);
      ASSERT_EQ(found != nullptr, expected != known.end());
      if (found == nullptr) continue;
      ASSERT_EQ(found->first, expected->second);
    }
    for (const auto& [tid, step] : known) ASSERT_EQ(table.find(key_with(tid))->whole, step);
  }
}

ib::mad::Packet packet_of(std::uint64_t tid) {
  ib::mad::Packet packet;
  packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{tid});
  packet.more.resize(3);
  return packet;
}

TEST(Outbox, GivesBackInOrderWhatCameInBetween) {
  Outbox box;
  EXPECT_EQ(box.take(), nullptr);
  std::uint64_t in = 0, out = 0;
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    for (auto n = random() % 50; n > 0; --n) box.push(packet_of(++in));
    for (auto n = random() % 50; n > 0; --n) {
      const auto* packet = box.take();
      ASSERT_EQ(packet == nullptr, in == out);
      if (packet == nullptr) break;
      EXPECT_EQ(packet->mad.tid().value, ++out);
      EXPECT_EQ(packet->more.size(), 3U);
    }
  }
  while (const auto* packet = box.take()) EXPECT_EQ(packet->mad.tid().value, ++out);
  EXPECT_EQ(in, out);
}

}  // namespace
}  // namespace sm::sa::test
