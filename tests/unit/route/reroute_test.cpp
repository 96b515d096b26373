// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/reroute.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

fabric::Fabric generated_tree(unsigned radix, unsigned levels) {
  fabric::FatTree kind;
  kind.radix = radix;
  kind.levels = levels;
  return fabric::generate(kind).value();
}

Routes fresh(const char* engine, const fabric::Fabric& fabric, const fabric::CompactGraph& graph) {
  return find_engine(engine)->compute({&fabric, &graph, {}, nullptr}).value();
}

Rerouter started(const char* engine, const fabric::Fabric& fabric) {
  const fabric::CompactGraph graph(fabric);
  Rerouter rerouter(*find_engine(engine), {});
  rerouter.adopt(fabric, graph, fresh(engine, fabric, graph));
  return rerouter;
}

/// On a switch of the irregular fabrics.
constexpr unsigned kHostsPerSwitch = 4;

struct TakenCable {
  fabric::PortRef a, b;
  fabric::Port port;
};

/// Cables between switches that may fail one after the other and come back.
class Cables {
 public:
  explicit Cables(fabric::Fabric& fabric) : fabric_(fabric) {
    const fabric::CompactGraph graph(fabric);
    for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& arc : graph.arcs(s)) {
        const fabric::PortRef a{graph.node_of(s), arc.out_port};
        const fabric::PortRef b{graph.node_of(arc.to), arc.in_port};
        if (a < b) good_.push_back({a, b, fabric.port(a)});
      }
  }
  void fail_one(std::mt19937_64& random) {
    if (good_.empty()) return;
    std::swap(good_[random() % good_.size()], good_.back());
    fabric_.disconnect(good_.back().a);
    failed_.push_back(good_.back());
    good_.pop_back();
  }
  void repair_one(std::mt19937_64& random) {
    if (failed_.empty()) return;
    std::swap(failed_[random() % failed_.size()], failed_.back());
    const TakenCable& cable = failed_.back();
    fabric_.connect(cable.a, cable.b, cable.port.width, cable.port.speed);
    good_.push_back(cable);
    failed_.pop_back();
  }
  std::size_t failed() const { return failed_.size(); }

 private:
  fabric::Fabric& fabric_;
  std::vector<TakenCable> good_, failed_;
};

/// The difference is what lies between the tables, and nothing else.
void expect_difference(const tables::LinearTables& before, const tables::LinearTables& after,
                       const Difference& found) {
  const Difference expected = difference(before, after);
  EXPECT_EQ(found.entries, expected.entries);
  EXPECT_EQ(found.blocks, expected.blocks);
}

/// Hosts reach every switch that cables lead to, by an order that gives that. (minhop has none.)
void expect_hosts_reach_all(const fabric::CompactGraph& graph, const tables::LinearTables& lfts,
                            std::string_view engine) {
  const auto parts = fabric::pieces_of(graph).of;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& to : graph.destinations())
      if (graph.end_ports()[s] != 0 && parts[s] == parts[to.leaf]) {
        EXPECT_NE(lfts.at(s, to.lid), tables::kNoPort)
            << engine << ": LID " << to.lid.value << " at switch " << s;
      }
}

/// What updates came to.
struct UpdateCosts {
  unsigned link_by_link{};
  std::size_t entries{}, fresh_entries{};  // that changed, and would have with fresh tables
};

