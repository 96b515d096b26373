// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/interval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace sm::policy {
namespace {

TEST(Intervals, NormalizedListsHaveWhatTheirPartsHave) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> number(0, 255);
  for (int round = 0; round < 500; ++round) {
    Intervals<std::uint8_t> list;
    for (int i = number(random) % 8; i > 0; --i) {
      const int a = number(random), b = number(random);
      list.push_back(
          {static_cast<std::uint8_t>(std::min(a, b)), static_cast<std::uint8_t>(std::max(a, b))});
    }
    auto merged = list;
    normalize(merged);
    for (std::size_t i = 1; i < merged.size(); ++i)
      EXPECT_GT(int{merged[i].first}, int{merged[i - 1].last} + 1);
    for (int v = 0; v <= 255; ++v) {
      const auto value = static_cast<std::uint8_t>(v);
      const bool any = std::ranges::any_of(list, [&](const auto& i) { return i.has(value); });
      EXPECT_EQ(contains(merged, value), any) << "round " << round << ", " << v;
    }
  }
}

}  // namespace
}  // namespace sm::policy
