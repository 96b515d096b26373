// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What devices are to hold for congestion control, by settings, subnet and capabilities alone.
#include <gtest/gtest.h>

#include <cmath>

#include "sm/managers/congestion/error_window.h"
#include "sm/managers/congestion/findings.h"
#include "sm/managers/congestion/plan.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace sm::managers {
namespace {

namespace map = ib::wire::congestion_map;
using ib::wire::CongestionDelay;
using policy::CongestionSettings;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// 16 hosts, ports 1 to 4 of each leaf.
std::shared_ptr<Snapshot> subnet() {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  tree.hosts_per_leaf = 4;
  tree.leaves = 4;
  tree.spines = 2;
  return sa::test::snapshot_of(*ib::fabric::generate(tree));
}

double packets_of(CongestionDelay delay) {
  return static_cast<double>(delay.multiplier) / (1U << delay.shift);
}

TEST(CongestionHosts, AreActivePortsRoundedUpOrWhatIsSaid) {
  const auto s = subnet();
  CongestionSettings settings;
  EXPECT_EQ(congestion_hosts(settings, *s), 16U);
  settings.num_hosts = 1000;
  EXPECT_EQ(congestion_hosts(settings, *s), 1000U) << "as it is said";
}

TEST(CongestionHosts, OneMoreSeldomChangesTheNumber) {
  for (const auto& [active, counted] : {std::pair{13U, 16U},
                                        {12U, 12U},
                                        {11U, 12U},
                                        {8U, 8U},
                                        {7U, 8U},
                                        {5U, 6U},
                                        {3U, 3U},
                                        {1U, 1U},
                                        {0U, 0U}}) {
    const auto s = subnet();
    auto observed = std::make_shared<ib::discover::Observed>(*s->observed);
    unsigned left = active;
    for (ib::fabric::NodeIndex n = 0; n < observed->fabric.nodes().size(); ++n)
      if (!observed->fabric.node(n).is_switch() && left > 0)
        --left;
      else if (!observed->fabric.node(n).is_switch())
        observed->fabric.port(n, 1).state = ib::wire::PortState::Initialize;
    s->observed = observed;
    EXPECT_EQ(congestion_hosts({}, *s), counted) << active;
  }
}

TEST(CongestionTable, GoesFromNoDelayToTheShareOfOneSender) {
  for (const std::uint32_t hosts : {2U, 3U, 16U, 162U, 648U, 11664U}) {
    const auto table = computed_table(hosts, 128);
    ASSERT_EQ(table.size(), 128U);
    EXPECT_EQ(table[0], CongestionDelay{});
    EXPECT_EQ(packets_of(table[127]), hosts - 2.0) << hosts;
    for (std::size_t i = 1; i < table.size(); ++i)
      EXPECT_GE(packets_of(table[i]), packets_of(table[i - 1])) << hosts << ' ' << i;
  }
}

TEST(CongestionTable, EachStepIsALikePartOfTheRate) {
  const auto table = computed_table(162, 128);
  // Rounding to an eighth of a packet matters less the longer the delay is.
  const double step = std::pow(161.0, 1.0 / 127);
  for (std::size_t i = 64; i < table.size(); ++i)
    EXPECT_NEAR((1 + packets_of(table[i])) / (1 + packets_of(table[i - 1])), step, 0.02) << i;
  // By hand: 161^(64/127) - 1 = 11.947 packets, in eighths 95.6.
  EXPECT_EQ(table[64], (CongestionDelay{3, 96}));
}

TEST(CongestionTable, ALongDelayIsWrittenWithASmallerShift) {
  EXPECT_EQ(computed_table(2049, 64)[63], (CongestionDelay{3, 16376}));
  EXPECT_EQ(computed_table(2050, 64)[63], (CongestionDelay{2, 8192}));
  EXPECT_EQ(computed_table(49152, 64)[63], (CongestionDelay{0, 16383})) << "as long as there are";
}

TEST(CongestionTable, LargerFabricsAreSlowedDownMore) {
  const auto small = computed_table(48, 128), large = computed_table(648, 128);
  for (std::size_t i = 8; i < small.size(); ++i)
    EXPECT_GT(packets_of(large[i]), packets_of(small[i])) << i;
}

TEST(CongestionTimer, IsTheTimeBetweenTwoMarksOfASenderAtItsShare) {
  EXPECT_EQ(computed_timer(2, 10), 150) << "no shorter than that";
  // By hand: 11 packets of 161 senders, 330 ns each: 584.4 us, in 1.024 us 570.7.
  EXPECT_EQ(computed_timer(162, 10), 571);
  EXPECT_EQ(computed_timer(49152, 0xFFFF), 0xFFFF);
}

TEST(CongestionOfSwitches, PortsToHostsMarkWhatWaitsForCredits) {
  const auto s = subnet();
  const auto& fabric = s->fabric();
  std::size_t leaves = 0;
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (!fabric.node(n).is_switch()) continue;
    const auto wanted = wanted_of_switch({}, fabric, n, {});
    EXPECT_EQ(wanted.control_map, map::kVictimMask | map::kThreshold | map::kMarkingRate);
    EXPECT_EQ(wanted.threshold, 15);
    std::uint8_t expected = 0;
    for (unsigned p = 1; p < 8; ++p) {
      const auto peer = fabric.port(n, p).peer;
      if (peer && !fabric.node(peer.node).is_switch())
        expected = static_cast<std::uint8_t>(expected | (1U << p));
    }
    leaves += expected != 0 ? 1 : 0;
    EXPECT_EQ(wanted.victim_mask[31], expected);
    EXPECT_EQ(wanted.victim_mask[29], 0);
  }
  EXPECT_EQ(leaves, 4U);
}