UpdateCosts follow_failures_and_repairs(const char* engine, fabric::Fabric fabric,
                                        std::uint64_t seed, unsigned steps = 30,
                                        const Options& options = {}) {
  UpdateCosts followed;
  std::mt19937_64 random(seed);
  const auto routes_of = [&](const fabric::CompactGraph& graph) {
    return find_engine(engine)->compute({&fabric, &graph, options, nullptr}).value();
  };
  Rerouter rerouter(*find_engine(engine), options), best(*find_engine(engine), options);
  const fabric::CompactGraph whole(fabric);
  rerouter.adopt(fabric, whole, routes_of(whole));
  const tables::LinearTables first = rerouter.routes().lfts;
  const auto load_of = [](const tables::Verdict& of) { return of.load_max; };
  const bool alike =
      rerouter.load_max() == load_of(tables::verify(fabric, whole, rerouter.routes().lfts));
  Cables cables(fabric);
  for (unsigned step = 0; step < steps; ++step) {
    SCOPED_TRACE(testing::Message() << engine << " seed " << seed << " step " << step);
    const bool repair = cables.failed() >= 6 || (cables.failed() != 0 && random() % 5 < 2);
    for (unsigned i = 0; i < 1 + random() % 2; ++i)
      repair ? cables.repair_one(random) : cables.fail_one(random);
    const fabric::CompactGraph graph(fabric);
    const tables::LinearTables before = rerouter.routes().lfts;
    const auto change = rerouter.update(fabric, graph);
    if (!change) {
      ADD_FAILURE() << change.error().message;
      return followed;
    }
    if (change->recomputed.empty()) ++followed.link_by_link;
    expect_hosts_reach_all(graph, rerouter.routes().lfts, engine);
    expect_difference(before, rerouter.routes().lfts, *change);
    tables::VerifyOptions checks;
    checks.credit_loops_are_must = rerouter.routes().promises_deadlock_freedom;
    const auto verdict = tables::verify(fabric, graph, rerouter.routes().lfts, checks);
    EXPECT_TRUE(verdict.must_ok())
        << (verdict.findings.empty() ? "" : verdict.findings.front().message);
    best.adopt(fabric, graph, routes_of(graph));
    followed.entries += change->entries.size();
    followed.fresh_entries += difference(before, best.routes().lfts).entries.size();
    EXPECT_LE(static_cast<double>(rerouter.load_max()), 1.1 * static_cast<double>(best.load_max()));
    if (alike) {
      EXPECT_EQ(rerouter.load_max(), verdict.load_max);
      EXPECT_EQ(best.load_max(), load_of(tables::verify(fabric, graph, best.routes().lfts)));
    }
    if (testing::Test::HasFailure()) return followed;
  }
  while (cables.failed() != 0) cables.repair_one(random);
  const fabric::CompactGraph again(fabric);
  EXPECT_TRUE(rerouter.update(fabric, again));
  EXPECT_EQ(rerouter.routes().lfts, first) << engine << " seed " << seed;
  return followed;
}

TEST(Reroute, FollowsFailuresAndRepairsOfTrees) {
  for (const char* engine : {"minhop", "updn", "dnup", "ftree"})
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const auto followed = follow_failures_and_repairs(engine, generated_tree(8, 3), seed);
      // Where hosts would not reach a switch by the order that was kept there is another.
      EXPECT_GE(followed.link_by_link, 15U);
      // ftree deals again what was dealt before, but for what was on the link.
      EXPECT_LE(followed.entries * (std::string_view(engine) == "ftree" ? 2 : 6),
                followed.fresh_entries);
    }
}

/// How much of the tables hangs on the order of failures: entries that differ between following
/// one cable after the other and recomputing, in a thousand.
std::size_t left_to_history(const char* engine, unsigned cables) {
  fabric::Fabric fabric = generated_tree(12, 3);
  const EngineEntry& entry = *find_engine(engine);
  Rerouter rerouter(entry, {});
  const fabric::CompactGraph whole(fabric);
  rerouter.adopt(fabric, whole, entry.compute({&fabric, &whole, {}, nullptr}).value());
  std::mt19937_64 random(7);
  Cables all(fabric);
  for (unsigned i = 0; i < cables; ++i) {
    all.fail_one(random);
    EXPECT_TRUE(rerouter.update(fabric, fabric::CompactGraph(fabric)));
  }
  const fabric::CompactGraph graph(fabric);
  const auto fresh = entry.compute({&fabric, &graph, {}, nullptr}).value();
  return difference(rerouter.routes().lfts, fresh.lfts).entries.size() * 1000 /
         (graph.switch_count() * graph.destinations().size());
}

