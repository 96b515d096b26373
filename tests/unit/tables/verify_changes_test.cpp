// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_changes.h"

#include <gtest/gtest.h>

#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engine.h"
#include "tests/unit/tables/cut.h"
#include "tests/unit/tables/patch.h"

namespace ib::tables {
namespace {

using fabric::SwitchIndex;

VerifyOptions strict_without_loads() {
  VerifyOptions options;
  options.credit_loops_are_must = true;
  options.loads = false;
  return options;
}

LinearTables routed_by_minhop(const fabric::Fabric& fabric, const fabric::CompactGraph& graph) {
  return route::find_engine("minhop")->compute({&fabric, &graph, {}, nullptr})->lfts;
}

fabric::Fabric three_levels(unsigned radix) {
  fabric::FatTree kind;
  kind.levels = 3;
  kind.radix = radix;
  return fabric::generate(kind).value();
}

/// Cables between switches.
std::vector<fabric::PortRef> cables(const fabric::CompactGraph& graph) {
  std::vector<fabric::PortRef> ends;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s))
      if (s < arc.to) ends.push_back({graph.node_of(s), arc.out_port});
  return ends;
}

void expect_same(const Verdict& a, const Verdict& b, const std::string& what) {
  EXPECT_EQ(a.must_ok(), b.must_ok()) << what;
  EXPECT_EQ(a.pairs, b.pairs) << what;
  EXPECT_EQ(a.unreachable, b.unreachable) << what;
  EXPECT_EQ(a.loops, b.loops) << what;
  EXPECT_EQ(a.credit_loop_channels, b.credit_loop_channels) << what;
  EXPECT_EQ(a.must_failures, b.must_failures) << what;
}

TEST(VerifyChanges, ARerouteAroundACableIsProvedByItsDifference) {
  auto fabric = three_levels(8);
  Verifier verifier(strict_without_loads());
  LinearTables tables;
  {
    const fabric::CompactGraph graph(fabric);
    tables = routed_by_minhop(fabric, graph);
    EXPECT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
    EXPECT_FALSE(verifier.by_difference());
    fabric.disconnect(cables(graph).front());
  }
  const fabric::CompactGraph graph(fabric);
  const auto changes = patch(graph, tables);
  ASSERT_FALSE(changes.empty());
  const Verdict verdict = verifier.verify_changes(fabric, graph, tables, changes);
  EXPECT_TRUE(verdict.must_ok());
  EXPECT_TRUE(verifier.by_difference());
}

/// The tables of `graph`, and what is new in them.
std::vector<EntryChange> rerouted(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                                  LinearTables& tables) {
  LinearTables fresh = routed_by_minhop(fabric, graph);
  std::vector<EntryChange> changes;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (std::uint16_t lid = 0; lid < fresh.lid_count(); ++lid)
      if (fresh.at(s, Lid{lid}) != tables.at(s, Lid{lid})) changes.push_back({s, Lid{lid}});
  tables = std::move(fresh);
  return changes;
}

TEST(VerifyChanges, AFabricThatFallsApartIsProvedByItsDifferenceAndOneThatGrowsTogetherAnew) {
  const auto whole = fabric::generate(fabric::Grid{{6}, false, 1, 2}).value();
  auto apart = whole;
  cut(apart, [](SwitchIndex a, SwitchIndex b) { return a < 3 && b >= 3; });
  const fabric::CompactGraph graph(whole), split(apart);
  Verifier verifier(strict_without_loads());
  LinearTables tables = routed_by_minhop(whole, graph);
  EXPECT_EQ(verifier.verify(whole, graph, tables).pairs, 6 * 12U);

  auto changes = rerouted(apart, split, tables);
  Verdict verdict = verifier.verify_changes(apart, split, tables, changes);
  EXPECT_TRUE(verdict.must_ok());
  EXPECT_TRUE(verifier.by_difference());
  EXPECT_EQ(verdict.pairs, 36U);
  EXPECT_EQ(verdict.pairs_apart, 36U);
  expect_same(verdict, verify(apart, split, tables, strict_without_loads()), "apart");

  // Joined again, with tables that do not know it yet.
  verdict = verifier.verify_changes(whole, graph, tables, {});
  EXPECT_FALSE(verifier.by_difference());
  EXPECT_EQ(verdict.unreachable, 36U);
  EXPECT_FALSE(verdict.must_ok());
}

TEST(VerifyChanges, ACircleOfALidInAnotherPieceIsFound) {
  auto fabric = fabric::generate(fabric::Grid{{4}, false, 1, 1}).value();
  cut(fabric, [](SwitchIndex a, SwitchIndex b) { return a < 2 && b >= 2; });
  const fabric::CompactGraph graph(fabric);
  Verifier verifier(strict_without_loads());
  LinearTables tables = routed_by_minhop(fabric, graph);
  EXPECT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
  const auto& d = graph.destinations();
  const auto far = std::find_if(d.begin(), d.end(), [&](const auto& x) { return x.leaf == 3; });
  const auto& arc = graph.arcs(0)[0];
  tables.set(0, far->lid, arc.out_port);
  EXPECT_TRUE(
      verifier.verify_changes(fabric, graph, tables, std::vector<EntryChange>{{0, far->lid}})
          .must_ok());
  EXPECT_TRUE(verifier.by_difference());
  tables.set(arc.to, far->lid, arc.in_port);
  const Verdict verdict =
      verifier.verify_changes(fabric, graph, tables, std::vector<EntryChange>{{arc.to, far->lid}});
  EXPECT_EQ(verdict.loops, 2U);
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings[0].kind, Finding::Kind::Loop);
}

