// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/routes/verify_changes.h"

#include <gtest/gtest.h>

#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engine.h"
#include "tests/unit/routes/patch.h"

namespace ib::routes {
namespace {

using fabric::SwitchIndex;

VerifyOptions strict() {
  VerifyOptions options;
  options.credit_loops_are_must = true;
  options.loads = false;
  return options;
}

LinearTables minhop(const fabric::Fabric& fabric, const fabric::CompactGraph& graph) {
  return route::find_engine("minhop")->compute({&fabric, &graph, {}, nullptr})->lfts;
}

fabric::Fabric tree(unsigned radix) {
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
  auto fabric = tree(8);
  Verifier verifier(strict());
  LinearTables tables;
  {
    const fabric::CompactGraph graph(fabric);
    tables = minhop(fabric, graph);
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

TEST(VerifyChanges, AnEntryThatStillNamesADeadPortIsFound) {
  auto fabric = tree(8);
  Verifier verifier(strict());
  LinearTables tables;
  {
    const fabric::CompactGraph graph(fabric);
    tables = minhop(fabric, graph);
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
  const LinearTables target = minhop(fabric, graph);
  Verifier verifier(strict());
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
    expect_same(verdict, verify(fabric, graph, tables, strict()), std::to_string(d.lid.value));
    closed |= verdict.credit_loop_channels != 0;
  }
  EXPECT_TRUE(closed);
}

TEST(VerifyChanges, SaysWhatTheFullCheckSays) {
  const std::pair<const char*, fabric::Fabric> fabrics[] = {
      {"tree", tree(6)},
      {"dragonfly+", fabric::generate(fabric::DragonflyPlus{3, 2, 2, 2, 2}).value()},
      {"ring", fabric::generate(fabric::Grid{{5}, true, 2, 1}).value()},
      {"hyperx", fabric::generate(fabric::HyperX{{3, 3}, 2, 1}).value()}};
  std::size_t by_difference = 0;
  for (const auto& [name, whole] : fabrics) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
      std::mt19937 random(seed);
      auto fabric = whole;
      Verifier verifier(strict());
      fabric::CompactGraph graph(fabric);
      LinearTables tables = minhop(fabric, graph);
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
        expect_same(verdict, verify(fabric, graph, tables, strict()), what);
        // Whatever was broken is mended for the next step.
        if (step % 3 == 2) {
          changes = patch(graph, tables);
          expect_same(verifier.verify_changes(fabric, graph, tables, changes),
                      verify(fabric, graph, tables, strict()), what + ", mended");
        }
      }
    }
  }
  EXPECT_GT(by_difference, 20U);
}

TEST(VerifyChanges, ANewHostAndAMovedOneAreFollowed) {
  auto fabric = tree(6);
  fabric::CompactGraph graph(fabric);
  LinearTables tables = minhop(fabric, graph);
  Verifier verifier(strict());
  ASSERT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
  // Two hosts change places: the tables are not told at first.
  std::vector<fabric::PortRef> hosts;
  for (const auto& d : graph.destinations())
    if (!d.is_switch()) hosts.push_back(d.end_port);
  std::swap(fabric.port(hosts.front()).lid, fabric.port(hosts.back()).lid);
  fabric.reindex();
  graph = fabric::CompactGraph(fabric);
  EXPECT_FALSE(verifier.verify_changes(fabric, graph, tables, {}).must_ok());

  tables = minhop(fabric, graph);
  ASSERT_TRUE(verifier.verify(fabric, graph, tables).must_ok());
  std::swap(fabric.port(hosts.front()).lid, fabric.port(hosts.back()).lid);
  fabric.reindex();
  graph = fabric::CompactGraph(fabric);
  const auto changes = patch(graph, tables);
  EXPECT_TRUE(verifier.verify_changes(fabric, graph, tables, changes).must_ok());
  EXPECT_TRUE(verifier.by_difference());
}

}  // namespace
}  // namespace ib::routes