TEST(Reroute, FtreeLeavesLittleToHistory) {
  EXPECT_LE(left_to_history("ftree", 1), 5U);
  for (const unsigned cables : {1U, 5U, 20U})
    EXPECT_LT(left_to_history("ftree", cables) * 4, left_to_history("updn", cables)) << cables;
}

struct NamedFabric {
  const char* name;
  fabric::Fabric fabric;
};

template <class Of>
fabric::Fabric made_kind(const Of& kind, double missing_percent = 0) {
  fabric::GenerateCommon common;
  common.missing_links_percent = missing_percent;
  return fabric::generate(kind, common).value();
}

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

TEST(Reroute, FollowsFailuresAndRepairsOfDamagedTrees) {
  fabric::FatTree kind;
  kind.radix = 8;
  kind.levels = 3;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    fabric::GenerateCommon damaged;
    damaged.seed = seed;
    damaged.missing_links_percent = 5;
    const auto slim = fabric::generate(kind, damaged).value();
    EXPECT_GE(follow_failures_and_repairs("ftree", slim, seed, 10).link_by_link, 5U);
    const auto pod = fabric::generate_superpod_like(seed).value();
    EXPECT_GE(follow_failures_and_repairs("ftree", pod, seed, 6).link_by_link, 1U);
  }
  const auto janus = fabric::generate_janus_like(1).value();
  EXPECT_GE(follow_failures_and_repairs("ftree", janus, 1, 3).link_by_link, 1U);
}

std::vector<NamedFabric> irregular_kinds() {
  return {{"random", made_kind(fabric::RandomGraph{30, 90, kHostsPerSwitch})},
          {"sparse random", made_kind(fabric::RandomGraph{40, 80, 3})},
          {"torus", made_kind(fabric::Grid{{4, 4}, true, kHostsPerSwitch})},
          {"torus of three dimensions", made_kind(fabric::Grid{{3, 3, 4}, true, 2})},
          {"damaged torus", made_kind(fabric::Grid{{5, 5}, true, kHostsPerSwitch}, 10)},
          {"mesh", made_kind(fabric::Grid{{4, 5}, false, 3})},
          {"ring", made_kind(fabric::Grid{{10}, true, 3})},
          {"doubled ring", made_kind(fabric::Grid{{10}, true, 3, 2})},
          {"hypercube", made_kind(fabric::Hypercube{5, 2})},
          {"HyperX", made_kind(fabric::HyperX{{4, 4}, 4})},
          {"dragonfly", made_kind(fabric::Dragonfly{})},
          {"damaged dragonfly+", made_kind(fabric::DragonflyPlus{}, 5)},
          {"Kautz", made_kind(fabric::Kautz{3, 3, 2})}};
}

TEST(Reroute, FollowsFailuresAndRepairsOfIrregularFabrics) {
  UpdateCosts all;
  for (const NamedFabric& kind : irregular_kinds())
    for (const char* engine : {"minhop", "updn", "dnup"})
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        SCOPED_TRACE(kind.name);
        const auto followed = follow_failures_and_repairs(engine, kind.fabric, seed, 20);
        if (testing::Test::HasFailure()) return;
        all.link_by_link += followed.link_by_link;
        all.entries += followed.entries;
        all.fresh_entries += followed.fresh_entries;
      }
  EXPECT_GE(all.link_by_link, 1000U);  // of 1,560
  EXPECT_LE(all.entries * 3, all.fresh_entries);
}

