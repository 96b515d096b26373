// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/exit_classes.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>

namespace ib::route {
namespace {

/// Every target by the set of its candidates, one after the other.
std::map<std::vector<bool>, std::uint64_t> sorted_plainly(const std::vector<std::uint64_t>& arcs) {
  std::map<std::vector<bool>, std::uint64_t> classes;
  for (unsigned b = 0; b < 64; ++b) {
    std::vector<bool> candidates;
    bool any = false;
    for (const std::uint64_t arc : arcs)
      candidates.push_back((arc >> b & 1) != 0), any |= candidates.back();
    if (any) classes[candidates] |= std::uint64_t{1} << b;
  }
  return classes;
}

void expect_sorted(const std::vector<std::uint64_t>& arcs, ExitClasses& classes) {
  classes.sort(arcs);
  std::map<std::vector<bool>, std::uint64_t> found;
  std::uint64_t reached = 0;
  int last = -1;  // rank of a lone candidate, then 256 and more by the first target
  for (const ExitClass& c : classes.all()) {
    std::vector<bool> candidates(arcs.size(), false);
    const int place = c.single() ? c.first : 256 + std::countr_zero(c.targets);
    EXPECT_LT(last, place);
    last = place;
    if (c.single()) {
      candidates[c.first] = true;
    } else {
      std::array<std::uint8_t, 256> list;
      const std::size_t n = list_exits(classes.mask(c), list.data());
      EXPECT_EQ(n, c.count);
      EXPECT_EQ(list[0], c.first);
      for (std::size_t i = 0; i < n; ++i) candidates[list[i]] = true;
    }
    found[candidates] |= c.targets;
    EXPECT_EQ(reached & c.targets, 0U);
    reached |= c.targets;
  }
  EXPECT_EQ(found, sorted_plainly(arcs));
  EXPECT_EQ(classes.reached(), reached);
}

TEST(ExitClasses, ATreeHasOneForAllAboveAndOneForEachExitDown) {
  ExitClasses classes;
  expect_sorted({0x1, 0x2, 0x4, 0xF0, 0xF0, 0xF0}, classes);
  EXPECT_EQ(classes.all().size(), 4U);
  expect_sorted({}, classes);
  expect_sorted({0, 0, 0}, classes);
  EXPECT_TRUE(classes.all().empty());
}

TEST(ExitClasses, NoTargetIsInTwoAndNoneIsLeftOut) {
  std::mt19937_64 random(20);
  ExitClasses classes;
  for (unsigned run = 0; run < 300; ++run) {
    std::vector<std::uint64_t> arcs(run % 3 == 0 ? random() % 254 : random() % 12);
    std::array<std::uint64_t, 4> few;
    for (auto& word : few) word = random() & random();
    for (auto& arc : arcs)
      arc = run % 2 == 0 ? few[random() % few.size()] : random() & random() & random();
    expect_sorted(arcs, classes);
  }
}

}  // namespace
}  // namespace ib::route
