// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace ib::sim {
namespace {

using Id = Requests::Id;

Instant at(std::int64_t ms) { return Instant{} + std::chrono::milliseconds(ms); }
bool any(const Requests::Request&) { return true; }

TEST(Requests, FindTheFirstOfATransactionThatIsMeant) {
  Requests requests;
  const TransactionKey key{7, 3};
  const Id first = requests.add(key), second = requests.add(key);
  requests.at(second).answer = true;
  requests.add({7, 4});
  EXPECT_EQ(requests.find(key, any), first);
  EXPECT_EQ(requests.find(key, [](const auto& r) { return r.answer; }), second);
  requests.erase(first);
  EXPECT_EQ(requests.find(key, any), second);
  requests.erase(second);
  EXPECT_EQ(requests.find(key, any), Requests::kNone);
}

TEST(Requests, FallDueInOrderAndOfOneMomentInTheOrderTheyWereGivenIt) {
  Requests requests;
  std::vector<Id> made;
  for (std::uint64_t tid = 0; tid < 4; ++tid) made.push_back(requests.add({tid, 3}));
  EXPECT_EQ(requests.next_deadline(), kNever);
  requests.set_deadline(made[0], at(2));
  requests.set_deadline(made[1], at(1));
  requests.set_deadline(made[2], at(2));
  requests.set_deadline(made[3], at(1));
  requests.set_deadline(made[1], at(1));  // again, so behind made[3]
  std::vector<Id> order;
  for (; requests.next_deadline() != kNever; requests.erase(order.back()))
    order.push_back(requests.next_due());
  EXPECT_EQ(order, (std::vector<Id>{made[3], made[1], made[0], made[2]}));
}

TEST(Requests, ADeadlineOfNeverTakesItBack) {
  Requests requests;
  const Id id = requests.add({1, 3});
  requests.set_deadline(id, at(5));
  requests.set_deadline(id, kNever);
  EXPECT_EQ(requests.next_deadline(), kNever);
}

/// Against a plain list, with few keys and few moments, so that much collides, and in a flood that
/// makes it give places back.
TEST(Requests, AgreeWithAPlainList) {
  struct Known {
    Id id;
    TransactionKey key;
    Instant due;
    int given;  // when it got its deadline
  };
  constexpr std::size_t kFlood = 6000;
  for (const unsigned seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<unsigned>(random() % n); };
    Requests requests;
    std::vector<Known> known;  // in the order they were made
    for (int step = 0; step < 40'000; ++step) {
      const bool rising = step / 10'000 % 2 == 0;
      const unsigned dice = below(10);
      if (known.empty() || (rising ? dice < 7 : dice < 2)) {
        const TransactionKey key{below(50), static_cast<std::uint8_t>(3 + below(2))};
        known.push_back({requests.add(key), key, kNever, step});
      } else if (dice < 8) {
        Known& one = known[below(known.size())];
        one.due = below(8) == 0 ? kNever : at(below(100));
        one.given = step;
        requests.set_deadline(one.id, one.due);
      } else {
        const auto one = known.begin() + below(known.size());
        requests.erase(one->id);
        known.erase(one);
      }
      if (step % 97 != 0) continue;
      const TransactionKey key{below(50), 3};
      const auto first = std::ranges::find(known, key, &Known::key);
      ASSERT_EQ(requests.find(key, any), first == known.end() ? Requests::kNone : first->id);
      const auto due = std::ranges::min_element(known, [](const Known& a, const Known& b) {
        return a.due != b.due ? a.due < b.due : a.given < b.given;
      });
      ASSERT_EQ(requests.next_deadline(), due == known.end() ? kNever : due->due);
      if (requests.next_deadline() == kNever) continue;
      ASSERT_EQ(requests.next_due(), due->id);
    }
    while (known.size() < kFlood) known.push_back({requests.add({1, 3}), {1, 3}, kNever, 0});
    requests.erase_if(any);
    ASSERT_EQ(requests.find({1, 3}, any), Requests::kNone);
    const Id again = requests.add({9, 3});
    ASSERT_EQ(requests.find({9, 3}, any), again);
  }
}

}  // namespace
}  // namespace ib::sim
