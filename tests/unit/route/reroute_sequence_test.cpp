// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Cables that fail and come back one after the other: routes that follow them stay right and near
// to what a fresh computation would give.
#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/tables/verify.h"
#include "tests/unit/route/rerouted.h"

namespace ib::route {
namespace {

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

/// On a switch of the irregular fabrics.
constexpr unsigned kHostsPerSwitch = 4;

struct NamedFabric {
  const char* name;
  fabric::Fabric fabric;
};

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

}  // namespace
}  // namespace ib::route
