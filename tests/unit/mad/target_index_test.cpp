// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/target_index.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace ib::mad {
namespace {

TEST(TargetIndex, HoldsWhatAMapHoldsThroughGrowthAndErasure) {
  std::mt19937_64 random(1);
  TargetIndex index;
  std::unordered_map<std::uint64_t, TargetIndex::Index> expected;
  const auto key = [&] {
    const std::uint64_t k = random() % 6000;
    return k % 3 == 0 ? k << 40 : k;  // GUIDs differ in few bits, and not always the low ones
  };
  for (TargetIndex::Index i = 0; i < 60'000; ++i) {
    const std::uint64_t k = key();
    if (random() % 2 == 0) {
      index.at(k) = i;
      expected[k] = i;
    } else {
      index.erase(k);
      expected.erase(k);
    }
    ASSERT_EQ(index.size(), expected.size());
    const std::uint64_t other = key();
    const auto at = expected.find(other);
    ASSERT_EQ(index.find(other), at == expected.end() ? TargetIndex::kNone : at->second) << other;
  }
  EXPECT_GT(expected.size(), 1024U);
  for (const auto& [k, target] : expected) ASSERT_EQ(index.find(k), target);
}

TEST(TargetIndex, NewKeyHasNoTarget) {
  TargetIndex index;
  EXPECT_EQ(index.find(0), TargetIndex::kNone);
  EXPECT_EQ(index.at(0), TargetIndex::kNone);
}

}  // namespace
}  // namespace ib::mad
