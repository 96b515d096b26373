// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/figures.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_builder.h"
#include "libdiag/route/engine.h"

namespace ib::tables {
namespace {

LinearTables minhop(const fabric::Fabric& fabric, const fabric::CompactGraph& graph) {
  return route::find_engine("minhop")->compute({&fabric, &graph, {}, nullptr})->lfts;
}

TEST(Figures, AFullTreeIsAtItsFloorOnShortestPaths) {
  fabric::FatTree kind;
  kind.radix = 12;
  const auto fabric = fabric::generate(kind).value();
  const fabric::CompactGraph graph(fabric);
  const Figures f = figures(fabric, graph, minhop(fabric, graph), {1, 20, 2048});
  EXPECT_EQ(f.hosts, 72U);
  EXPECT_EQ(f.load_max, 66U);  // 6 hosts send to 66 others over 6 links
  EXPECT_EQ(f.load_floor, 66U);
  EXPECT_DOUBLE_EQ(f.load_mean, 66.0);
  EXPECT_DOUBLE_EQ(f.weighed.max, 66.0);
  EXPECT_DOUBLE_EQ(f.weighed.mean, 66.0);
  EXPECT_DOUBLE_EQ(f.weighed.floor, 66.0);
  EXPECT_DOUBLE_EQ(f.all_to_all, 1.0);
  EXPECT_DOUBLE_EQ(f.paths.mean, 6.0);  // one over each spine
  EXPECT_DOUBLE_EQ(f.paths.possible, 6.0);
  EXPECT_DOUBLE_EQ(f.paths_of_port.possible, 0.0);  // ports have one LID
  EXPECT_DOUBLE_EQ(f.hops_mean, 2.0);               // hosts of the same leaf do not count
  EXPECT_DOUBLE_EQ(f.hops_least_mean, 2.0);
  EXPECT_EQ(f.hops_max, 2U);
  EXPECT_EQ(f.extra_hops_max, 0U);
  EXPECT_EQ(f.shifts.patterns, 71U);
  EXPECT_GE(f.shifts.worst, 1U);
  EXPECT_EQ(f.permutations.patterns, 20U);
  EXPECT_GT(f.permutations.worst, 1U);
  EXPECT_GE(static_cast<double>(f.permutations.worst), f.permutations.mean);
  EXPECT_GT(f.bisection_mean, 0.3);
  EXPECT_LE(f.bisection_mean, 1.0);
  EXPECT_LE(f.bisection_least, f.bisection_mean);
}

TEST(Figures, DetoursAndFullLinksShow) {
  // A ring of 6 switches, clockwise only: the shift by one host meets nobody, the shift by five
  // has five flows on each link.
  const auto fabric = fabric::generate(fabric::Grid{{6}, true, 1, 1}).value();
  const fabric::CompactGraph graph(fabric);
  LinearTables tables(graph.switch_count(), graph.max_lid());
  for (const auto& d : graph.destinations())
    for (fabric::SwitchIndex s = 0; s < 6; ++s)
      for (const auto& arc : graph.arcs(s))
        if (s == d.leaf)
          tables.set(s, d.lid, d.port);
        else if (arc.to == (s + 1) % 6)
          tables.set(s, d.lid, arc.out_port);
  const Figures f = figures(fabric, graph, tables, {7, 10, 2048});
  EXPECT_EQ(f.load_max, 15U);   // 1 + 2 + 3 + 4 + 5 hops, all round
  EXPECT_EQ(f.load_floor, 5U);  // 9 hops for each of 6, over 12 links
  EXPECT_DOUBLE_EQ(f.weighed.max, 15.0);
  EXPECT_DOUBLE_EQ(f.weighed.mean, 7.5);  // half of the links idle
  EXPECT_DOUBLE_EQ(f.weighed.floor, 4.5);
  EXPECT_DOUBLE_EQ(f.all_to_all, 3.0);  // a host sends 5
  EXPECT_DOUBLE_EQ(f.paths.mean, 1.0);
  EXPECT_DOUBLE_EQ(f.paths.possible, 1.0);  // one LID leads to each
  EXPECT_DOUBLE_EQ(f.hops_mean, 3.0);
  EXPECT_DOUBLE_EQ(f.hops_least_mean, 1.8);
  EXPECT_EQ(f.hops_max, 5U);
  EXPECT_EQ(f.extra_hops_max, 4U);
  EXPECT_EQ(f.shifts.patterns, 5U);
  EXPECT_EQ(f.shifts.worst, 5U);
  EXPECT_DOUBLE_EQ(f.shifts.mean, 3.0);
}

/// A and B with a fast and a slow cable; three hosts at A, one at B.
fabric::Fabric two_switches() {
  fabric::TopologyBuilder b({});
  const auto left = b.add_switch("A", 8), right = b.add_switch("B", 8);
  b.connect_ports(left, 1, right, 1, wire::LinkWidth::W4x, wire::LinkSpeed::Hdr);
  b.connect_ports(left, 2, right, 2, wire::LinkWidth::W4x, wire::LinkSpeed::Edr);
  b.attach_hosts(left, 3);
  b.attach_hosts(right, 1);
  return b.finish().value();
}

TEST(Figures, ARouteOverALinkOfHalfTheSpeedCountsTwice) {
  const auto fabric = two_switches();
  const fabric::CompactGraph graph(fabric);
  ASSERT_EQ(graph.arc_count(), 4U);
  const WeighedLoads loads =
      weighed_loads(fabric, graph, std::vector<std::uint64_t>{1, 2, 3, 0}, 6);
  EXPECT_DOUBLE_EQ(loads.max, 2 * 53.125 / 25.78125);  // of the slow one
  EXPECT_NEAR(loads.mean, 2, 0.1);
  EXPECT_NEAR(loads.floor, 2, 0.1);  // three routes each way over a link and a half
}

TEST(Figures, PathsThatShareALinkCountOnce) {
  const auto fabric = two_switches();
  const fabric::CompactGraph graph(fabric);
  LinearTables tables(2, graph.max_lid());
  Ways ways{1, 0, {}};
  for (const auto& d : graph.destinations()) {
    if (!d.is_host || d.leaf != 0) continue;
    // The first two LIDs over one cable, the third over the other.
    tables.set(1, d.lid, ways.lids.size() < 2 ? 1 : 2);
    ways.lids.push_back(d.lid);
  }
  ASSERT_EQ(ways.lids.size(), 3U);
  auto paths = disjoint_paths(graph, tables, std::vector{ways});
  EXPECT_DOUBLE_EQ(paths.mean, 2.0);
  EXPECT_DOUBLE_EQ(paths.possible, 2.0);
  for (const Lid lid : ways.lids) tables.set(1, lid, 1);
  paths = disjoint_paths(graph, tables, std::vector{ways, Ways{1, 0, {ways.lids.front()}}});
  EXPECT_DOUBLE_EQ(paths.mean, 1.0);
  EXPECT_DOUBLE_EQ(paths.possible, 1.5);
}

/// The greatest number is found where the first path that is tried must be turned back: from 0 to
/// 3 over 1 and 2, where both paths of a square need one half of that.
TEST(Figures, ThePathsThatThereCouldBeAreCounted) {
  fabric::TopologyBuilder b({});
  std::vector<fabric::TopologyBuilder::Id> s;
  for (unsigned i = 0; i < 6; ++i) s.push_back(b.add_switch("s" + std::to_string(i), 8));
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 2}, {2, 5}, {0, 3}, {3, 2}, {1, 4}, {4, 5}})
    b.connect(s[static_cast<std::size_t>(from)], s[static_cast<std::size_t>(to)]);
  b.attach_hosts(s[0], 1);
  b.attach_hosts(s[5], 3);
  const auto fabric = b.finish().value();
  const fabric::CompactGraph graph(fabric);
  Ways ways{0, 5, {}};
  for (const auto& d : graph.destinations())
    if (d.is_host && d.leaf == 5) ways.lids.push_back(d.lid);
  ASSERT_EQ(ways.lids.size(), 3U);
  const auto paths =
      disjoint_paths(graph, LinearTables(graph.switch_count(), graph.max_lid()), std::vector{ways});
  EXPECT_DOUBLE_EQ(paths.mean, 0.0);
  EXPECT_DOUBLE_EQ(paths.possible, 2.0);
}