TEST(Reroute, KeepsItsPromiseWithSeveralLidsAPort) {
  auto torus = made_kind(fabric::Grid{{4, 4}, true, 2});
  auto small_tree = generated_tree(8, 2);
  ASSERT_TRUE(give_lids(torus, std::uint8_t{2}));
  ASSERT_TRUE(give_lids(small_tree, std::uint8_t{1}));
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    for (const char* engine : {"minhop", "updn", "dnup"})
      follow_failures_and_repairs(engine, torus, seed, 20);
    for (const char* engine : {"minhop", "updn", "dnup", "ftree"})
      follow_failures_and_repairs(engine, small_tree, seed, 20);
  }
}

TEST(Reroute, KeepsItsPromiseWhereLinksOrHopsAreNotAlike) {
  auto slow = made_kind(fabric::Grid{{4, 4}, true, 2});
  const fabric::CompactGraph graph(slow);
  Options weighted;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto& arc = graph.arcs(s).front();
    weighted.hop_weights[{graph.guid(s), arc.out_port}] = 3;
    if (s % 3 != 0) continue;
    const fabric::PortRef a{graph.node_of(s), arc.out_port}, b{graph.node_of(arc.to), arc.in_port};
    slow.disconnect(a);
    slow.connect(a, b, wire::LinkWidth::W4x, wire::LinkSpeed::Qdr);
  }
  const auto torus = made_kind(fabric::Grid{{4, 4}, true, 2});
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    for (const char* engine : {"minhop", "updn", "dnup"})
      follow_failures_and_repairs(engine, slow, seed, 20);
    follow_failures_and_repairs("minhop", torus, seed, 20, weighted);
  }
}

// What a route costs on a link is told by the widest and fastest there are, so it changes with
// them.
TEST(Reroute, LosingTheOnlySlowLinkIsFollowed) {
  auto fabric = made_kind(fabric::HyperX{{4, 4}, 4});
  const fabric::CompactGraph whole(fabric);
  const auto& arc = whole.arcs(0).back();
  const fabric::PortRef a{whole.node_of(0), arc.out_port}, b{whole.node_of(arc.to), arc.in_port};
  fabric.disconnect(a);
  fabric.connect(a, b, wire::LinkWidth::W1x, wire::LinkSpeed::Edr);
  Rerouter rerouter = started("updn", fabric);
  fabric.disconnect(a);
  const fabric::CompactGraph graph(fabric);
  const auto change = rerouter.update(fabric, graph);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->recomputed, "");
  const auto load = [&](const tables::LinearTables& of) {
    return static_cast<double>(tables::verify(fabric, graph, of).load_max);
  };
  EXPECT_LE(load(rerouter.routes().lfts), 1.1 * load(fresh("updn", fabric, graph).lfts));
}

// What one order joined stays apart by it when other cables join the parts again.
TEST(Reroute, HostsThatWereCutOffAreReachedAgain) {
  const fabric::Fabric ring = made_kind(fabric::Grid{{6}, true, 2});
  const fabric::CompactGraph graph(ring);
  std::vector<fabric::PortRef> cables;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s))
      if (s < arc.to) cables.push_back({graph.node_of(s), arc.out_port});
  for (const char* engine : {"minhop", "updn", "dnup"})
    for (std::size_t i = 0; i < cables.size(); ++i)
      for (std::size_t k = 0; k < cables.size(); ++k) {
        if (i == k) continue;
        SCOPED_TRACE(testing::Message() << engine << ", " << i << " and " << k << " fail");
        Rerouter rerouter = started(engine, ring);
        fabric::Fabric one = ring, both = ring;
        one.disconnect(cables[i]);
        both.disconnect(cables[i]);
        both.disconnect(cables[k]);
        for (const fabric::Fabric& now :
             {std::cref(both), std::cref(one), std::cref(both), std::cref(ring)}) {
          const fabric::CompactGraph links(now);
          ASSERT_TRUE(rerouter.update(now, links).has_value());
          EXPECT_TRUE(tables::verify(now, links, rerouter.routes().lfts).must_ok());
        }
      }
}

