// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute.h"

#include <gtest/gtest.h>

#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/routes/verify.h"

namespace ib::route {
namespace {

fabric::Fabric tree(unsigned radix, unsigned levels) {
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
constexpr unsigned kHosts = 4;

struct Cable {
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
    const Cable& cable = failed_.back();
    fabric_.connect(cable.a, cable.b, cable.port.width, cable.port.speed);
    good_.push_back(cable);
    failed_.pop_back();
  }
  std::size_t failed() const { return failed_.size(); }

 private:
  fabric::Fabric& fabric_;
  std::vector<Cable> good_, failed_;
};

/// The difference is what lies between the tables, and nothing else.
void expect_difference(const routes::LinearTables& before, const routes::LinearTables& after,
                       const Difference& found) {
  const Difference expected = difference(before, after);
  EXPECT_EQ(found.entries, expected.entries);
  EXPECT_EQ(found.blocks, expected.blocks);
}

/// Returns how many updates did without computing everything anew.
unsigned follow_failures_and_repairs(const char* engine, fabric::Fabric fabric, bool is_tree,
                                     std::uint64_t seed, unsigned steps = 30) {
  unsigned followed = 0;
  std::mt19937_64 random(seed);
  Rerouter rerouter = started(engine, fabric);
  Cables cables(fabric);
  for (unsigned step = 0; step < steps; ++step) {
    SCOPED_TRACE(testing::Message() << engine << " seed " << seed << " step " << step);
    const bool repair = cables.failed() >= 6 || (cables.failed() != 0 && random() % 5 < 2);
    for (unsigned i = 0; i < 1 + random() % 2; ++i)
      repair ? cables.repair_one(random) : cables.fail_one(random);
    const fabric::CompactGraph graph(fabric);
    const routes::LinearTables before = rerouter.routes().lfts;
    const auto change = rerouter.update(fabric, graph);
    if (!change) {
      ADD_FAILURE() << change.error().message;
      return followed;
    }
    if (change->recomputed.empty()) ++followed;
    expect_difference(before, rerouter.routes().lfts, *change);
    // In a tree the rest never drifts far; elsewhere a fresh computation may find a better order.
    const auto more = rerouter.rebalance(fabric, graph);
    EXPECT_TRUE(more.has_value());
    if (is_tree && more) {
      EXPECT_EQ(more->recomputed, "");
    }
    routes::VerifyOptions options;
    options.credit_loops_are_must = rerouter.routes().promises_deadlock_freedom;
    const auto verdict = routes::verify(fabric, graph, rerouter.routes().lfts, options);
    EXPECT_TRUE(verdict.must_ok())
        << (verdict.findings.empty() ? "" : verdict.findings.front().message);
    const auto best = routes::verify(fabric, graph, fresh(engine, fabric, graph).lfts);
    EXPECT_LE(static_cast<double>(verdict.load_max), 1.1 * static_cast<double>(best.load_max));
    EXPECT_EQ(rerouter.load_max(), verdict.load_max);
    if (testing::Test::HasFailure()) return followed;
  }
  return followed;
}

TEST(Reroute, FollowsFailuresAndRepairsOfTrees) {
  for (const char* engine : {"minhop", "updn", "ftree"})
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      EXPECT_EQ(follow_failures_and_repairs(engine, tree(8, 3), true, seed), 30U);
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
    EXPECT_GE(follow_failures_and_repairs("ftree", slim, true, seed, 10), 5U);
    const auto pod = fabric::generate_superpod_like(seed).value();
    EXPECT_GE(follow_failures_and_repairs("ftree", pod, false, seed, 6), 1U);
  }
  const auto janus = fabric::generate_janus_like(1).value();
  EXPECT_GE(follow_failures_and_repairs("ftree", janus, false, 1, 3), 1U);
}

TEST(Reroute, FollowsFailuresAndRepairsOfIrregularFabrics) {
  for (const char* engine : {"minhop", "updn", "dnup"})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      follow_failures_and_repairs(
          engine, fabric::generate(fabric::RandomGraph{30, 90, kHosts}).value(), false, seed);
      follow_failures_and_repairs(
          engine, fabric::generate(fabric::Grid{{4, 4}, true, kHosts}).value(), false, seed);
    }
}

TEST(Reroute, OneUplinkOfALeafChangesWhatUsedIt) {
  auto fabric = tree(16, 3);  // 128 leaves with 8 hosts and 8 uplinks
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
  EXPECT_TRUE(routes::verify(fabric, graph, rerouter.routes().lfts).must_ok());
}

TEST(Reroute, NothingChangesWhereNothingHappened) {
  const auto fabric = tree(8, 2);
  Rerouter rerouter = started("minhop", fabric);
  const auto change = rerouter.update(fabric, fabric::CompactGraph(fabric));
  ASSERT_TRUE(change.has_value());
  EXPECT_TRUE(change->entries.empty());
  EXPECT_EQ(change->recomputed, "");
}

TEST(Reroute, ALostSwitchIsRoutedAroundKeepingWhatFits) {
  const auto whole = tree(8, 2);
  Rerouter rerouter = started("minhop", whole);
  // The same fabric without one of its spines: everybody's index may change.
  const fabric::CompactGraph old(whole);
  fabric::SwitchIndex spine = 0;
  while (old.attached()[spine] != 0) ++spine;
  auto damaged = whole;
  for (const auto& arc : old.arcs(spine)) damaged.disconnect({old.node_of(spine), arc.out_port});
  damaged.port(old.node_of(spine), 0).lid = Lid{};
  damaged.reindex();
  const fabric::CompactGraph graph(damaged);
  const auto change = rerouter.update(damaged, graph);
  ASSERT_TRUE(change.has_value());
  EXPECT_NE(change->recomputed, "");
  EXPECT_TRUE(routes::verify(damaged, graph, rerouter.routes().lfts).must_ok());
  // And back.
  const auto again = rerouter.update(whole, old);
  ASSERT_TRUE(again.has_value());
  const auto verdict = routes::verify(whole, old, rerouter.routes().lfts);
  EXPECT_TRUE(verdict.must_ok());
  const auto best = routes::verify(whole, old, fresh("minhop", whole, old).lfts);
  EXPECT_LE(static_cast<double>(verdict.load_max), 1.1 * static_cast<double>(best.load_max));
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
  EXPECT_TRUE(routes::verify(fabric, graph, rerouter.routes().lfts).must_ok());
}

}  // namespace
}  // namespace ib::route
