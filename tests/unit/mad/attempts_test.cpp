// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/attempts.h"

#include <gtest/gtest.h>

#include <set>

namespace {

using ib::Instant;
using ib::mad::Attempts;
using ib::mad::AttemptState;

Instant after(int seconds) { return Instant{0} + std::chrono::seconds(seconds); }

Attempts::Index send(Attempts& attempts, Instant now) {
  const auto s = attempts.take(now);
  attempts[s].state = AttemptState::Live;
  attempts[s].kept_until = now + std::chrono::seconds(1);
  return s;
}

TEST(Attempts, ATidIsFoundUntilItIsReleasedAndComesBackLate) {
  Attempts attempts(0xFFFFFF00);  // TIDs wrap around
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 10'000; ++i) {
    const auto s = send(attempts, after(0));
    const auto tid = attempts.tid_of(s);
    EXPECT_TRUE(seen.insert(tid).second);
    EXPECT_EQ(attempts.find(tid), s);
    EXPECT_EQ(attempts.find(0xABCD'0000'0000 | tid), s);  // the kernel's half
    attempts.release(s);
    EXPECT_EQ(attempts.find(tid), Attempts::kNone);
  }
}

TEST(Attempts, AGhostKeepsItsTidUntilTheTransportHasForgottenIt) {
  Attempts attempts(1);
  const auto s = send(attempts, after(0));
  const auto tid = attempts.tid_of(s);
  attempts.haunt(s, 2);
  EXPECT_EQ(attempts.find(tid), s);
  EXPECT_EQ(attempts[s].answered, 2);
  send(attempts, after(1) - ib::Duration{1});
  EXPECT_EQ(attempts.find(tid), s);
  send(attempts, after(1));
  EXPECT_EQ(attempts.find(tid), Attempts::kNone);
}

TEST(Attempts, TheOldestGhostGoesEarlyWhenAllSlotsAreTaken) {
  Attempts attempts(0);
  constexpr std::size_t kAll = 1U << 18;
  const auto first = send(attempts, after(0));
  const auto tid = attempts.tid_of(first);
  attempts.haunt(first, 0);
  attempts.mark_lost(first);
  for (std::size_t i = 1; i < kAll; ++i) send(attempts, after(0));
  EXPECT_EQ(attempts.find(tid), first);
  EXPECT_EQ(send(attempts, after(0)), first);
  EXPECT_EQ(attempts.find(tid), Attempts::kNone);
  EXPECT_EQ(attempts.lost(), 0U);
}

TEST(Attempts, WhatIsLostTakesAPlaceUntilItExpires) {
  Attempts attempts(0);
  const auto a = send(attempts, after(0));
  const auto b = send(attempts, after(1));
  const auto c = send(attempts, after(2));
  for (const auto s : {a, b, c, c}) attempts.mark_lost(s);
  EXPECT_EQ(attempts.lost(), 3U);
  EXPECT_EQ(attempts.next_expiry(), after(1));
  attempts.forget_expired(after(1));
  EXPECT_EQ(attempts.lost(), 2U);
  attempts.release(b);
  EXPECT_EQ(attempts.lost(), 1U);
  // Its slot is another attempt's by the time at which b would have expired.
  Attempts::Index again = Attempts::kNone;
  while (again != b) again = send(attempts, after(3));
  attempts.mark_lost(again);
  EXPECT_EQ(attempts.lost(), 2U);
  attempts.forget_expired(after(2));
  EXPECT_EQ(attempts.lost(), 2U);
  attempts.forget_expired(after(3));
  EXPECT_EQ(attempts.lost(), 1U);
  attempts.forget_expired(after(4));
  EXPECT_EQ(attempts.lost(), 0U);
}

}  // namespace