// A torus has many switches that an order may begin with, and which does best changes with its
// cables.
TEST(Reroute, AnotherOrderIsTakenOnlyWhereItIsWorthIt) {
  unsigned other = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto torus = made_kind(fabric::Grid{{5, 5}, true, kHostsPerSwitch}, 10);
    std::mt19937_64 random(seed);
    Rerouter rerouter = started("dnup", torus);
    Cables cables(torus);
    for (unsigned step = 0; step < 20; ++step) {
      cables.failed() < 4 ? cables.fail_one(random) : cables.repair_one(random);
      const fabric::CompactGraph graph(torus);
      const auto order = rerouter.routes().multicast.up_order;
      const auto change = rerouter.update(torus, graph);
      ASSERT_TRUE(change.has_value());
      if (rerouter.routes().multicast.up_order == order) continue;
      ++other;
      EXPECT_NE(change->recomputed, "");
      EXPECT_EQ(rerouter.routes().multicast.up_order,
                fresh("dnup", torus, graph).multicast.up_order);
      // Nothing has changed since, so nothing is computed or changes now.
      const auto again = rerouter.update(torus, graph);
      ASSERT_TRUE(again.has_value());
      EXPECT_TRUE(again->entries.empty());
      EXPECT_EQ(again->recomputed, "");
    }
  }
  EXPECT_GE(other, 1U);
  EXPECT_LE(other, 40U);  // of 80
}

TEST(Reroute, OneUplinkOfALeafChangesWhatUsedIt) {
  auto fabric = generated_tree(16, 3);  // 128 leaves with 8 hosts and 8 uplinks
  Rerouter rerouter = started("minhop", fabric);
  const fabric::CompactGraph whole(fabric);
  const auto host = std::find_if(whole.destinations().begin(), whole.destinations().end(),
                                 [](const auto& d) { return !d.is_switch(); });
  const auto uplink = whole.arcs(host->leaf)[3];
  fabric.disconnect({whole.node_of(host->leaf), uplink.out_port});
  const fabric::CompactGraph graph(fabric);
  const auto change = rerouter.update(fabric, graph);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->recomputed, "");
  // 127 LIDs of hosts elsewhere in the leaf, one LID behind it everywhere else, and some around
  // the plane that lost it.
  EXPECT_GE(change->entries.size(), 127U + 127U);
  EXPECT_LE(change->entries.size(), 127U + 127U + 100U);
  EXPECT_TRUE(tables::verify(fabric, graph, rerouter.routes().lfts).must_ok());
}

TEST(Reroute, NothingChangesWhereNothingHappened) {
  const auto fabric = generated_tree(8, 2);
  Rerouter rerouter = started("minhop", fabric);
  const auto change = rerouter.update(fabric, fabric::CompactGraph(fabric));
  ASSERT_TRUE(change.has_value());
  EXPECT_TRUE(change->entries.empty());
  EXPECT_EQ(change->recomputed, "");
}

// Cables that were down when everything was computed last, so that no update has seen them.
TEST(Reroute, RepairsOfCablesNobodyHasSeenChangeFewBlocks) {
  for (const char* engine : {"minhop", "updn", "dnup", "ftree"})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      std::mt19937_64 random(seed);
      auto fabric = generated_tree(12, 3);
      Cables cables(fabric);
      for (unsigned i = 0; i < 4; ++i) cables.fail_one(random);
      Rerouter rerouter = started(engine, fabric);
      while (cables.failed() != 0) {
        SCOPED_TRACE(testing::Message()
                     << engine << " seed " << seed << " down " << cables.failed());
        cables.repair_one(random);
        const fabric::CompactGraph graph(fabric);
        const tables::LinearTables before = rerouter.routes().lfts;
        const auto change = rerouter.update(fabric, graph);
        ASSERT_TRUE(change.has_value());
        expect_difference(before, rerouter.routes().lfts, *change);
        const auto best = fresh(engine, fabric, graph).lfts;
        const std::size_t blocks = difference({}, best).blocks.size();  // all there are
        EXPECT_LE(change->blocks.size() * 4, blocks);
        EXPECT_LE(change->entries.size() * 2, difference(before, best).entries.size() + 1000);
        tables::VerifyOptions options;
        options.credit_loops_are_must = rerouter.routes().promises_deadlock_freedom;
        const auto verdict = tables::verify(fabric, graph, rerouter.routes().lfts, options);
        EXPECT_TRUE(verdict.must_ok());
        EXPECT_EQ(rerouter.load_max(), verdict.load_max);
        EXPECT_LE(static_cast<double>(verdict.load_max),
                  1.1 * static_cast<double>(tables::verify(fabric, graph, best).load_max));
        if (testing::Test::HasFailure()) return;
      }
    }
}