TEST(Figures, TheSeedDecides) {
  const auto fabric = fabric::generate(fabric::HyperX{{3, 3}, 3, 1}).value();
  const fabric::CompactGraph graph(fabric);
  const auto tables = minhop(fabric, graph);
  const Figures a = figures(fabric, graph, tables, {1, 30, 10}),
                b = figures(fabric, graph, tables, {1, 30, 10});
  EXPECT_EQ(a.shifts.patterns, 30U);  // sampled: more hosts than all_shifts_up_to
  EXPECT_EQ(a.shifts.mean, b.shifts.mean);
  EXPECT_EQ(a.permutations.mean, b.permutations.mean);
  EXPECT_EQ(a.bisection_mean, b.bisection_mean);
  EXPECT_NE(a.bisection_mean, figures(fabric, graph, tables, {2, 30, 10}).bisection_mean);
}

TEST(Figures, NothingToCountIsZero) {
  const auto fabric = fabric::generate(fabric::Grid{{2}, false, 0, 1});
  if (!fabric) GTEST_FAIL() << fabric.error().message;
  const fabric::CompactGraph graph(*fabric);
  const Figures f = figures(*fabric, graph, LinearTables(graph.switch_count(), graph.max_lid()));
  EXPECT_EQ(f.hosts, 0U);
  EXPECT_EQ(f.load_max, 0U);
  EXPECT_EQ(f.shifts.patterns, 0U);
}

}  // namespace
}  // namespace ib::tables
