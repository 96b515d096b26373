// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/answer_log.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

namespace sm::sa::test {
namespace {

RequestKey key_of(std::uint64_t tid) {
  return {tid, 1, static_cast<std::uint16_t>(tid % 7), 53, 1};
}

/// Every third is about nothing and of one MAD, and so takes less.
AnswerLog::Note note_of(std::uint64_t tid) {
  AnswerLog::Note note{key_of(tid), tid * 3, tid * 5, tid,
                       ib::Instant{static_cast<std::int64_t>(tid)}};
  if (tid % 3 == 0) note.whole = note.first;
  if (tid % 3 == 0) note.subject = 0;
  return note;
}

std::vector<std::byte> bytes_of(const AnswerLog::Found& found) {
  return {found.answer.begin(), found.answer.end()};
}

TEST(AnswerLog, GivesBackWhatWasPutInWithoutTheZerosBehind) {
  AnswerLog log(1U << 20);
  const std::vector<std::byte> answer{std::byte{1}, std::byte{0}, std::byte{2}, std::byte{0}};
  log.add(note_of(1), answer);
  log.add(note_of(2), std::vector<std::byte>(256));
  EXPECT_EQ(bytes_of(log.find(key_of(1))),
            (std::vector<std::byte>{std::byte{1}, std::byte{0}, std::byte{2}}));
  EXPECT_EQ(log.find(key_of(1)).entry->whole(), 5U);
  EXPECT_TRUE(log.find(key_of(2)).answer.empty());
  EXPECT_EQ(log.find(key_of(3)).entry, nullptr);
  EXPECT_EQ(log.size(), 2U);
}

TEST(AnswerLog, GivesBackARecordWithTheZerosBehind) {
  AnswerLog log(1U << 20);
  auto note = note_of(1);
  note.is_record = true;
  const std::vector<std::byte> record{std::byte{1}, std::byte{0}, std::byte{0}};
  log.add(note, record);
  EXPECT_EQ(bytes_of(log.find(key_of(1))), record);
  EXPECT_TRUE(log.find(key_of(1)).entry->is_record());
}

TEST(AnswerLog, AnEmptyOneHasNothing) {
  AnswerLog log(1U << 20);
  EXPECT_EQ(log.oldest(), nullptr);
  EXPECT_EQ(log.find(key_of(1)).entry, nullptr);
  log.erase(key_of(1));
  EXPECT_EQ(log.size(), 0U);
}

/// Random additions, replacements, erasures and departures beside a plain model, over many blocks
/// and growths of the table.
TEST(AnswerLog, DoesWhatASimpleOneDoes) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::size_t room = std::size_t{seed} * 100'000;
    AnswerLog log(room);
    struct Kept {
      RequestKey key;
      std::size_t bytes;
      std::uint64_t serial;
    };
    std::deque<Kept> order;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::vector<std::byte>>> current;  // by TID
    std::size_t bytes = 0;
    const auto drop = [&] {
      ASSERT_NE(log.oldest(), nullptr);
      const auto gone = order.front();
      const auto found = current.find(gone.key.tid);
      const bool is_current = found != current.end() && found->second.first == gone.serial;
      EXPECT_EQ(log.oldest()->key(), gone.key);
      EXPECT_EQ(log.oldest()->is_current(), is_current);
      if (is_current) current.erase(found);
      log.drop_oldest();
      bytes -= gone.bytes;
      order.pop_front();
    };
    for (std::uint64_t step = 1; step <= 20'000; ++step) {
      const std::uint64_t tid = random() % 3000;
      switch (random() % 8) {
        case 0:
          log.erase(key_of(tid));
          current.erase(tid);
          break;
        case 1:
          if (!order.empty()) drop();
          break;
        default: {
          std::vector<std::byte> answer(random() % 257);
          for (auto& b : answer) b = static_cast<std::byte>(random());
          if (!answer.empty()) answer.back() = std::byte{0xAA};
          log.add(note_of(tid), answer);
          const std::size_t head = sizeof(AnswerLog::Entry) + (tid % 3 == 0 ? 0 : 16);
          const std::size_t took = (head + answer.size() + 7) / 8 * 8;
          order.push_back({key_of(tid), took, step});
          bytes += took;
          current[tid] = {step, std::move(answer)};
        }
      }
      EXPECT_EQ(log.is_over(), bytes > room);
      while (log.is_over()) drop();
      ASSERT_EQ(log.size(), current.size());
      const std::uint64_t other = random() % 3000;
      const auto expected = current.find(other);
      const auto found = log.find(key_of(other));
      ASSERT_EQ(found.entry != nullptr, expected != current.end()) << "TID " << other;
      if (found.entry == nullptr) continue;
      ASSERT_EQ(bytes_of(found), expected->second.second);
      ASSERT_EQ(found.entry->first(), note_of(other).first);
      ASSERT_EQ(found.entry->whole(), note_of(other).whole);
      ASSERT_EQ(found.entry->subject(), note_of(other).subject);
    }
    while (log.oldest() != nullptr) drop();
    EXPECT_EQ(log.size(), 0U);
    EXPECT_EQ(bytes, 0U);
  }
}

}  // namespace
}  // namespace sm::sa::test