TEST(VerifyChanges, AnEntryThatStillNamesADeadPortIsFound) {
  auto fabric = three_levels(8);
  Verifier verifier(strict_without_loads());
  LinearTables tables;
  {
    const fabric::CompactGraph graph(fabric);
    tables = routed_by_minhop(fabric, graph);
    EXPECT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
    fabric.disconnect(cables(graph).front());
  }
  // Nobody says that anything changed.
  const fabric::CompactGraph graph(fabric);
  const Verdict verdict = verifier.verify_changes(fabric, graph, tables, {});
  EXPECT_FALSE(verdict.must_ok());
  EXPECT_FALSE(verdict.findings.empty());
}

TEST(VerifyChanges, ACreditLoopOfNewAndOldEntriesIsFound) {
  // A ring routed along a line; then one pair of hosts after the other turns the short way.
  const auto fabric = fabric::generate(fabric::Grid{{6}, true, 1, 1}).value();
  const fabric::CompactGraph graph(fabric);
  const auto port = [&](SwitchIndex from, SwitchIndex to) {
    for (const auto& arc : graph.arcs(from))
      if (arc.to == to) return arc.out_port;
    return kNoPort;
  };
  LinearTables tables(graph.switch_count(), graph.max_lid());
  for (const auto& d : graph.destinations())
    for (SwitchIndex s = 0; s < 6; ++s)
      tables.set(s, d.lid, s == d.leaf ? d.port : port(s, d.leaf > s ? s + 1 : s - 1));
  const LinearTables target = routed_by_minhop(fabric, graph);
  Verifier verifier(strict_without_loads());
  ASSERT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
  bool closed = false;
  for (const auto& d : graph.destinations()) {
    std::vector<EntryChange> changes;
    for (SwitchIndex s = 0; s < 6; ++s) {
      if (tables.at(s, d.lid) == target.at(s, d.lid)) continue;
      tables.set(s, d.lid, target.at(s, d.lid));
      changes.push_back({s, d.lid});
    }
    const Verdict verdict = verifier.verify_changes(fabric, graph, tables, changes);
    expect_same(verdict, verify(fabric, graph, tables, strict_without_loads()),
                std::to_string(d.lid.value));
    closed |= verdict.credit_loop_channels != 0;
  }
  EXPECT_TRUE(closed);
}

TEST(VerifyChanges, SaysWhatTheFullCheckSays) {
  const std::pair<const char*, fabric::Fabric> fabrics[] = {
      {"tree", three_levels(6)},
      {"dragonfly+", fabric::generate(fabric::DragonflyPlus{3, 2, 2, 2, 2}).value()},
      {"ring", fabric::generate(fabric::Grid{{5}, true, 2, 1}).value()},
      {"hyperx", fabric::generate(fabric::HyperX{{3, 3}, 2, 1}).value()}};
  std::size_t by_difference = 0;
  for (const auto& [name, whole] : fabrics) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
      std::mt19937 random(seed);
      auto fabric = whole;
      Verifier verifier(strict_without_loads());
      fabric::CompactGraph graph(fabric);
      LinearTables tables = routed_by_minhop(fabric, graph);
      verifier.verify(fabric, graph, tables);
      for (int step = 0; step < 8; ++step) {
        std::vector<EntryChange> changes;
        if (step % 3 != 2) {  // a cable goes, and routes follow
          const auto ends = cables(graph);
          if (ends.empty()) break;
          fabric.disconnect(ends[random() % ends.size()]);
          graph = fabric::CompactGraph(fabric);
          changes = patch(graph, tables);
        } else {  // a few entries go anywhere
          for (int i = 0; i < 2; ++i) {
            const EntryChange change{
                static_cast<SwitchIndex>(random() % graph.switch_count()),
                graph.destinations()[random() % graph.destinations().size()].lid};
            tables.set(change.at, change.lid,
                       static_cast<std::uint8_t>(random() % (graph.max_ports() + 2)));
            changes.push_back(change);
          }
        }
        const std::string what =
            std::string(name) + ", seed " + std::to_string(seed) + ", step " + std::to_string(step);
        const Verdict verdict = verifier.verify_changes(fabric, graph, tables, changes);
        by_difference += verifier.by_difference();
        expect_same(verdict, verify(fabric, graph, tables, strict_without_loads()), what);
        // Whatever was broken is mended for the next step.
        if (step % 3 == 2) {
          changes = patch(graph, tables);
          expect_same(verifier.verify_changes(fabric, graph, tables, changes),
                      verify(fabric, graph, tables, strict_without_loads()), what + ", mended");
        }
      }
    }
  }
  EXPECT_GT(by_difference, 20U);
}

TEST(VerifyChanges, ANewHostAndAMovedOneAreFollowed) {
  auto fabric = three_levels(6);
  fabric::CompactGraph graph(fabric);
  LinearTables tables = routed_by_minhop(fabric, graph);
  Verifier verifier(strict_without_loads());
  ASSERT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
  // Two hosts change places: the tables are not told at first.
  std::vector<fabric::PortRef> hosts;
  for (const auto& d : graph.destinations())
    if (!d.is_switch()) hosts.push_back(d.end_port);
  std::swap(fabric.port(hosts.front()).lid, fabric.port(hosts.back()).lid);
  fabric.reindex();
  graph = fabric::CompactGraph(fabric);
  EXPECT_FALSE(verifier.verify_changes(fabric, graph, tables, {}).must_ok());

  tables = routed_by_minhop(fabric, graph);
  ASSERT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
  std::swap(fabric.port(hosts.front()).lid, fabric.port(hosts.back()).lid);
  fabric.reindex();
  graph = fabric::CompactGraph(fabric);
  const auto changes = patch(graph, tables);
  EXPECT_TRUE(verifier.verify_changes(fabric, graph, tables, changes).must_ok());
  EXPECT_TRUE(verifier.by_difference());
}

}  // namespace
}  // namespace ib::tables