TEST(CongestionOfSwitches, CreditStarvationIsForThoseThatCanMarkIt) {
  const auto s = subnet();
  ib::fabric::NodeIndex n = 0;
  while (!s->fabric().node(n).is_switch()) ++n;
  CongestionSettings settings;
  settings.victims_by_ports = false;
  settings.of_switch.control_map = map::kAll;
  EXPECT_EQ(wanted_of_switch(settings, s->fabric(), n, {}).control_map,
            map::kVictimMask | map::kThreshold | map::kMarkingRate);
  EXPECT_EQ(
      wanted_of_switch(settings, s->fabric(), n, {ib::wire::kCreditStarvation, 0}).control_map,
      map::kAll);
}

TEST(CongestionOff, IsNoMarkNoDelayAndATableOfOneEntry) {
  const auto s = subnet();
  ib::fabric::NodeIndex n = 0;
  while (!s->fabric().node(n).is_switch()) ++n;
  CongestionSettings off;
  off.enable = false;
  ib::wire::SwitchCongestionSetting nothing;
  nothing.control_map = map::kAll;
  EXPECT_EQ(wanted_of_switch(off, s->fabric(), n, {ib::wire::kCreditStarvation, 0}), nothing);
  ib::wire::CaCongestionSetting idle;
  idle.control_map = 0xFFFF;
  EXPECT_EQ(wanted_of_ca(off, 100), idle);
  EXPECT_EQ(wanted_table(off, 100, 2), std::vector(1, ib::wire::CongestionControlTable{}));
}

TEST(CongestionOfCas, TimersAreComputedUnlessTheyAreSaid) {
  CongestionSettings settings;
  EXPECT_EQ(wanted_of_ca(settings, 162).entries[3], (ib::wire::CaCongestionEntry{571, 1, 2, 0}));
  settings.timer_by_hosts = false;
  for (auto& entry : settings.of_ca.entries) entry.ccti_timer = 33;
  EXPECT_EQ(wanted_of_ca(settings, 162).entries[3].ccti_timer, 33);
}

TEST(CongestionBlocks, AllCarryTheLastIndexOfTheWholeTable) {
  const auto blocks = wanted_table({}, 162, 2);
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].ccti_limit, 127);
  EXPECT_EQ(blocks[1].ccti_limit, 127);
  const auto table = computed_table(162, 128);
  EXPECT_EQ(blocks[1].entries[63], table[127]);
  EXPECT_EQ(wanted_table({}, 162, 1).at(0).entries[63], computed_table(162, 64)[63])
      << "a smaller table ends at the same delay";
  EXPECT_EQ(wanted_table({}, 162, 255).size(), 2U) << "128 entries are enough";
}

