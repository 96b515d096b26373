// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/window_code.h"

#include <gtest/gtest.h>

#include <random>

namespace sm::managers::performance {
namespace {

using namespace std::chrono_literals;
constexpr ib::Duration kWall = 1'764'000'000s;

TEST(WindowCode, ComesBackAsItWas) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 100; ++round) {
    PortTotals::State state;
    for (std::size_t i = 0; i < kCounterCount; ++i) {
      state.totals[i] = random() >> random() % 64;
      state.last[i] = round % 2 == 0 ? state.totals[i] : random() >> random() % 64;
    }
    state.last_reset = ib::Instant{} + 5s;
    const auto bytes = encode(state, kWall);
    EXPECT_LE(bytes.size(), 450U);
    // After a restart the monotonic clock is another one.
    const auto back = decode(bytes, kWall + 100s);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->totals, state.totals);
    EXPECT_EQ(back->last, state.last);
    EXPECT_EQ(back->last_reset, state.last_reset - 100s);
  }
}

TEST(WindowCode, APortWithoutErrorsTakesFewBytes) {
  PortTotals::State state;
  for (std::size_t i = 14; i < kCounterCount; ++i) state.last[i] = state.totals[i] = 1ULL << 40;
  EXPECT_LT(encode(state, kWall).size(), 100U);
}

TEST(WindowCode, HalvesAndOtherMarksAreNothing) {
  auto bytes = encode({}, kWall);
  ASSERT_TRUE(decode(bytes, kWall));
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(decode(std::span(bytes).first(n), kWall)) << n;
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode(bytes, kWall));
  bytes.pop_back();
  bytes[0] = std::byte{2};
  EXPECT_FALSE(decode(bytes, kWall));
}

TEST(WindowCode, AnyBytesAreReadOrRefused) {
  std::mt19937 random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes(random() % 60, std::byte{1});
    for (std::size_t i = 1; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random());
    if (const auto state = decode(bytes, kWall)) {
      EXPECT_TRUE(decode(encode(*state, kWall), kWall));
    }
  }
}

}  // namespace
}  // namespace sm::managers::performance
