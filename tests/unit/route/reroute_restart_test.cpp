// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routes that a restart finds in the switches are taken up as far as they fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/tables/verify.h"
#include "tests/unit/route/rerouted.h"

namespace ib::route {
namespace {

/// Entries that change when somebody who knows what switches hold, and what the routes were made
/// by, begins after so many failures.
std::size_t changed_by_restart(const char* engine, fabric::Fabric fabric, unsigned cables,
                               unsigned vls = 1) {
  const EngineEntry& entry = *find_engine(engine);
  Rerouter rerouter(entry, {}, vls);
  const fabric::CompactGraph whole(fabric);
  rerouter.adopt(fabric, whole, entry.compute({&fabric, &whole, {}, nullptr, vls}).value());
  std::mt19937_64 random(11);
  Cables all(fabric);
  for (unsigned i = 0; i < cables; ++i) {
    all.fail_one(random);
    EXPECT_TRUE(rerouter.update(fabric, fabric::CompactGraph(fabric)));
  }
  const fabric::CompactGraph graph(fabric);
  Rerouter restarted(entry, {}, vls);
  restarted.adopt(fabric, graph, entry.compute({&fabric, &graph, {}, nullptr, vls}).value());
  FoundRoutes found{rerouter.routes().lfts, rerouter.routes(), rerouter.order()};
  const auto change = restarted.take_up(fabric, found);
  EXPECT_TRUE(change) << engine;
  EXPECT_EQ(restarted.routes().virtual_lanes.sls, rerouter.routes().virtual_lanes.sls) << engine;
  tables::VerifyOptions checks;
  checks.credit_loops_are_must = restarted.routes().promises_deadlock_freedom;
  EXPECT_TRUE(tables::verify(fabric, graph, restarted.routes().lfts,
                             restarted.routes().virtual_lanes, {}, checks)
                  .must_ok())
      << engine;
  // And what it has taken up it follows.
  for (unsigned i = 0; i < 3; ++i) all.fail_one(random);
  EXPECT_TRUE(restarted.update(fabric, fabric::CompactGraph(fabric)));
  return change ? change->entries.size() : 0;
}

TEST(Reroute, ARestartAfterManyFailuresChangesNothing) {
  for (const char* engine : {"ftree", "minhop", "updn", "dnup"}) {
    EXPECT_EQ(changed_by_restart(engine, generated_tree(12, 3), 100), 0U) << engine;
    EXPECT_EQ(changed_by_restart(engine, generated_tree(8, 3), 10), 0U) << engine;
  }
  for (const char* engine : {"dfsssp", "lash", "nue"})
    EXPECT_EQ(changed_by_restart(engine, made_kind(fabric::Grid{{6, 6}, true, 2}), 6, 8), 0U)
        << engine;
}

/// It was out when the tables were made, so no host's way leads over it.
TEST(Reroute, ASwitchThatHoldsNothingGoodIsToldAWayToEverybody) {
  fabric::GenerateCommon common;
  common.missing_hosts_percent = 80;
  const fabric::Fabric fabric = fabric::generate(fabric::Grid{{4, 4}, true, 2}, common).value();
  const fabric::CompactGraph graph(fabric);
  fabric::SwitchIndex out = 0;
  while (graph.end_ports()[out] != 0) ++out;
  fabric::Fabric without = fabric;
  for (unsigned p = 1; p <= without.node(graph.node_of(out)).num_ports; ++p)
    if (without.port(graph.node_of(out), p).peer)
      without.disconnect({graph.node_of(out), static_cast<std::uint8_t>(p)});
  const fabric::CompactGraph smaller(without);
  for (const auto& [engine, holds] : {std::pair{"dfsssp", std::uint8_t{1}},
                                      {"lash", tables::kNoPort},
                                      {"nue", tables::kNoPort}}) {
    const EngineEntry& entry = *find_engine(engine);
    const Routes made = entry.compute({&without, &smaller, {}, nullptr, 8}).value();
    Rerouter restarted(entry, {}, 8);
    restarted.adopt(fabric, graph, entry.compute({&fabric, &graph, {}, nullptr, 8}).value());
    FoundRoutes found{made.lfts, made, nullptr};
    for (std::size_t lid = 0; lid < found.lfts.lid_count(); ++lid)
      found.lfts.set(out, Lid{static_cast<std::uint16_t>(lid)}, holds);
    (void)restarted.take_up(fabric, found);
    std::set<std::uint8_t> ways;
    for (const auto& to : graph.destinations())
      ways.insert(restarted.routes().lfts.at(out, to.lid));
    EXPECT_FALSE(ways.contains(tables::kNoPort)) << engine;
    EXPECT_GT(ways.size(), 2U) << engine;
    EXPECT_TRUE(
        tables::verify(fabric, graph, restarted.routes().lfts, restarted.routes().virtual_lanes)
            .must_ok())
        << engine;
  }
}

/// A disk was full when the routes of now were made: remembered is the tree of before.
TEST(Reroute, ATreeOfLinksThatAreGoneIsNotTakenUp) {
  const fabric::Fabric before = made_kind(fabric::Grid{{4, 4}, true, 2});
  const fabric::CompactGraph graph(before);
  const EngineEntry& entry = *find_engine("lash");
  const Routes remembered = entry.compute({&before, &graph, {}, nullptr, 8}).value();
  ASSERT_FALSE(remembered.multicast.parent.empty());
  fabric::SwitchIndex child = 0;
  while (remembered.multicast.parent[child] == fabric::kNoSwitch) ++child;
  fabric::Fabric fabric = before;
  for (const auto& arc : graph.arcs(child))
    if (arc.to == remembered.multicast.parent[child])
      fabric.disconnect({graph.node_of(child), arc.out_port});
  const fabric::CompactGraph now(fabric);
  const Routes held = entry.compute({&fabric, &now, {}, nullptr, 8}).value();
  Rerouter restarted(entry, {}, 8);
  restarted.adopt(fabric, now, held);
  FoundRoutes found{held.lfts, remembered, nullptr};
  (void)restarted.take_up(fabric, found);
  const auto& parent = restarted.routes().multicast.parent;
  for (fabric::SwitchIndex s = 0; s < parent.size(); ++s)
    EXPECT_TRUE(parent[s] == fabric::kNoSwitch ||
                std::ranges::any_of(now.arcs(s), [&](const auto& a) { return a.to == parent[s]; }))
        << s;
}

/// What was taken up was relieved before it counts: what links carry then is what they carry again
/// when cables that fail are back.
TEST(Reroute, LoadsOfWhatWasTakenUpAreThoseOfItsTablesWhenCablesAreBack) {
  unsigned taken_up = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    fabric::GenerateCommon common;
    common.missing_hosts_percent = 30;
    common.seed = seed;
    fabric::FatTree kind;
    kind.radix = 8;
    fabric::Fabric fabric = fabric::generate(kind, common).value();
    const fabric::CompactGraph graph(fabric);
    const EngineEntry& entry = *find_engine("updn");
    const Routes made = entry.compute({&fabric, &graph, {}, nullptr}).value();
    Rerouter restarted(entry, {});
    restarted.adopt(fabric, graph, made);
    // Too much goes up by one spine.
    FoundRoutes found{made.lfts, std::nullopt, nullptr};
    for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& to : graph.destinations())
        if (random() % 2 == 0 && graph.end_ports()[s] != 0 && to.leaf != s &&
            graph.end_ports()[to.leaf] != 0)
          found.lfts.set(s, to.lid, graph.arcs(s).front().out_port);
    taken_up += restarted.take_up(fabric, found).has_value();
    Cables cables(fabric);
    const auto expect_loads = [&] {
      ASSERT_TRUE(restarted.update(fabric, fabric::CompactGraph(fabric)));
      EXPECT_EQ(
          restarted.load_max(),
          tables::verify(fabric, fabric::CompactGraph(fabric), restarted.routes().lfts).load_max);
    };
    for (unsigned round = 0; round < 3; ++round) {
      cables.fail_one(random);
      expect_loads();
      cables.repair_one(random);
      expect_loads();
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(taken_up, 0U);
}

TEST(Reroute, WhatAnotherEngineLeftIsTakenUpAsFarAsItFits) {
  const fabric::Fabric fabric = generated_tree(8, 3);
  const fabric::CompactGraph graph(fabric);
  const auto made_by = [&](const char* engine) {
    return find_engine(engine)->compute({&fabric, &graph, {}, nullptr}).value();
  };
  Rerouter ftree(*find_engine("ftree"), {});
  ftree.adopt(fabric, graph, made_by("ftree"));
  FoundRoutes broken{made_by("minhop").lfts, std::nullopt, nullptr};
  // An entry that leads nowhere, and a switch that holds nothing.
  broken.lfts.set(0, graph.destinations()[0].lid, 0);
  for (std::size_t lid = 0; lid < broken.lfts.lid_count(); ++lid)
    broken.lfts.set(1, Lid{static_cast<std::uint16_t>(lid)}, tables::kNoPort);
  (void)ftree.take_up(fabric, broken);
  EXPECT_TRUE(tables::verify(fabric, graph, ftree.routes().lfts).must_ok());
  EXPECT_LT(difference(broken.lfts, ftree.routes().lfts).blocks.size(),
            difference(broken.lfts, made_by("ftree").lfts).blocks.size());
}

}  // namespace
}  // namespace ib::route
