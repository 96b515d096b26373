// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/choose/plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/node_order.h"
#include "libdiag/tables/sl_moves.h"
#include "tests/unit/tables/cut.h"

namespace ib::route {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

fabric::Fabric planned_tree() { return fabric::generate(fabric::FatTree{.radix = 8}).value(); }

/// Every LID of every end port; fails the test when two have one in common.
std::map<Lid, Guid> lids_of(const fabric::Fabric& f) {
  std::map<Lid, Guid> found;
  for (fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
    for (unsigned p = 0; p <= (f.node(n).is_switch() ? 0U : f.node(n).num_ports); ++p) {
      const auto& port = f.port(n, p);
      if (!port.lid.is_unicast()) continue;
      EXPECT_EQ(port.lid.value % (1U << port.lmc), 0U);
      for (unsigned i = 0; i < (1U << port.lmc); ++i) {
        const Lid lid{static_cast<std::uint16_t>(port.lid.value + i)};
        EXPECT_TRUE(found.emplace(lid, f.node(n).guid).second) << lid.value;
      }
    }
  return found;
}

TEST(GiveLids, WithAnotherLmcHostsKeepWhatIsAMultipleOfTheirNumber) {
  auto f = planned_tree();
  const auto before = lids_of(f);
  EXPECT_EQ(give_lids(f)->count, 0U);
  EXPECT_EQ(give_lids(f, 0)->count, 0U);
  EXPECT_EQ(lids_of(f), before);
  EXPECT_EQ(give_lids(f, 3)->count, 28U);  // of 32
  for (const auto& [lid, guid] : before)
    if (lid.value % 8 == 0) {
      EXPECT_EQ(lids_of(f)[lid], guid) << lid.value;
    }
  EXPECT_EQ(lids_of(f).size(), 12U + 8 * 32);
  EXPECT_EQ(give_lids(f, 3)->count, 0U);
}

TEST(GiveLids, PortsWithoutOneFillTheGaps) {
  auto f = planned_tree();
  for (fabric::NodeIndex n = 0; n < f.nodes().size(); n += 3)
    f.port(n, f.node(n).is_switch() ? 0 : 1).lid = kNoLid;
  EXPECT_EQ(give_lids(f)->count, 15U);
  const auto lids = lids_of(f);
  EXPECT_EQ(lids.size(), 44U);
  EXPECT_EQ(lids.rbegin()->first.value, 44U);
}

TEST(GiveLids, MorePortsThanLidsIsSaid) {
  auto f = fabric::generate(fabric::FatTree{.radix = 36, .hosts_per_leaf = 18}).value();
  const auto given = give_lids(f, 7);
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().kind, ErrorKind::Usage);
  EXPECT_THAT(given.error().message, HasSubstr("cannot give 702 ports LIDs with LMC 7: "));
}

TEST(Plan, ALidThatTwoPortsHaveIsSaidAndGivenOnce) {
  auto f = planned_tree();
  const auto last = static_cast<fabric::NodeIndex>(f.nodes().size() - 1);
  const Lid lid = f.port(last - 1, 1).lid;
  f.port(last, 1).lid = lid;
  const auto plan = plan_routes(f).value();
  EXPECT_TRUE(plan.passed);
  EXPECT_EQ(plan.lids_given, 1U);
  EXPECT_EQ(lids_of(plan.fabric).size(), 44U);
  ASSERT_EQ(plan.notes.size(), 1U);
  EXPECT_THAT(plan.notes[0], HasSubstr("LID " + std::to_string(lid.value) + " of "));
  EXPECT_THAT(plan.notes[0], HasSubstr(" is that of "));
}

TEST(Plan, ALinkWithoutDataVlsIsLeftOutAndNamed) {
  auto f = planned_tree();
  // Port 5 of a leaf is an uplink. 7 is no code that VLCap has.
  f.port(0, 5).vl_cap = 7;
  const auto plan = plan_routes(f).value();
  EXPECT_TRUE(plan.passed);
  EXPECT_EQ(plan.fabric.link_count(), f.link_count() - 1);
  ASSERT_FALSE(plan.notes.empty());
  EXPECT_THAT(plan.notes[0], HasSubstr(" port 5 to "));
  EXPECT_THAT(plan.notes[0], HasSubstr("VLCap 7 of the former is no data VL"));
}

TEST(Plan, WhatIsTakenAwayKeepsTheOthersLids) {
  PlanOptions options;
  options.what_if.without = {planned_tree().node(0).description};
  const auto whole = plan_routes(planned_tree()).value();
  const auto less = plan_routes(planned_tree(), options).value();
  EXPECT_TRUE(less.passed);
  const auto before = lids_of(whole.fabric);
  for (const auto& [lid, guid] : lids_of(less.fabric)) EXPECT_EQ(before.at(lid), guid);
  EXPECT_LT(lids_of(less.fabric).size(), before.size());
}

/// What a manager does on an event is what a plan says of it: pairs whose SL is another than
/// connections got, and what is in flight.
TEST(Plan, WhatFollowsALossSaysWhichPairsMove) {
  const auto torus = fabric::generate(fabric::Grid{{5, 5}, true, 1, 1}).value();
  PlanOptions options;
  options.choice.engines = {"dfsssp"};
  const auto whole = plan_routes(torus, options).value();
  ASSERT_TRUE(whole.passed);
  std::size_t moved = 0, recomputed = 0;
  for (unsigned i = 0; i < 25; ++i) {
    const std::string cable = fmt::format("sw-{}-{}:{}", i / 5, i % 5, 2 + i % 4);
    options.what_if.without = {cable};
    const auto less = plan_routes(torus, options).value();
    const auto after = routes_after(whole, less, options);
    ASSERT_TRUE(after) << cable;
    EXPECT_EQ(after->routes.engine, "dfsssp");
    const auto earlier =
        tables::carried_over(whole.routes.virtual_lanes.sls, whole.graph, less.graph);
    const auto pairs = tables::moved_pairs(less.graph, earlier, after->routes.virtual_lanes.sls);
    EXPECT_EQ(after->sl_moves.pairs, pairs);
    recomputed += tables::moved_pairs(less.graph, earlier, less.routes.virtual_lanes.sls).size();
    tables::VerifyOptions both;
    both.earlier_sls = &earlier;
    EXPECT_EQ(after->sl_moves.credit_loop_channels,
              tables::verify(less.fabric, less.graph, after->routes.lfts,
                             after->routes.virtual_lanes, {}, both)
                  .credit_loop_channels);
    moved += pairs.size();
  }
  EXPECT_GT(moved, 0U);
  EXPECT_LT(moved * 4, recomputed) << "it keeps SLs, which a fresh plan does not";
  // Routes of one VL have one SL, whatever happens.
  options.choice.engines = {"updn"};
  options.what_if.without = {};
  const auto plain = plan_routes(torus, options).value();
  options.what_if.without = {"sw-0-0:2"};
  const auto after = routes_after(plain, plan_routes(torus, options).value(), options);
  ASSERT_TRUE(after);
  EXPECT_TRUE(after->sl_moves.pairs.empty());
  EXPECT_EQ(after->sl_moves.credit_loop_channels, 0U);
}

/// Entries by GUID of the switch.
std::map<Guid, std::vector<std::uint8_t>> tables_by_guid(const Plan& plan) {
  std::map<Guid, std::vector<std::uint8_t>> tables;
  for (fabric::SwitchIndex s = 0; s < plan.graph.switch_count(); ++s)
    for (unsigned lid = 1; lid <= plan.graph.max_lid().value; ++lid)
      tables[plan.graph.guid(s)].push_back(
          plan.routes.lfts.at(s, Lid{static_cast<std::uint16_t>(lid)}));
  return tables;
}

/// A subnet manager has its nodes by GUID: what is planned for a file is what it would program.
TEST(Plan, TheOrderOfNodesInTheFileDecidesNothing) {
  const fabric::Fabric kinds[] = {planned_tree(),
                                  fabric::generate(fabric::Grid{{4, 4}, true, 1, 1}).value(),
                                  fabric::generate(fabric::RandomGraph{20, 40, 2}).value()};
  std::mt19937 random(1);
  for (const auto& engine : engines()) {
    if (engine.given != nullptr) continue;
    for (const auto& f : kinds) {
      PlanOptions options;
      options.choice.engines = {engine.name};
      options.choice.allow_credit_loops = options.choice.no_fallback = true;
      options.what_if.damage_percent = 5;
      auto order = fabric::nodes_by_guid(f);
      const auto sorted = plan_routes(fabric::with_nodes_in(f, order), options).value();
      std::ranges::shuffle(order, random);
      const auto shuffled = plan_routes(fabric::with_nodes_in(f, order), options).value();
      EXPECT_EQ(tables_by_guid(sorted), tables_by_guid(shuffled)) << engine.name;
      EXPECT_EQ(sorted.notes, shuffled.notes) << engine.name;
    }
  }
}

TEST(Plan, EnginesComparedAreTimedByTheClockHandedIn) {
  PlanOptions options;
  options.choice.engines = {"minhop", "updn"};
  options.choice.compare = true;
  double now = 0;
  options.choice.clock = [&] { return now += 0.5; };
  const auto plan = plan_routes(planned_tree(), options).value();
  ASSERT_EQ(plan.tried.size(), 2U);
  for (const auto& row : plan.tried) {
    EXPECT_EQ(row.seconds, 0.5);
    EXPECT_EQ(row.figures->extra_hops_max, 0U);
    EXPECT_EQ(row.figures->shifts.patterns, 0U);
  }
}

/// Engines that ask for no kind of network as a whole route each piece by itself.
TEST(Plan, AFabricInPiecesIsRoutedPieceByPieceAndTheSplitIsNamed) {
  // Two trees of one: half of the 8 leaves keep half of the 4 spines.
  auto f = planned_tree();
  tables::cut(f, [](auto leaf, auto spine) { return (leaf < 4) != (spine < 10); });
  PlanOptions options;
  options.choice.engines = {"minhop", "sssp", "updn", "dnup", "ftree",
                            "dfsssp", "lash", "dor",  "nue"};
  options.choice.compare = true;
  const auto plan = plan_routes(std::move(f), options).value();
  for (const auto& row : plan.tried) {
    EXPECT_TRUE(row.passed) << row.engine << ": " << row.why;
    ASSERT_TRUE(row.verdict) << row.engine;
    EXPECT_EQ(row.verdict->pairs, 2 * 4U * (6 + 16)) << row.engine;
    EXPECT_EQ(row.verdict->pairs_apart, 2 * 4U * (6 + 16)) << row.engine;
    EXPECT_EQ(row.verdict->unreachable, 0U) << row.engine;
  }
  EXPECT_EQ(plan.pieces.size(), 2U);
  ASSERT_GE(plan.notes.size(), 3U);
  EXPECT_EQ(plan.notes[0], "the fabric is disconnected: no link joins its 2 subfabrics");
  EXPECT_THAT(plan.notes[1], HasSubstr("6 switches ("));
}

TEST(Plan, HostsWithoutASwitchHaveTheirLids) {
  fabric::Fabric two;
  for (const std::uint64_t guid : {2U, 1U}) {
    fabric::Node host;
    host.guid = Guid{guid};
    host.num_ports = 1;
    two.port(two.add_node(host), 1).guid = Guid{guid + 16};
  }
  two.connect({0, 1}, {1, 1}, wire::LinkWidth::W4x, wire::LinkSpeed::Edr);
  const auto plan = plan_routes(two).value();
  EXPECT_EQ(plan.lids, 2U);
  EXPECT_EQ(plan.lids_given, 2U);
  EXPECT_TRUE(plan.passed);
  EXPECT_EQ(lids_of(plan.fabric), (std::map<Lid, Guid>{{Lid{1}, Guid{1}}, {Lid{2}, Guid{2}}}));
}

TEST(Plan, WhereNoEngineFitsItSaysWhyAndHasNoRoutes) {
  PlanOptions options;
  options.choice.engines = {"dfsssp"};
  options.choice.no_fallback = true;
  options.choice.vls_max = 1;
  const auto plan =
      plan_routes(fabric::generate(fabric::Grid{{6}, true, 1, 1}).value(), options).value();
  EXPECT_EQ(plan.routes.engine, "");
  EXPECT_FALSE(plan.passed);
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("dfsssp needs at least 2 VLs"),
                                      "no routing engine fits this fabric"));
}

}  // namespace
}  // namespace ib::route
