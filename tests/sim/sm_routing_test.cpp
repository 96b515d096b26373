// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routing as the subnet manager programs it: engines and their fallback, the operator's files, SL
// to VL mapping and arbitration, on simulated fabrics in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "tests/sim/sm_on_model.h"

namespace {

using ib::fabric::Fabric;
using ib::route::OptionFile;
using sm::test::SmOnModel;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

template <class Kind>
Fabric make(const Kind& kind) {
  ib::fabric::GenerateCommon common;
  common.lids = false;
  return ib::fabric::generate(kind, common).value();
}
Fabric small_tree() {
  ib::fabric::FatTree tree;
  tree.radix = 4;
  return make(tree);
}
Fabric ring(unsigned switches) {
  ib::fabric::Grid grid;
  grid.sizes = {switches};
  return make(grid);
}

ib::route::ReadOptions roots(const std::string& text) {
  ib::route::ReadOptions read;
  read.mentions.push_back(
      ib::route::read_option_text(OptionFile::Roots, text, "roots", read.options).value());
  return read;
}
std::string spine_of(const Fabric& f) {
  for (const auto& node : f.nodes())
    if (node.is_switch()) return to_string(node.guid);
  return {};
}

/// One more full sweep because the operator asked; what it logged.
std::vector<std::string> sweep(SmOnModel& run) {
  const std::size_t before = run.log().size();
  const std::size_t reports = run.reports();
  run.sm().sweep_now(run.now(), sm::core::Reason::Operator);
  EXPECT_TRUE(run.run_until_reports(reports + 1));
  return {run.log().begin() + static_cast<std::ptrdiff_t>(before), run.log().end()};
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
                                               "the files as read anew are not used")));
    EXPECT_EQ(run.last().sets, 0U);
  }
  run.sm().set_routing_files(roots(spine + "\n"));
  EXPECT_THAT(sweep(run), Not(Contains(HasSubstr("roots"))));
  EXPECT_THAT(sweep(run), Not(Contains(HasSubstr("roots"))));
}

TEST(RoutingFiles, ASyntaxErrorKeepsTheOldRoutingAndIsSaidEverySweep) {
  SmOnModel run(small_tree());
  ASSERT_TRUE(run.run_until_reports(1));
  ib::route::Options unused;
  auto bad = ib::route::read_option_text(OptionFile::Roots, "spine-1\n", "roots", unused);
  ASSERT_FALSE(bad.has_value());
  run.sm().set_routing_files(tl::unexpected<ib::Error>(bad.error()));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(sweep(run), Contains(HasSubstr("roots:1: expected the GUID of a switch")));
    EXPECT_EQ(run.last().sets, 0U);
  }
  run.sm().set_routing_files(ib::route::ReadOptions{});
  EXPECT_THAT(sweep(run), Not(Contains(HasSubstr("roots"))));
}

TEST(Fallback, ARefusedEngineIsReplacedByOneWithoutCreditLoops) {
  sm::core::Options options;
  options.plan.choice.engines = {"minhop"};
  SmOnModel run(ring(6), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  EXPECT_NE(run.sm().snapshot()->routing->engine, "minhop");
  EXPECT_THAT(run.log(), Contains(HasSubstr("routing engine minhop is refused: ")));
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
  // Not one forwarding entry leads anywhere.
  const auto& f = run.model().topology();
  for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n) {
    for (std::uint16_t lid = 1; f.node(n).is_switch() && lid < 20; ++lid)
      EXPECT_EQ(run.model().lft(n, ib::Lid{lid}), ib::routes::kNoPort);
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
