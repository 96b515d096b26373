// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routing engines as the subnet manager chooses them: the operator's files, fallback, and what a
// sweep logs of it, on simulated fabrics in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/routing_runs.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace {

using ib::fabric::Fabric;
using sm::test::ring;
using sm::test::roots;
using sm::test::small_tree;
using sm::test::SmOnModel;
using sm::test::sweep;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string spine_of(const Fabric& f) {
  for (const auto& node : f.nodes())
    if (node.is_switch()) return to_string(node.guid);
  return {};
}

TEST(RoutingFiles, AColdStartGoesOnWithoutWhatIsNotThereAndSaysSoEverySweep) {
  sm::core::Options options;
  const auto read = roots("0x77\n");
  options.plan.choice.engine = read.options;
  options.plan.mentions = read.mentions;
  SmOnModel run(small_tree(), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  constexpr auto* kLine = "roots:1: no node has the GUID 0x0000000000000077; routed without it";
  EXPECT_THAT(run.log(), Contains(kLine));
  EXPECT_THAT(sweep(run), Contains(kLine));
}

TEST(RoutingFiles, ReadAnewWithAnUnknownGuidTheOldRoutingStaysUntilItIsThere) {
  const Fabric f = small_tree();
  const std::string spine = spine_of(f);
  SmOnModel run(f);
  ASSERT_TRUE(run.run_until_reports(1));
  run.sm().set_routing_files(roots(spine + "\n0x77\n"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(sweep(run), Contains(HasSubstr("roots:2: no node has the GUID 0x0000000000000077; "
                                               "the files as last read are not used")));
    EXPECT_EQ(run.last().sets, 0U);
  }
  run.sm().set_routing_files(roots(spine + "\n"));
  EXPECT_THAT(sweep(run), Not(Contains(HasSubstr("roots"))));
  EXPECT_THAT(sweep(run), Not(Contains(HasSubstr("roots"))));
}

TEST(RoutingFiles, AFileThatNamesNothingIsSaid) {
  sm::core::Options options;
  options.plan.mentions = roots("# none yet\n").mentions;
  SmOnModel run(small_tree(), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  EXPECT_THAT(run.log(), Contains("roots: names nothing (--root_guid_file): routed as without it"));
}

TEST(RoutingFiles, NamesThatAreNotThereLeaveWhatWasReadLastNotWhatTheStartHad) {
  const Fabric f = ring(6);
  std::vector<std::string> switches;
  for (const auto& node : f.nodes())
    if (node.is_switch()) switches.push_back(to_string(node.guid));
  sm::core::Options options;
  options.plan.choice.engines = {"updn"};
  const auto first = roots(switches[0] + "\n");
  options.plan.choice.engine = first.options;
  options.plan.mentions = first.mentions;
  SmOnModel run(f, {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  const auto tables = [&] { return run.sm().snapshot()->routing->lfts; };
  const auto at_start = tables();

  run.sm().set_routing_files(roots(switches[2] + "\n"));
  sweep(run);
  const auto changed = tables();
  ASSERT_NE(changed, at_start);

  run.sm().set_routing_files(roots("0x77\n"));
  EXPECT_THAT(sweep(run), Contains(HasSubstr("the current routing stays")));
  EXPECT_EQ(tables(), changed);
  EXPECT_EQ(run.last().sets, 0U);
}

TEST(SweepLog, RepetitionsAreThoseOfTheSweep) {
  const Fabric f = small_tree();
  SmOnModel run(f);
  ASSERT_TRUE(run.run_until_reports(1));
  const auto host = static_cast<ib::fabric::NodeIndex>(f.nodes().size() - 1);
  ASSERT_FALSE(f.node(host).is_switch());
  run.model().set_behaviour(host, ib::sim::Behaviour::Silent);
  EXPECT_THAT(sweep(run), Not(Contains(HasSubstr(" 0 of them retries"))));
  run.model().set_behaviour(host, ib::sim::Behaviour::Normal);
  sweep(run);
  EXPECT_THAT(sweep(run), Contains(HasSubstr(" 0 of them retries")));
}

TEST(Fallback, ARefusedEngineIsReplacedByOneWithoutCreditLoops) {
  sm::core::Options options;
  options.plan.choice.engines = {"minhop"};
  SmOnModel run(ring(6), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  EXPECT_NE(run.sm().snapshot()->routing->engine, "minhop");
  EXPECT_THAT(run.log(), Contains(HasSubstr("routing engine minhop is rejected: ")));
}

TEST(Fallback, NoFallbackLeavesAColdFabricUnrouted) {
  sm::core::Options options;
  options.plan.choice.engines = {"minhop"};
  options.plan.choice.no_fallback = true;
  SmOnModel run(ring(6), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_FALSE(run.last().up());
  EXPECT_THAT(run.last().lines, Contains(HasSubstr("missing: routes: ")));
  EXPECT_THAT(run.log(), Contains("no routing engine passes all checks; minhop fails least"));
  // One refusal is one line: nothing is gained by another round, and the finding is in the line.
  EXPECT_EQ(std::ranges::count_if(run.log(),
                                  [](const auto& line) {
                                    return line.find("credit loop through") != std::string::npos;
                                  }),
            1);
  // Not one forwarding entry leads anywhere.
  const auto& f = run.model().topology();
  for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n) {
    for (std::uint16_t lid = 1; f.node(n).is_switch() && lid < 20; ++lid)
      EXPECT_EQ(run.model().lft(n, ib::Lid{lid}), ib::tables::kNoPort);
  }
}

TEST(Fallback, AllowedCreditLoopsAreSaidAtEverySweep) {
  sm::core::Options options;
  options.plan.choice.engines = {"minhop"};
  options.plan.choice.allow_credit_loops = true;
  SmOnModel run(ring(6), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_EQ(run.sm().snapshot()->routing->engine, "minhop");
  EXPECT_THAT(run.log(), Contains(HasSubstr("can deadlock, which is allowed")));
  EXPECT_THAT(sweep(run), Contains(HasSubstr("can deadlock, which is allowed")));
}

}  // namespace
