// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <queue>
#include <random>
#include <set>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/tables/least_hops.h"
#include "libdiag/tables/verify.h"
#include "tests/unit/tables/judge.h"

namespace ib::route {
namespace {

using ::testing::HasSubstr;

tables::LinearTables tables_of(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                               const Options& options = {},
                               const tables::LinearTables* previous = nullptr) {
  auto routes = minhop({&fabric, &graph, options, previous});
  EXPECT_TRUE(routes.has_value());
  return std::move(routes->lfts);
}

/// Hops between switches, the plain way.
std::vector<unsigned> distances(const fabric::CompactGraph& graph, fabric::SwitchIndex from) {
  std::vector<unsigned> d(graph.switch_count(), 999);
  std::queue<fabric::SwitchIndex> queue({from});
  d[from] = 0;
  for (; !queue.empty(); queue.pop())
    for (const auto& arc : graph.arcs(queue.front()))
      if (d[arc.to] == 999) {
        d[arc.to] = d[queue.front()] + 1;
        queue.push(arc.to);
      }
  return d;
}

/// Every entry leads one hop nearer, and there is an entry exactly where there is a way.
void expect_minimal(const fabric::CompactGraph& graph, const tables::LinearTables& tables) {
  std::vector<std::vector<unsigned>> d;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) d.push_back(distances(graph, s));
  for (const auto& destination : graph.destinations())
    for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
      const std::uint8_t port = tables.at(s, destination.lid);
      if (s == destination.leaf) {
        EXPECT_EQ(port, destination.port);
      } else if (d[s][destination.leaf] == 999) {
        EXPECT_EQ(port, tables::kNoPort);
      } else {
        const auto arcs = graph.arcs(s);
        const auto arc = std::find_if(arcs.begin(), arcs.end(),
                                      [&](const auto& a) { return a.out_port == port; });
        ASSERT_NE(arc, arcs.end());
        EXPECT_EQ(d[arc->to][destination.leaf] + 1, d[s][destination.leaf]);
      }
    }
}

TEST(LeastHops, TransposesBits) {
  std::array<std::uint64_t, 64> rows{};
  std::mt19937_64 random(3);
  for (auto& row : rows) row = random();
  auto turned = rows;
  tables::transpose64(turned);
  for (unsigned i = 0; i < 64; ++i)
    for (unsigned j = 0; j < 64; ++j)
      ASSERT_EQ((rows[i] >> j) & 1, (turned[j] >> i) & 1) << i << ' ' << j;
}

TEST(Minhop, IsMinimalOnEveryKindOfFabric) {
  fabric::GenerateCommon damaged;
  damaged.missing_links_percent = 10;
  damaged.missing_hosts_percent = 20;
  fabric::FatTree tree;
  tree.radix = 8;
  tree.levels = 3;
  for (std::uint64_t seed : {1U, 2U, 3U}) {
    damaged.seed = seed;
    for (const auto& fabric :
         {fabric::generate(tree, damaged), fabric::generate(fabric::Grid{{3, 4, 3}}, damaged),
          fabric::generate(fabric::RandomGraph{70, 160, 2}, damaged),
          fabric::generate(fabric::Kautz{}, damaged),
          fabric::generate(fabric::HyperX{}, damaged)}) {
      ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
      const fabric::CompactGraph graph(*fabric);
      expect_minimal(graph, tables_of(*fabric, graph));
    }
  }
}

TEST(Minhop, LeavesNoEntryWhereThereIsNoWay) {
  auto fabric = fabric::generate(fabric::Grid{{4}, false, 1, 1}).value();  // a chain
  const fabric::CompactGraph whole(fabric);
  for (const auto& arc : whole.arcs(1))
    if (arc.to == 2) fabric.disconnect({whole.node_of(1), arc.out_port});
  const fabric::CompactGraph graph(fabric);
  expect_minimal(graph, tables_of(fabric, graph));
}

TEST(Minhop, LoadsOfFullTreesAreAsLowAsTheyCanBe) {
  fabric::FatTree kind;
  kind.radix = 16;
  kind.levels = 3;  // 1,024 endpoints
  const auto fabric = fabric::generate(kind).value();
  const fabric::CompactGraph graph(fabric);
  const auto verdict = tables::verify(fabric, graph, tables_of(fabric, graph));
  // A leaf's uplink carries N - k/2 routes, one above it N - (k/2)^2; there are as many of each.
  EXPECT_EQ(verdict.load_max, 1024U - 8);
  EXPECT_DOUBLE_EQ(verdict.load_mean, ((1024 - 8) + (1024 - 64)) / 2.0);
  EXPECT_EQ(verdict.credit_loop_channels, 0U);
}

TEST(Minhop, LoadsNoLinkMoreThanTheIncumbentOnRealFabrics) {
  // load_max of opensm's minhop on the same files.
  for (const auto& path : judge::real_fabrics()) {
    const auto fabric = fabric::read_topology_file(path).value();
    const fabric::CompactGraph graph(fabric);
    const auto verdict = tables::verify(fabric, graph, tables_of(fabric, graph));
    const std::string name = path.filename();
    const std::uint64_t incumbent = name == "janus-qdr-1356.topo" ? 9175
                                    : name == "dgx-ndr-582.topo"  ? 2408
                                                                  : ~std::uint64_t{0};
    EXPECT_LE(verdict.load_max, incumbent) << name;
    EXPECT_TRUE(verdict.must_ok());
  }
}