TEST(Reroute, ACableThatMovedIsFollowed) {
  auto fabric = generated_tree(8, 3);
  Rerouter rerouter = started("updn", fabric);
  const fabric::CompactGraph whole(fabric);
  const auto host =
      std::ranges::find_if(whole.destinations(), [](const auto& d) { return !d.is_switch(); });
  // Two uplinks of a leaf change places at the leaf.
  const auto arcs = whole.arcs(host->leaf);
  const fabric::PortRef here{whole.node_of(host->leaf), arcs[0].out_port};
  const fabric::PortRef there{whole.node_of(host->leaf), arcs[1].out_port};
  const fabric::PortRef far{whole.node_of(arcs[0].to), arcs[0].in_port};
  const fabric::PortRef farther{whole.node_of(arcs[1].to), arcs[1].in_port};
  fabric.disconnect(here);
  fabric.disconnect(there);
  fabric.connect(here, farther, wire::LinkWidth::W4x, wire::LinkSpeed::Hdr);
  fabric.connect(there, far, wire::LinkWidth::W4x, wire::LinkSpeed::Hdr);
  const fabric::CompactGraph graph(fabric);
  const tables::LinearTables before = rerouter.routes().lfts;
  const auto change = rerouter.update(fabric, graph);
  ASSERT_TRUE(change.has_value());
  expect_difference(before, rerouter.routes().lfts, *change);
  EXPECT_LE(change->blocks.size() * 4, difference({}, rerouter.routes().lfts).blocks.size());
  EXPECT_TRUE(tables::verify(fabric, graph, rerouter.routes().lfts).must_ok());
}

/// Entries for LIDs that are in use, which led to a switch or are its own.
std::size_t entries_by(const fabric::CompactGraph& graph, const tables::LinearTables& tables,
                       fabric::SwitchIndex by) {
  std::size_t count = tables.lid_count();  // its own row
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& d : graph.destinations()) {
      const auto arcs = graph.arcs(s);
      count += std::ranges::any_of(arcs, [&](const auto& arc) {
        return arc.to == by && (arc.out_port == tables.at(s, d.lid) || d.leaf == by);
      });
    }
  return count;
}

