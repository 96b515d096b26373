// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Multicast trees as the subnet manager plans them: proved free of credit loops where the engine
// claims it, within the tables of the switches, and with a word on members that none reaches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "libdiag/tables/verify.h"
#include "tests/sim/routing_runs.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace {

using ib::fabric::Fabric;
using sm::test::ring;
using sm::test::several_vls;
using sm::test::small_tree;
using sm::test::SmOnModel;
using sm::test::sweep;
using sm::test::torus;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Every host of the fabric in one group.
sm::plan::MlidGroup everyone(const Fabric& f, std::uint16_t sls) {
  sm::plan::MlidGroup group{ib::Lid{0xC000}, {}, {}, sls};
  for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) group.receivers.push_back(f.port(n, 1).guid);
  return group;
}

TEST(Multicast, TreesThatAnEngineClaimsAreProvedAndOthersSaySo) {
  SmOnModel run(small_tree());
  run.sm().set_groups(run.now(), {everyone(run.model().topology(), 1)});
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_THAT(run.log(), Not(Contains(HasSubstr("multicast"))));

  SmOnModel virtual_lanes(torus(), {}, several_vls());
  virtual_lanes.sm().set_groups(virtual_lanes.now(),
                                {everyone(virtual_lanes.model().topology(), 1U << 0)});
  ASSERT_TRUE(virtual_lanes.run_until_reports(1));
  EXPECT_THAT(virtual_lanes.log(), Not(Contains(HasSubstr("multicast"))));
  virtual_lanes.sm().set_groups(virtual_lanes.now(),
                                {everyone(virtual_lanes.model().topology(), 1U << 3)});
  EXPECT_THAT(sweep(virtual_lanes),
              Contains("multicast: 1 groups not proved free of credit loops: torus-2QoS says so of "
                       "SL 0 only"));

  // VLs that lash leaves free carry the default IPoIB group's SL as well as its own do.
  sm::core::Options beside = several_vls();
  beside.plan.choice.engines = {"lash"};
  beside.plan.choice.engine.lash_start_vl = 1;
  SmOnModel lash(torus(), {}, beside);
  lash.sm().set_groups(lash.now(), {everyone(lash.model().topology(), 1U << 0)});
  ASSERT_TRUE(lash.run_until_reports(1));
  EXPECT_EQ(lash.sm().snapshot()->routing->engine, "lash");
  EXPECT_THAT(lash.log(), Not(Contains(HasSubstr("multicast"))));
}

/// Six switches in a ring, routed by updn.
std::shared_ptr<const sm::Snapshot> routed_ring() {
  sm::core::Options options;
  options.plan.choice.engines = {"updn"};
  SmOnModel run(ring(6), {}, options);
  EXPECT_TRUE(run.run_until_reports(1));
  return run.sm().snapshot();
}

/// A plan to which multicast trees are added.
sm::plan::Desired nothing_desired() {
  sm::plan::Desired desired;
  desired.verifier = std::make_shared<ib::tables::Verifier>(
      ib::tables::VerifyOptions{.credit_loops_are_must = true, .loads = false});
  return desired;
}

TEST(Multicast, TreesThatBreakTheClaimAreNotProgrammed) {
  const auto snapshot = routed_ring();
  sm::plan::Desired desired = nothing_desired();
  const auto group = everyone(snapshot->fabric(), 1);
  desired.routing = snapshot->routing;
  EXPECT_THAT(want_multicast(desired, snapshot->fabric(), {&group, 1}).alarms, testing::IsEmpty());
  EXPECT_TRUE(desired.program_mfts);

  // The order turned round: valleys where updn has peaks.
  auto wrong = std::make_shared<sm::Routing>(*snapshot->routing);
  for (std::uint32_t& number : wrong->multicast.up_order) number = 1000 - number;
  desired.routing = wrong;
  EXPECT_THAT(want_multicast(desired, snapshot->fabric(), {&group, 1}).alarms,
              testing::ElementsAre(HasSubstr("multicast trees are not programmed: ")));
  EXPECT_FALSE(desired.program_mfts);
}

/// What a switch refuses would take the rest of its SwitchInfo along, LinearFDBTop among it.
TEST(Multicast, NoSwitchIsToldOfMlidsBeyondItsTable) {
  const auto snapshot = routed_ring();
  sm::plan::Desired desired = nothing_desired();
  desired.routing = snapshot->routing;
  desired.switches.resize(6);
  for (auto& want : desired.switches) want.multicast_fdb_cap = 0x1000;
  desired.switches[4].multicast_fdb_cap = 0x40;
  desired.switches[5].multicast_fdb_cap = 0;
  auto group = everyone(snapshot->fabric(), 1);
  group.mlid = ib::Lid{0xC03F};
  EXPECT_THAT(want_multicast(desired, snapshot->fabric(), {&group, 1}).alarms, testing::IsEmpty());
  EXPECT_EQ(desired.switches[4].multicast_fdb_top, 0xC03F);
  EXPECT_EQ(desired.switches[5].multicast_fdb_top, 0xBFFF);

  group.mlid = ib::Lid{0xC040};
  const auto name = snapshot->fabric().node(desired.routing->graph.node_of(4)).description;
  EXPECT_THAT(want_multicast(desired, snapshot->fabric(), {&group, 1}).alarms,
              testing::ElementsAre(testing::AllOf(HasSubstr("MLID 0xc040 is beyond"),
                                                  HasSubstr(name), HasSubstr("ends at 0xc03f"))));
  EXPECT_EQ(desired.switches[0].multicast_fdb_top, 0xC040);
  EXPECT_EQ(desired.switches[4].multicast_fdb_top, 0xC03F);
}

TEST(Multicast, AMemberThatNoTreeReachesIsNamedAndTheOthersAreServed) {
  const auto snapshot = routed_ring();
  sm::plan::Desired desired = nothing_desired();
  const auto group = everyone(snapshot->fabric(), 1);
  // A rule that keeps a switch out of every tree: the one that nothing hangs below.
  auto wrong = std::make_shared<sm::Routing>(*snapshot->routing);
  auto& rule = wrong->multicast;
  ASSERT_EQ(rule.up_order.size(), 6U);
  rule.parent.assign(rule.up_order.size(), ib::fabric::kNoSwitch);
  for (ib::fabric::SwitchIndex s = 0; s < rule.up_order.size(); ++s)
    for (const auto& arc : wrong->graph.arcs(s))
      if (rule.up_order[arc.to] < rule.up_order[s]) rule.parent[s] = arc.to;
  for (ib::fabric::SwitchIndex s = 0; s < rule.parent.size(); ++s)
    if (std::ranges::count(rule.parent, s) == 0) {
      rule.parent[s] = ib::fabric::kNoSwitch;
      break;
    }
  desired.routing = wrong;
  EXPECT_THAT(
      want_multicast(desired, snapshot->fabric(), {&group, 1}).alarms,
      testing::ElementsAre(testing::AllOf(HasSubstr("multicast: not every member is reached: "),
                                          HasSubstr("is not joined to"))));
  EXPECT_TRUE(desired.program_mfts);
}

}  // namespace
