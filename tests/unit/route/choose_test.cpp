// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/choose/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"

namespace ib::route {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

fabric::Fabric ring(unsigned switches) {
  fabric::Grid kind;
  kind.sizes = {switches};
  return fabric::generate(kind, {}).value();
}
fabric::Fabric tree() {
  fabric::FatTree kind;
  kind.radix = 8;
  return fabric::generate(kind, {}).value();
}

Choice choose(const fabric::Fabric& f, const ChoiceOptions& options) {
  return choose_routes(f, fabric::CompactGraph(f), options, {});
}
ChoiceOptions only(const char* engine) {
  ChoiceOptions options;
  options.engines = {engine};
  options.no_fallback = true;
  return options;
}

TEST(Choice, OneEngineNamedIsTakenWhereItReachesAllWithoutALoop) {
  const Choice choice = choose(tree(), only("minhop"));
  EXPECT_TRUE(choice.passed);
  EXPECT_EQ(choice.routes.engine, "minhop");
  EXPECT_THAT(choice.alarms(), IsEmpty());
}

TEST(Choice, EveryEngineEndsAndIsRefusedWhereALinkHasNoVls) {
  for (auto f : {ring(6), tree()}) {
    for (unsigned p = 1; p <= f.node(0).num_ports; ++p) f.port(0, p).vl_cap = 7;  // means none
    for (const EngineEntry& engine : engines()) {
      const Choice choice = choose(f, only(engine.name));
      EXPECT_FALSE(choice.passed) << engine.name;
      EXPECT_FALSE(choice.alarms().empty()) << engine.name;
    }
  }
}

TEST(Choice, CreditLoopsAreRefusedUnlessAllowedAndThenSaid) {
  ChoiceOptions options = only("minhop");
  const Choice refused = choose(ring(6), options);
  EXPECT_FALSE(refused.passed);
  EXPECT_EQ(refused.routes.engine, "minhop");  // what fails least
  ASSERT_EQ(refused.tried.size(), 1U);
  EXPECT_GT(refused.tried[0].verdict->credit_loop_channels, 0U);
  ASSERT_EQ(refused.alarms().size(), 2U);
  EXPECT_THAT(refused.alarms()[0], HasSubstr("routing engine minhop is refused: "));
  EXPECT_EQ(refused.alarms()[1], "no routing engine passes all checks; minhop fails least");

  options.allow_credit_loops = true;
  const Choice allowed = choose(ring(6), options);
  EXPECT_TRUE(allowed.passed);
  ASSERT_EQ(allowed.alarms().size(), 1U);
  EXPECT_THAT(allowed.alarms()[0], HasSubstr("can deadlock, which is allowed"));
}

TEST(Choice, WhatFollowsTheListIsNoWeaker) {
  ChoiceOptions options = only("minhop");
  options.no_fallback = false;
  const Choice choice = choose(ring(6), options);
  EXPECT_TRUE(choice.passed);
  EXPECT_NE(choice.routes.engine, "minhop");
  EXPECT_EQ(choice.verdict.credit_loop_channels, 0U);
  ASSERT_EQ(choice.alarms().size(), 2U);
  EXPECT_EQ(choice.alarms()[1],
            "none of the engines named can route this fabric; " + choice.routes.engine + " does");
}

TEST(Choice, TheDefaultIsFreeOfCreditLoopsWhateverTheFabric) {
  fabric::RandomGraph random;
  for (const auto& f : {tree(), ring(3), ring(6), fabric::generate(random, {}).value(),
                        fabric::generate(fabric::DragonflyPlus{}, {}).value(),
                        fabric::generate_lab_like().value()}) {
    const Choice choice = choose(f, {});
    EXPECT_TRUE(choice.passed);
    EXPECT_EQ(choice.verdict.credit_loop_channels, 0U);
    EXPECT_THAT(choice.alarms(), IsEmpty());
  }
}

TEST(Choice, WhereEveryTwoSwitchesAreNeighboursOneVlDoesByDefault) {
  for (const auto& f : {ring(3), fabric::generate(fabric::HyperX{{6}, 3, 1}).value(),
                        fabric::generate(fabric::Grid{{3}, true, 4, 2}).value()}) {
    const Choice choice = choose(f, {});
    EXPECT_TRUE(choice.passed);
    EXPECT_EQ(choice.routes.engine, "updn");
    EXPECT_EQ(choice.routes.vls_used, 1U);
    EXPECT_TRUE(choice.routes.virtual_lanes.trivial());
    EXPECT_THAT(choice.tried, ::testing::SizeIs(1));
    const auto minhop = choose(f, only("minhop"));
    EXPECT_EQ(choice.verdict.load_max, minhop.verdict.load_max);
  }
  // Farther switches are worth the VLs: updn would load some links more.
  EXPECT_EQ(choose(ring(4), {}).routes.engine, "torus-2QoS");
}

TEST(Choice, NoSwitchAndOneSwitchAreRoutedToo) {
  fabric::FatTree star;
  star.leaves = 1;
  star.spines = 1;
  star.hosts_per_leaf = 3;
  EXPECT_TRUE(choose(fabric::generate(star, {}).value(), {}).passed);
  EXPECT_TRUE(choose(fabric::Fabric{}, {}).passed);
}

TEST(Choice, ComparingTriesAllThatAreNamed) {
  ChoiceOptions options;
  options.engines = {"minhop", "dor", "minhop"};
  options.compare = true;
  const Choice choice = choose(tree(), options);
  ASSERT_EQ(choice.tried.size(), 3U);
  for (const Tried& row : choice.tried) EXPECT_TRUE(row.named);
  EXPECT_EQ(choice.routes.engine, "minhop");
}

TEST(Choice, TreesAndOtherNetworksGetTheirOwnEnginesFirst) {
  const auto of_tree = default_engines(fabric::CompactGraph(tree()));
  const auto of_ring = default_engines(fabric::CompactGraph(ring(8)));
  ASSERT_FALSE(of_tree.empty());
  EXPECT_NE(of_tree.front(), "torus-2QoS");
  EXPECT_EQ(of_tree.back(), "minhop");
  EXPECT_EQ(of_ring.back(), "minhop");
}

TEST(Choice, NamesAreChecked) {
  const std::vector<std::string> good{"minhop"}, bad{"minhop", "Minhop"};
  EXPECT_TRUE(check_engine_names(good).has_value());
  const auto checked = check_engine_names(bad);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().kind, ErrorKind::Usage);
  EXPECT_THAT(checked.error().message, HasSubstr("'Minhop'; there are: minhop"));
}