TEST(Reroute, ALostSwitchIsRoutedAroundKeepingWhatFits) {
  const auto whole = generated_tree(12, 3);
  const fabric::CompactGraph old(whole);
  fabric::SwitchIndex middle = 0;
  while (old.attached()[middle] != 0) ++middle;
  auto damaged = whole;
  for (const auto& arc : old.arcs(middle)) damaged.disconnect({old.node_of(middle), arc.out_port});
  damaged.port(old.node_of(middle), 0).lid = Lid{};
  damaged.reindex();
  const fabric::CompactGraph graph(damaged);
  for (const char* engine : {"minhop", "updn", "dnup", "ftree"}) {
    SCOPED_TRACE(engine);
    Rerouter rerouter = started(engine, whole);
    const std::size_t due = entries_by(old, rerouter.routes().lfts, middle);
    const auto expect_good = [&](const fabric::Fabric& fabric, const fabric::CompactGraph& now) {
      tables::VerifyOptions options;
      options.credit_loops_are_must = rerouter.routes().promises_deadlock_freedom;
      const auto verdict = tables::verify(fabric, now, rerouter.routes().lfts, options);
      EXPECT_TRUE(verdict.must_ok());
      const auto best = tables::verify(fabric, now, fresh(engine, fabric, now).lfts);
      EXPECT_LE(static_cast<double>(verdict.load_max), 1.1 * static_cast<double>(best.load_max));
    };
    const auto change = rerouter.update(damaged, graph);
    ASSERT_TRUE(change.has_value());
    EXPECT_NE(change->recomputed, "");
    EXPECT_LE(change->entries.size(), 4 * due);
    expect_good(damaged, graph);
    const auto again = rerouter.update(whole, old);
    ASSERT_TRUE(again.has_value());
    EXPECT_LE(again->entries.size(), 4 * due);
    expect_good(whole, old);
  }
}

/// One of the hosts of `whole`, and the fabric that is left when it goes.
std::pair<fabric::Destination, fabric::Fabric> without_its_first_host(
    const fabric::Fabric& whole, const fabric::CompactGraph& graph) {
  const auto host =
      std::ranges::find_if(graph.destinations(), [](const auto& d) { return !d.is_switch(); });
  auto without = whole;
  without.disconnect(host->end_port);
  without.port(host->end_port).lid = Lid{};
  without.reindex();
  return {*host, without};
}

TEST(Reroute, AHostThatComesChangesNothingButItsOwnEntries) {
  const auto whole = generated_tree(8, 3);
  const fabric::CompactGraph old(whole);
  const auto [host, without] = without_its_first_host(whole, old);
  const fabric::CompactGraph graph(without);
  for (const char* engine : {"minhop", "updn", "dnup", "ftree"}) {
    SCOPED_TRACE(engine);
    Rerouter rerouter = started(engine, without);
    const auto change = rerouter.update(whole, old);
    ASSERT_TRUE(change.has_value());
    std::size_t others = 0;
    for (const auto& entry : change->entries) others += entry.lid != host.lid;
    EXPECT_LE(others, 20U);
    EXPECT_GE(change->entries.size() - others, old.switch_count());
    EXPECT_TRUE(tables::verify(whole, old, rerouter.routes().lfts).must_ok());
  }
}

TEST(Reroute, NothingLeadsToALidThatWentAway) {
  const auto whole = generated_tree(8, 3);
  const fabric::CompactGraph old(whole);
  const auto [host, without] = without_its_first_host(whole, old);
  const fabric::CompactGraph graph(without);
  for (const char* engine : {"minhop", "updn", "dnup", "ftree"}) {
    SCOPED_TRACE(engine);
    Rerouter rerouter = started(engine, whole);
    const auto change = rerouter.update(without, graph);
    ASSERT_TRUE(change.has_value());
    EXPECT_EQ(change->entries.size(), old.switch_count());
    for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
      EXPECT_EQ(rerouter.routes().lfts.at(s, host.lid), tables::kNoPort);
  }
}

