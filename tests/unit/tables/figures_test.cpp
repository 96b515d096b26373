// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/figures.h"

#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
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
  const Figures f = figures(graph, minhop(fabric, graph), {1, 20, 2048});
  EXPECT_EQ(f.hosts, 72U);
  EXPECT_EQ(f.load_max, 66U);  // 6 hosts send to 66 others over 6 links
  EXPECT_EQ(f.load_floor, 66U);
  EXPECT_DOUBLE_EQ(f.load_mean, 66.0);
  EXPECT_DOUBLE_EQ(f.hops_mean, 2.0);  // hosts of the same leaf do not count
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
  const Figures f = figures(graph, tables, {7, 10, 2048});
  EXPECT_EQ(f.load_max, 15U);   // 1 + 2 + 3 + 4 + 5 hops, all round
  EXPECT_EQ(f.load_floor, 5U);  // 9 hops for each of 6, over 12 links
  EXPECT_DOUBLE_EQ(f.hops_mean, 3.0);
  EXPECT_DOUBLE_EQ(f.hops_least_mean, 1.8);
  EXPECT_EQ(f.hops_max, 5U);
  EXPECT_EQ(f.extra_hops_max, 4U);
  EXPECT_EQ(f.shifts.patterns, 5U);
  EXPECT_EQ(f.shifts.worst, 5U);
  EXPECT_DOUBLE_EQ(f.shifts.mean, 3.0);
}

TEST(Figures, TheSeedDecides) {
  const auto fabric = fabric::generate(fabric::HyperX{{3, 3}, 3, 1}).value();
  const fabric::CompactGraph graph(fabric);
  const auto tables = minhop(fabric, graph);
  const Figures a = figures(graph, tables, {1, 30, 10}), b = figures(graph, tables, {1, 30, 10});
  EXPECT_EQ(a.shifts.patterns, 30U);  // sampled: more hosts than all_shifts_up_to
  EXPECT_EQ(a.shifts.mean, b.shifts.mean);
  EXPECT_EQ(a.permutations.mean, b.permutations.mean);
  EXPECT_EQ(a.bisection_mean, b.bisection_mean);
  EXPECT_NE(a.bisection_mean, figures(graph, tables, {2, 30, 10}).bisection_mean);
}

TEST(Figures, NothingToCountIsZero) {
  const auto fabric = fabric::generate(fabric::Grid{{2}, false, 0, 1});
  if (!fabric) GTEST_FAIL() << fabric.error().message;
  const fabric::CompactGraph graph(*fabric);
  const Figures f = figures(graph, LinearTables(graph.switch_count(), graph.max_lid()));
  EXPECT_EQ(f.hosts, 0U);
  EXPECT_EQ(f.load_max, 0U);
  EXPECT_EQ(f.shifts.patterns, 0U);
}

}  // namespace
}  // namespace ib::tables
