// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <gtest/gtest.h>

#include <map>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/tables/least_hops.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

Routes routes_of_dor(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                     const Options& options = {}) {
  auto routes = dor({&fabric, &graph, options});
  EXPECT_TRUE(routes.has_value());
  return std::move(*routes);
}

/// The neighbours that s sends the LIDs behind `leaf` to, with how many each port got.
std::map<fabric::SwitchIndex, std::map<std::uint8_t, unsigned>> exits(
    const fabric::CompactGraph& graph, const tables::LinearTables& tables, fabric::SwitchIndex s,
    fabric::SwitchIndex leaf) {
  std::map<fabric::SwitchIndex, std::map<std::uint8_t, unsigned>> result;
  for (const auto& d : graph.destinations()) {
    if (d.leaf != leaf || d.is_switch()) continue;
    for (const auto& arc : graph.arcs(s))
      if (arc.out_port == tables.at(s, d.lid)) ++result[arc.to][arc.out_port];
  }
  return result;
}

TEST(Dor, HasNoCreditLoopOnMeshesAndHypercubes) {
  // The generator cables dimension by dimension, so ports are in order of dimensions.
  for (const auto& fabric : {fabric::generate(fabric::Grid{{4, 3, 3}, false, 2, 2}).value(),
                             fabric::generate(fabric::Grid{{5, 6}, false, 3, 1}).value(),
                             fabric::generate(fabric::Hypercube{5, 2, 1}).value()}) {
    const fabric::CompactGraph graph(fabric);
    const auto routes = routes_of_dor(fabric, graph);
    const auto verdict = tables::verify(fabric, graph, routes.lfts, {true});
    EXPECT_EQ(verdict.unreachable, 0U);
    EXPECT_EQ(verdict.credit_loop_channels, 0U);
  }
}

TEST(Dor, PromisesNothingAndRingsDoFormCreditLoops) {
  const auto fabric = fabric::generate(fabric::Grid{{5, 5}, true, 2, 1}).value();
  const fabric::CompactGraph graph(fabric);
  const auto routes = routes_of_dor(fabric, graph);
  EXPECT_FALSE(routes.promises_deadlock_freedom);
  const auto verdict = tables::verify(fabric, graph, routes.lfts);
  EXPECT_EQ(verdict.unreachable, 0U);
  EXPECT_GT(verdict.credit_loop_channels, 0U);
}

TEST(Dor, UsesAllLinksToOneNeighbourAndNoOther) {
  const auto fabric = fabric::generate(fabric::Grid{{3, 3}, false, 4, 2}).value();
  const fabric::CompactGraph graph(fabric);
  const auto tables = routes_of_dor(fabric, graph).lfts;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (fabric::SwitchIndex leaf = 0; leaf < graph.switch_count(); ++leaf) {
      if (s == leaf) continue;
      const auto used = exits(graph, tables, s, leaf);
      ASSERT_EQ(used.size(), 1U) << s << " to " << leaf;
      EXPECT_EQ(used.begin()->second.size(), 2U);
      for (const auto& [port, lids] : used.begin()->second) EXPECT_EQ(lids, 2U);
    }
}

TEST(Dor, FollowsThePortSearchOrder) {
  const auto fabric = fabric::generate(fabric::Grid{{3, 3}, false, 1, 1}).value();
  const fabric::CompactGraph graph(fabric);
  // Indexes are coordinates: 0 is (0,0), 1 is (0,1), 3 is (1,0), 4 is (1,1).
  EXPECT_EQ(exits(graph, routes_of_dor(fabric, graph).lfts, 0, 4).begin()->first, 3U);
  Options options;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (unsigned port = graph.num_ports(s); port > 0; --port)
      options.port_search_order[graph.guid(s)].push_back(static_cast<std::uint8_t>(port));
  const auto routes = routes_of_dor(fabric, graph, options);
  EXPECT_EQ(exits(graph, routes.lfts, 0, 4).begin()->first, 1U);
  EXPECT_EQ(tables::verify(fabric, graph, routes.lfts).credit_loop_channels, 0U);
}

TEST(Dor, TakesShortestPathsOnAnyGraph) {
  fabric::GenerateCommon damaged;
  damaged.missing_links_percent = 10;
  const auto fabric = fabric::generate(fabric::RandomGraph{60, 150, 2}, damaged).value();
  const fabric::CompactGraph graph(fabric);
  const auto tables = routes_of_dor(fabric, graph).lfts;
  for (fabric::SwitchIndex leaf = 0; leaf < graph.switch_count(); ++leaf) {
    const auto hops = tables::least_hops(graph, std::array{leaf});
    for (std::size_t level = 1; level < hops.at.size(); ++level)
      for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        if (hops.at[level][s] == 0) continue;
        const auto used = exits(graph, tables, s, leaf);
        ASSERT_EQ(used.size(), 1U);
        EXPECT_EQ(hops.at[level - 1][used.begin()->first], 1U);
      }
  }
}

}  // namespace
}  // namespace ib::route
