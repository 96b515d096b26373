// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whole systems: the first seeds, those that once broke an invariant, and bugs made on purpose,
// each of which some seed finds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/sim/system/shrink.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

TEST(Case, IsAWordThatIsReadAsItIsWritten) {
  for (const Case& c :
       {Case{17, 100, {}}, Case{17, 40, {}}, Case{0, 1, {{}}}, Case{UINT64_MAX, 100, {{0, 3, 12}}}})
    EXPECT_EQ(parse_case(to_text(c)), c) << to_text(c);
  for (const char* word : {"", "x", "1:", "1:0", "1:101", "1:5:x", "1:5:1,,2", "-1"})
    EXPECT_EQ(parse_case(word), std::nullopt) << word;
}

TEST(Shrink, KeepsWhatIsNeededAndNothingElse) {
  const auto fails = [](const Case& c) {
    const auto has = [&](unsigned n) { return std::ranges::find(*c.kept, n) != c.kept->end(); };
    return c.size >= 25 && has(3) && has(8);
  };
  EXPECT_EQ(to_text(shrink({7, 100, {}}, 12, fails)), "7:25:3,8");
}

std::string trace_of(const Case& c) {
  std::string all;
  RunOptions options;
  options.trace = [&](const std::string& line) { all += line + "\n"; };
  (void)run_case(c, options);
  return all;
}

TEST(Soak, ASeedIsTheSameRunEveryTime) {
  for (const std::uint64_t seed : {3U, 14U, 15U}) {
    const Case c{seed, 100, {}};
    const std::string first = trace_of(c);
    EXPECT_EQ(first, trace_of(c)) << seed;
    EXPECT_NE(first.find("it is settled"), std::string::npos) << seed;
  }
}

void expect_all_is_well(const Case& c) {
  for (const Finding& finding : run_case(c))
    ADD_FAILURE() << fmt::format("./dev soak {}  # {} {}", to_text(c), finding.invariant,
                                 finding.what);
}

/// The cases of a file beside this one, a line each.
std::vector<Case> cases_of(const std::string& file) {
  std::ifstream in(std::string(IBKIT_SOURCE_DIR) + "/tests/sim/system/" + file);
  EXPECT_TRUE(in.good()) << file;
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto c = parse_case(line.substr(0, line.find(' ')));
    EXPECT_TRUE(c.has_value()) << line;
    if (c) cases.push_back(*c);
  }
  return cases;
}

TEST(Soak, WhatOnceBrokeAnInvariantDoesSoNoMore) {
  for (const Case& c : cases_of("corpus.txt")) expect_all_is_well(c);
}

/// As many as a core plays in 20 s.
constexpr std::uint64_t kSeeds = 1200, kParts = 10;
constexpr std::uint64_t kSeedsForAMutant = 2000;

class Seeds : public testing::TestWithParam<std::uint64_t> {};
TEST_P(Seeds, BreakNoInvariant) {
  const auto open = cases_of("open.txt");
  const std::uint64_t first = GetParam() * kSeeds / kParts;
  for (std::uint64_t seed = first; seed < first + kSeeds / kParts; ++seed)
    if (const Case c{seed, 100, {}}; std::ranges::find(open, c) == open.end())
      expect_all_is_well(c);
}
INSTANTIATE_TEST_SUITE_P(Part, Seeds, testing::Range(std::uint64_t{0}, kParts));

class Mutants : public testing::TestWithParam<std::size_t> {};
TEST_P(Mutants, AreFoundByTheInvariantThatTheyBreak) {
  const MutantRow& row = mutants()[GetParam()];
  for (std::uint64_t seed = 0; seed < kSeedsForAMutant; ++seed) {
    const auto mutant = row.make();
    RunOptions options;
    options.mutant = mutant.get();
    for (const Finding& finding : run_case({seed, 100, {}}, options)) {
      if (finding.invariant != row.breaks) continue;
      RecordProperty("seeds", static_cast<int>(seed + 1));
      return;
    }
  }
  ADD_FAILURE() << row.name << ": no seed breaks " << row.breaks;
}
INSTANTIATE_TEST_SUITE_P(All, Mutants, testing::Range(std::size_t{0}, mutants().size()));

}  // namespace
}  // namespace soak