TEST(Reroute, WhatTheEngineSaysOfAnotherFabricIsSaid) {
  const auto whole = generated_tree(8, 3);
  const fabric::CompactGraph old(whole);
  fabric::SwitchIndex top = 0;
  const auto above_hosts = [&](fabric::SwitchIndex s) {
    return std::ranges::any_of(old.arcs(s),
                               [&](const auto& a) { return old.attached()[a.to] != 0; });
  };
  while (old.attached()[top] != 0 || above_hosts(top)) ++top;
  auto damaged = whole;
  for (const auto& arc : old.arcs(top)) damaged.disconnect({old.node_of(top), arc.out_port});
  damaged.node(old.node_of(top)).guid = Guid{0xABC};
  for (unsigned p = 0; p <= damaged.node(old.node_of(top)).num_ports; ++p)
    damaged.port({old.node_of(top), static_cast<std::uint8_t>(p)}).guid = Guid{0xABC};
  damaged.reindex();
  const fabric::CompactGraph graph(damaged);
  for (const char* name : {"updn", "ftree"}) {
    SCOPED_TRACE(name);
    const auto& engine = *find_engine(name);
    for (const bool other_roots : {true, false}) {
      Options options;
      options.roots.file = "roots";
      options.roots.entries.push_back({old.guid(top), 1, {}, {}});
      for (fabric::SwitchIndex s = 0; other_roots && s < old.switch_count(); ++s)
        if (s != top && old.attached()[s] == 0 && !above_hosts(s))
          options.roots.entries.push_back({old.guid(s), s + 2, {}, {}});
      Rerouter rerouter(engine, options);
      rerouter.adopt(whole, old, engine.compute({&whole, &old, options, nullptr}).value());
      EXPECT_TRUE(rerouter.routes().notes.empty());
      const auto before = rerouter.routes().lfts;
      const auto change = rerouter.update(damaged, graph);
      const auto best = engine.compute({&damaged, &graph, options, nullptr});
      ASSERT_EQ(change.has_value(), best.has_value());
      if (!change) {
        EXPECT_EQ(change.error().message, best.error().message);
        EXPECT_EQ(rerouter.routes().lfts, before);
        continue;
      }
      EXPECT_TRUE(other_roots);
      EXPECT_FALSE(best->notes.empty());
      EXPECT_EQ(rerouter.routes().notes, best->notes);
      EXPECT_EQ(rerouter.routes().engine, best->engine);
      EXPECT_EQ(rerouter.routes().promises_deadlock_freedom, best->promises_deadlock_freedom);
      EXPECT_EQ(rerouter.routes().multicast.up_order.size(), graph.switch_count());
    }
  }
}

TEST(Reroute, ALinkThatCameBackSlowerCarriesLess) {
  auto fabric = generated_tree(8, 2);
  Rerouter rerouter = started("minhop", fabric);
  const fabric::CompactGraph whole(fabric);
  const auto host =
      std::ranges::find_if(whole.destinations(), [](const auto& d) { return !d.is_switch(); });
  const auto arc = whole.arcs(host->leaf).front();
  const fabric::PortRef a{whole.node_of(host->leaf), arc.out_port};
  const fabric::PortRef b{whole.node_of(arc.to), arc.in_port};
  const auto carried = [&] {
    std::size_t lids = 0;
    for (const auto& d : whole.destinations())
      lids += !d.is_switch() && d.leaf != host->leaf &&
              rerouter.routes().lfts.at(host->leaf, d.lid) == arc.out_port;
    return lids;
  };
  const std::size_t before = carried();
  fabric.disconnect(a);
  fabric.connect(a, b, wire::LinkWidth::W1x, wire::LinkSpeed::Hdr);
  const auto change = rerouter.update(fabric, fabric::CompactGraph(fabric));
  ASSERT_TRUE(change.has_value());
  EXPECT_NE(change->recomputed, "");
  EXPECT_LT(carried(), before);
  EXPECT_TRUE(
      tables::verify(fabric, fabric::CompactGraph(fabric), rerouter.routes().lfts).must_ok());
}

TEST(Reroute, AnEngineWithoutCandidatesComputesEverythingAndSaysSo) {
  auto fabric = fabric::generate(fabric::Grid{{4, 4}}).value();
  Rerouter rerouter = started("dor", fabric);
  std::mt19937_64 random(5);
  Cables(fabric).fail_one(random);
  const fabric::CompactGraph graph(fabric);
  const auto change = rerouter.update(fabric, graph);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->recomputed, "dor routes as a whole");
  EXPECT_TRUE(tables::verify(fabric, graph, rerouter.routes().lfts).must_ok());
}

}  // namespace
}  // namespace ib::route