// Leaves that see their own links only all send the LIDs of one leaf over the same middle switch,
// to make up for one that does not lead everywhere.
TEST(Minhop, ALargeTreeWithoutASwitchIsStillEven) {
  fabric::FatTree tree;
  tree.radix = 24;
  tree.levels = 3;
  auto fabric = fabric::generate(tree).value();
  const fabric::CompactGraph whole(fabric);
  fabric::SwitchIndex middle = 0;
  while (whole.attached()[middle] != 0) ++middle;
  for (const auto& arc : whole.arcs(middle))
    fabric.disconnect({whole.node_of(middle), arc.out_port});
  fabric.port(whole.node_of(middle), 0).lid = Lid{};
  fabric.reindex();
  const fabric::CompactGraph graph(fabric);
  for (const Engine engine : {minhop, updn}) {
    const auto routes = engine({&fabric, &graph, {}, nullptr}).value();
    const auto verdict = tables::verify(fabric, graph, routes.lfts);
    EXPECT_EQ(verdict.unreachable, 0U);
    // 12 hosts of a leaf that has 11 links up: 12/11 of the 3,444 of a whole tree, and a tenth.
    EXPECT_LE(verdict.load_max, 3444U * 12 / 11 * 11 / 10);
  }
}

TEST(Minhop, TheSameFabricGivesTheSameTables) {
  const auto fabric = fabric::generate(fabric::RandomGraph{90, 300, 6}).value();
  const fabric::CompactGraph graph(fabric);
  const auto first = tables_of(fabric, graph);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(tables_of(fabric, graph), first);
}

TEST(Minhop, WhatIsStillMinimalIsKept) {
  fabric::FatTree kind;
  kind.radix = 12;
  auto fabric = fabric::generate(kind).value();
  const fabric::CompactGraph whole(fabric);
  const auto before = tables_of(fabric, whole);
  // One uplink of the first leaf goes.
  const fabric::SwitchIndex leaf = whole.destinations().back().leaf;
  const std::uint8_t gone = whole.arcs(leaf)[2].out_port;
  fabric.disconnect({whole.node_of(leaf), gone});
  const fabric::CompactGraph graph(fabric);
  Options options;
  options.honour_previous = true;
  const auto after = tables_of(fabric, graph, options, &before);
  expect_minimal(graph, after);
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& d : graph.destinations()) {
      // Only what used the link, or the spine that lost its way down to the leaf, changes.
      const bool untouched = s == leaf ? before.at(s, d.lid) != gone : d.leaf != leaf;
      if (untouched) {
        EXPECT_EQ(after.at(s, d.lid), before.at(s, d.lid));
      }
    }
}

TEST(Minhop, SiblingsOfAnEndPortTakeDifferentWays) {
  fabric::FatTree kind;
  kind.radix = 8;
  auto fabric = fabric::generate(kind).value();
  std::uint16_t lid = 4;  // aligned to 4
  for (fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (fabric.node(n).is_switch()) {
      fabric.port(n, 0).lid = Lid{lid};
    } else {
      fabric.port(n, 1).lid = Lid{lid};
      fabric.port(n, 1).lmc = 2;
    }
    lid = static_cast<std::uint16_t>(lid + 4);
  }
  fabric.reindex();
  const fabric::CompactGraph graph(fabric);
  const auto tables = tables_of(fabric, graph);
  expect_minimal(graph, tables);
  for (const auto& d : graph.destinations()) {
    if (d.is_switch() || d.lid.value % 4 != 0) continue;
    for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
      if (s == d.leaf || graph.attached()[s] == 0) continue;
      std::set<fabric::SwitchIndex> spines;  // four uplinks to four spines, four LIDs
      for (std::uint16_t i = 0; i < 4; ++i) {
        const auto out = tables.at(s, Lid{static_cast<std::uint16_t>(d.lid.value + i)});
        spines.insert(graph.switch_of(fabric.port(graph.node_of(s), out).peer.node));
      }
      EXPECT_EQ(spines.size(), 4U) << "switch " << s << " LID " << d.lid.value;
    }
  }
}

TEST(Plan, GivesLidsWhereThereAreNoneAndJudges) {
  fabric::GenerateCommon bare;
  bare.lids = false;
  fabric::FatTree kind;
  kind.radix = 8;
  PlanOptions options;
  options.choice.engines = {"minhop"};
  const auto plan = plan_routes(fabric::generate(kind, bare).value(), options);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(plan->lids_given, 32U + 12);
  EXPECT_EQ(plan->graph.destinations().size(), 44U);
  EXPECT_EQ(plan->graph.max_lid(), Lid{44});
  EXPECT_EQ(plan->routes.engine, "minhop");
  EXPECT_TRUE(plan->verdict.must_ok());
  // LIDs follow the order of GUIDs.
  Guid last{};
  for (const auto& d : plan->graph.destinations()) {
    const auto& node = plan->fabric.node(d.end_port.node);
    const Guid guid = node.is_switch() ? node.guid : plan->fabric.port(d.end_port).guid;
    EXPECT_LT(last, guid);
    last = guid;
  }
}

TEST(Plan, RefusesAnEngineThatDoesNotExist) {
  PlanOptions options;
  options.choice.engines = {"minhop", "quickest"};
  const auto plan = plan_routes(fabric::generate_lab_like().value(), options);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().kind, ErrorKind::Usage);
  EXPECT_THAT(plan.error().message, HasSubstr("'quickest'"));
}

}  // namespace
}  // namespace ib::route