TEST(Choice, FailingLessNeverTradesPairsForLoops) {
  tables::Verdict whole, lossy, looping;
  lossy.unreachable = 3;
  looping.credit_loop_channels = 5;
  EXPECT_TRUE(fails_less(whole, lossy));
  EXPECT_TRUE(fails_less(whole, looping));
  EXPECT_FALSE(fails_less(looping, lossy));
  EXPECT_FALSE(fails_less(lossy, looping));
  EXPECT_FALSE(fails_less(lossy, lossy));
}

TEST(Choice, TablesAreCarriedOverBySwitch) {
  const auto f = ring(4);
  const fabric::CompactGraph from(f);
  const auto tables = choose(f, only("dor")).routes.lfts;
  // The nodes in the opposite order, and one switch less.
  fabric::Fabric turned;
  for (std::size_t i = f.nodes().size(); i-- > 0;)
    if (i != from.node_of(1)) turned.add_node(f.nodes()[i]);
  turned.reindex();
  const fabric::CompactGraph to(turned);
  const auto carried = carried_over(tables, from, to);
  ASSERT_EQ(carried.switch_count(), 3U);
  for (fabric::SwitchIndex s = 0; s < to.switch_count(); ++s)
    for (fabric::SwitchIndex o = 0; o < from.switch_count(); ++o)
      if (to.guid(s) == from.guid(o)) {
        for (std::uint16_t lid = 0; lid < carried.lid_count(); ++lid)
          EXPECT_EQ(carried.at(s, Lid{lid}), tables.at(o, Lid{lid}));
      }
}

}  // namespace
}  // namespace ib::route