TEST(CongestionBlocks, ATableOfOneEntryIsNotLost) {
  CongestionSettings settings;
  settings.table_by_hosts = settings.last_fills = false;
  settings.table = {{2, 9}};
  const auto blocks = wanted_table(settings, 162, 2);
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].ccti_limit, 0);
  EXPECT_EQ(blocks[0].entries[0], (CongestionDelay{2, 9}));
}

TEST(CongestionBlocks, TheLastValueFillsTheTableAndWhatDoesNotFitIsCutOff) {
  CongestionSettings settings;
  settings.table_by_hosts = false;
  settings.table = {{0, 0}, {0, 5}, {0, 9}};
  const auto blocks = wanted_table(settings, 162, 2);
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].entries[1], (CongestionDelay{0, 5}));
  EXPECT_EQ(blocks[0].entries[2], (CongestionDelay{0, 9}));
  EXPECT_EQ(blocks[1].entries[63], (CongestionDelay{0, 9}));

  settings.last_fills = false;
  settings.table.assign(100, {0, 1});
  EXPECT_EQ(wanted_table(settings, 162, 2).at(1).ccti_limit, 99);
  EXPECT_EQ(wanted_table(settings, 162, 1).at(0).ccti_limit, 63);
  settings.table.clear();
  EXPECT_EQ(wanted_table(settings, 162, 2), std::vector(1, ib::wire::CongestionControlTable{}));
}

TEST(CongestionHolds, OnlyWhatASetMeansIsCompared) {
  ib::wire::SwitchCongestionSetting wanted, held;
  wanted.control_map = map::kThreshold;
  wanted.threshold = held.threshold = 7;
  held.marking_rate = 99;
  held.control_map = 0x1F;
  EXPECT_TRUE(holds(held, wanted));
  wanted.control_map |= map::kMarkingRate;
  EXPECT_FALSE(holds(held, wanted));

  ib::wire::CaCongestionSetting ca, answer;
  ca.control_map = 1;
  ca.entries[0].ccti_timer = answer.entries[0].ccti_timer = 5;
  answer.entries[1].ccti_timer = 6;
  EXPECT_TRUE(holds(answer, ca));
  answer.port_control = 1;
  EXPECT_FALSE(holds(answer, ca));

  ib::wire::CongestionControlTable block, shown;
  block.ccti_limit = shown.ccti_limit = 70;
  shown.entries[6] = shown.entries[7] = {0, 1};
  EXPECT_FALSE(holds(shown, block, 0));
  EXPECT_FALSE(holds(shown, block, 1)) << "index 70 counts";
  shown.entries[6] = {};
  EXPECT_TRUE(holds(shown, block, 1)) << "index 71 does not";
  shown.ccti_limit = 71;
  EXPECT_FALSE(holds(shown, block, 1));
}

TEST(ErrorWindow, MoreThanTheMostWithinTheSpanAreTooMany) {
  ErrorWindow errors(2, seconds(5));
  ib::Instant now{1'000'000'000};
  EXPECT_FALSE(errors.add(now));
  EXPECT_FALSE(errors.add(now + seconds(1)));
  EXPECT_FALSE(errors.add(now + seconds(5))) << "the first is 5 s ago";
  EXPECT_TRUE(errors.add(now + milliseconds(5999)));
  EXPECT_EQ(errors.count(), 3U);
}

TEST(Findings, AreALineForEachKindErrorsFirst) {
  Findings findings;
  for (int i = 0; i < 20; ++i) findings.add(ib::LogLevel::Info, "far", std::to_string(i));
  findings.add(ib::LogLevel::Warning, "near", "x");
  findings.add(ib::LogLevel::Warning, "near", "y");
  const auto lines = findings.take("topic");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].message, "near: x, y");
  EXPECT_EQ(lines[1].message,
            "far: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 4 more");
  EXPECT_TRUE(findings.take("topic").empty());
}

TEST(ErrorWindow, MostZeroIsNoToleranceAndSpanZeroNoCheck) {
  EXPECT_TRUE(ErrorWindow(0, seconds(5)).add(ib::Instant{1}));
  ErrorWindow unchecked(0, seconds(0));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(unchecked.add(ib::Instant{1}));
}

}  // namespace
}  // namespace sm::managers
