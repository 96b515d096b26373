// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "libdiag/fabric/aggregation_node.h"
#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/route/engine.h"
#include "tests/unit/tables/judge.h"

namespace ib::tables {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

LinearTables minhop_tables(const fabric::Fabric& fabric, const fabric::CompactGraph& graph) {
  auto routes = route::find_engine("minhop")->compute({&fabric, &graph, {}, nullptr});
  EXPECT_TRUE(routes.has_value());
  return std::move(routes->lfts);
}

/// With every CA a host, which is how the judge counts loads.
fabric::CompactGraph without_aggregation_nodes(fabric::Fabric fabric) {
  for (fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (is_aggregation_node(fabric.node(n))) {
      fabric.node(n).device_id = 0;
      fabric.node(n).description.clear();
    }
  return fabric::CompactGraph(fabric);
}

/// Every figure that verify and the judge share.
void expect_judge_agrees(const fabric::Fabric& fabric, const LinearTables& tables,
                         const std::string& what) {
  const fabric::CompactGraph graph = without_aggregation_nodes(fabric);
  const auto judged = judge::lftcheck(fabric, graph, tables);
  if (!judged) return;
  VerifyOptions plain;  // lftcheck knows no grades, and no pieces
  plain.switch_lids_as_cas = true;
  const Verdict verdict = verify(fabric, graph, tables, plain);
  EXPECT_EQ(verdict.pairs + verdict.pairs_apart, judged->pairs) << what;
  EXPECT_EQ(verdict.unreachable + verdict.pairs_apart, judged->unreachable) << what;
  EXPECT_EQ(verdict.loops, judged->loops) << what;
  EXPECT_EQ(verdict.credit_loop_channels, judged->credit_loop_channels) << what;
  EXPECT_EQ(verdict.load_max, judged->load_max) << what;
  EXPECT_NEAR(verdict.load_mean, judged->load_mean, 0.051) << what;
}

/// A ring of `size` switches with one host each; LIDs 1.. in node order.
fabric::Fabric ring(unsigned size) {
  return fabric::generate(fabric::Grid{{size}, true, 1, 1}).value();
}

/// Everything goes to the neighbour with the next index.
LinearTables clockwise(const fabric::CompactGraph& graph) {
  LinearTables tables(graph.switch_count(), graph.max_lid());
  const auto n = static_cast<fabric::SwitchIndex>(graph.switch_count());
  for (fabric::SwitchIndex s = 0; s < n; ++s)
    for (const auto& d : graph.destinations())
      for (const auto& arc : graph.arcs(s))
        if (d.leaf == s)
          tables.set(s, d.lid, d.port);
        else if (arc.to == (s + 1) % n)
          tables.set(s, d.lid, arc.out_port);
  return tables;
}

TEST(Verify, TreeHasNoCreditLoopAndEvenLoads) {
  fabric::FatTree kind;
  kind.radix = 36;
  const auto fabric = fabric::generate(kind).value();
  const fabric::CompactGraph graph(fabric);
  const Verdict verdict = verify(fabric, graph, minhop_tables(fabric, graph));
  EXPECT_EQ(verdict.pairs, 36U * (648 + 54));
  EXPECT_EQ(verdict.unreachable, 0U);
  EXPECT_EQ(verdict.loops, 0U);
  EXPECT_EQ(verdict.credit_loop_channels, 0U);
  EXPECT_EQ(verdict.load_max, 630U);
  EXPECT_DOUBLE_EQ(verdict.load_mean, 630.0);
  EXPECT_TRUE(verdict.must_ok());
  EXPECT_THAT(verdict.findings, SizeIs(0));
}

TEST(Verify, FindsTheCreditLoopOfAClockwiseRing) {
  const auto fabric = ring(5);
  const fabric::CompactGraph graph(fabric);
  const LinearTables tables = clockwise(graph);
  const Verdict verdict = verify(fabric, graph, tables);
  EXPECT_EQ(verdict.unreachable, 0U);
  EXPECT_EQ(verdict.credit_loop_channels, 5U);
  ASSERT_THAT(verdict.findings, SizeIs(1));
  const Finding& finding = verdict.findings[0];
  EXPECT_EQ(finding.kind, Finding::Kind::CreditLoop);
  EXPECT_FALSE(finding.must);
  EXPECT_THAT(finding.hops, SizeIs(5));
  EXPECT_THAT(finding.message, HasSubstr("credit loop through 5 links"));
  // Each hop leads to the next, the last to the first.
  for (std::size_t i = 0; i < finding.hops.size(); ++i) {
    const auto [s, port] = finding.hops[i];
    const auto next = finding.hops[(i + 1) % finding.hops.size()].first;
    EXPECT_EQ(fabric.port(graph.node_of(s), port).peer.node, graph.node_of(next));
  }
  EXPECT_TRUE(verdict.must_ok());
  VerifyOptions strict;
  strict.credit_loops_are_must = true;
  EXPECT_EQ(verify(fabric, graph, tables, strict).must_failures, 5U);
}

TEST(Verify, NamesTheSwitchThatHasNoEntry) {
  const auto fabric = ring(4);
  const fabric::CompactGraph graph(fabric);
  LinearTables tables = clockwise(graph);
  const auto& host = *std::find_if(graph.destinations().begin(), graph.destinations().end(),
                                   [](const auto& d) { return !d.is_switch(); });
  const fabric::SwitchIndex gap = (host.leaf + 3) % 4;  // the last switch before the leaf
  tables.set(gap, host.lid, kNoPort);
  const Verdict verdict = verify(fabric, graph, tables);
  EXPECT_EQ(verdict.unreachable, 3U);
  EXPECT_EQ(verdict.must_failures, 3U);
  const auto finding =
      std::find_if(verdict.findings.begin(), verdict.findings.end(),
                   [](const auto& f) { return f.kind == Finding::Kind::Unreachable; });
  ASSERT_NE(finding, verdict.findings.end());
  EXPECT_TRUE(finding->must);
  EXPECT_EQ(finding->lid, host.lid);
  EXPECT_THAT(finding->message, HasSubstr("has no entry"));
  EXPECT_THAT(finding->message, HasSubstr(to_string(graph.guid(gap))));
}

TEST(Verify, SaysWhereAWrongEntryLeads) {
  const auto fabric = ring(4);
  const fabric::CompactGraph graph(fabric);
  LinearTables tables = clockwise(graph);
  std::vector<fabric::Destination> hosts;
  for (const auto& d : graph.destinations())
    if (!d.is_switch()) hosts.push_back(d);
  // Two hosts on different leaves: the first leaf delivers the second's LID to its own host.
  tables.set(hosts[0].leaf, hosts[1].lid, hosts[0].port);
  tables.set(hosts[2].leaf, hosts[2].lid, 200);  // the leaf itself sends it nowhere
  const Verdict verdict = verify(fabric, graph, tables);
  std::string all;
  for (const auto& f : verdict.findings) all += f.message + "\n";
  EXPECT_THAT(all, HasSubstr("leads to '"));
  EXPECT_THAT(all, HasSubstr("sends it out of port 200 instead of"));
  expect_judge_agrees(fabric, tables, "wrong entries");
}

TEST(Verify, FindsALoopAndNamesIt) {
  const auto fabric = ring(6);
  const fabric::CompactGraph graph(fabric);
  LinearTables tables = clockwise(graph);
  const auto& host = *std::find_if(graph.destinations().begin(), graph.destinations().end(),
                                   [](const auto& d) { return !d.is_switch(); });
  // The switch before the leaf sends the LID back where it came from.
  const fabric::SwitchIndex before = (host.leaf + 5) % 6, back = (host.leaf + 4) % 6;
  for (const auto& arc : graph.arcs(before))
    if (arc.to == back) tables.set(before, host.lid, arc.out_port);
  const Verdict verdict = verify(fabric, graph, tables);
  EXPECT_EQ(verdict.loops, 5U);
  EXPECT_EQ(verdict.unreachable, 5U);
  const auto finding = std::find_if(verdict.findings.begin(), verdict.findings.end(),
                                    [](const auto& f) { return f.kind == Finding::Kind::Loop; });
  ASSERT_NE(finding, verdict.findings.end());
  EXPECT_THAT(finding->message, HasSubstr("loops from"));
  EXPECT_THAT(finding->message, HasSubstr(to_string(graph.guid(before))));
  EXPECT_THAT(finding->message, HasSubstr(to_string(graph.guid(back))));
  expect_judge_agrees(fabric, tables, "loop");
}

TEST(Verify, CountsAWalkOfMoreThan64HopsAsALoop) {
  const auto fabric = ring(70);
  const fabric::CompactGraph graph(fabric);
  const LinearTables tables = clockwise(graph);
  const Verdict verdict = verify(fabric, graph, tables);
  EXPECT_EQ(verdict.loops, 2 * 70U * 5);  // 65 to 69 hops, to each host and each switch
  expect_judge_agrees(fabric, tables, "long ring");
}

TEST(Verify, SwitchLidsOnlyShouldBeReachedUnlessTheSmIsThere) {
  const auto fabric = ring(4);
  const fabric::CompactGraph graph(fabric);
  LinearTables tables = clockwise(graph);
  const auto& own = *std::find_if(graph.destinations().begin(), graph.destinations().end(),
                                  [](const auto& d) { return d.is_switch(); });
  for (fabric::SwitchIndex s = 0; s < 4; ++s) tables.set(s, own.lid, kNoPort);
  const Verdict verdict = verify(fabric, graph, tables);
  EXPECT_EQ(verdict.unreachable, 4U);
  EXPECT_TRUE(verdict.must_ok());
  VerifyOptions options;
  options.sm_lid = own.lid;
  EXPECT_EQ(verify(fabric, graph, tables, options).must_failures, 4U);
}

TEST(Verify, AgreesWithTheJudgeOnGeneratedFabrics) {
  fabric::FatTree two;
  two.radix = 12;
  fabric::FatTree three;
  three.radix = 8;
  three.levels = 3;
  fabric::GenerateCommon damaged;
  damaged.missing_hosts_percent = 10;
  damaged.missing_links_percent = 8;
  for (std::uint64_t seed : {1U, 2U}) {
    damaged.seed = seed;
    const std::pair<const char*, Result<fabric::Fabric>> fabrics[] = {
        {"tree", fabric::generate(two, damaged)},
        {"3-level tree", fabric::generate(three, damaged)},
        {"torus", fabric::generate(fabric::Grid{{4, 4}, true, 2, 2}, damaged)},
        {"hypercube", fabric::generate(fabric::Hypercube{4, 2, 1}, damaged)},
        {"random", fabric::generate(fabric::RandomGraph{24, 60, 3}, damaged)},
        {"dragonfly", fabric::generate(fabric::Dragonfly{}, damaged)}};
    for (const auto& [name, fabric] : fabrics) {
      ASSERT_TRUE(fabric.has_value()) << name << ": " << fabric.error().message;
      const fabric::CompactGraph graph(*fabric);
      LinearTables tables = minhop_tables(*fabric, graph);
      EXPECT_EQ(verify(*fabric, graph, tables).unreachable, 0U) << name;
      expect_judge_agrees(*fabric, tables, name);

      // The same with entries broken at random: loops, dead ends, wrong turns.
      std::mt19937 random(static_cast<unsigned>(seed));
      for (int i = 0; i < 40; ++i)
        tables.set(static_cast<fabric::SwitchIndex>(random() % graph.switch_count()),
                   graph.destinations()[random() % graph.destinations().size()].lid,
                   static_cast<std::uint8_t>(random() % (graph.max_ports() + 3)));
      expect_judge_agrees(*fabric, tables, std::string(name) + ", broken");
    }
  }
}

TEST(Verify, AgreesWithTheJudgeOnRealFabrics) {
  std::vector<std::pair<std::string, fabric::Fabric>> fabrics;
  for (const auto& path : judge::real_fabrics())
    fabrics.emplace_back(path.filename(), fabric::read_topology_file(path).value());
  fabrics.emplace_back("superpod look-alike", fabric::generate_superpod_like().value());
  fabrics.emplace_back("lab look-alike", fabric::generate_lab_like().value());
  for (const auto& [name, fabric] : fabrics) {
    const fabric::CompactGraph graph(fabric);
    const LinearTables tables = minhop_tables(fabric, graph);
    EXPECT_EQ(verify(fabric, graph, tables).unreachable, 0U) << name;
    expect_judge_agrees(fabric, tables, name);
  }
}

}  // namespace
}  // namespace ib::tables
