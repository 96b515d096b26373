// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <gtest/gtest.h>

#include <set>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/deadlock/vl_trees.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using fabric::CompactGraph;
using fabric::SwitchIndex;

Request request_with(const fabric::Fabric& fabric, const CompactGraph& graph, unsigned vls) {
  Request request;
  request.fabric = &fabric;
  request.graph = &graph;
  request.vls = vls;
  return request;
}

/// All CAs in one multicast group, along the tree of the rule.
tables::MulticastTables tree_by_rule(const fabric::Fabric& fabric, const CompactGraph& graph,
                                     const MulticastRule& rule) {
  std::vector<SwitchIndex> parent = rule.parent;
  if (parent.empty()) {  // any neighbour that is higher
    parent.assign(graph.switch_count(), fabric::kNoSwitch);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& arc : graph.arcs(s))
        if (rule.up_order[arc.to] < rule.up_order[s]) parent[s] = arc.to;
  }
  std::vector<bool> needed(graph.switch_count(), false);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    if (graph.attached()[s] != 0)
      for (SwitchIndex at = s; at != fabric::kNoSwitch && !needed[at]; at = parent[at])
        needed[at] = true;
  std::map<SwitchIndex, tables::PortMask> masks;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    for (unsigned port = 1; port <= graph.num_ports(s); ++port) {
      const auto peer = fabric.port(graph.node_of(s), port).peer;
      if (peer && !fabric.node(peer.node).is_switch()) masks[s].set(port);
    }
    std::set<SwitchIndex> joined;
    for (const auto& arc : graph.arcs(s))
      if (needed[s] && needed[arc.to] && (parent[s] == arc.to || parent[arc.to] == s) &&
          joined.insert(arc.to).second)
        masks[s].set(arc.out_port);
  }
  return {{Lid{0xC000}, masks}};
}

tables::Verdict expect_safe(const fabric::Fabric& fabric, const CompactGraph& graph,
                            const Routes& routes, unsigned vls) {
  EXPECT_TRUE(routes.promises_deadlock_freedom);
  EXPECT_LE(routes.vls_used, vls);
  const bool claimed = !routes.multicast.up_order.empty();
  tables::MulticastTables trees;
  if (claimed) trees = tree_by_rule(fabric, graph, routes.multicast);
  tables::VerifyOptions options;
  options.credit_loops_are_must = true;
  const auto verdict = tables::verify(fabric, graph, routes.lfts, routes.virtual_lanes,
                                      {&trees, routes.multicast.sl, claimed}, options);
  EXPECT_TRUE(verdict.must_ok()) << (verdict.findings.empty() ? "" : verdict.findings[0].message);
  EXPECT_EQ(verdict.credit_loop_channels, 0U);
  EXPECT_EQ(verdict.asymmetric_pairs, 0U);
  if (claimed) {
    EXPECT_EQ(verdict.multicast, tables::MulticastVerdict::Proved);
  }
  return verdict;
}

tables::Verdict route_by_nue(const fabric::Fabric& fabric, unsigned vls) {
  const CompactGraph graph(fabric);
  const auto routes = nue(request_with(fabric, graph, vls));
  EXPECT_TRUE(routes.has_value());
  return expect_safe(fabric, graph, *routes, vls);
}

fabric::Fabric damaged_kind(const auto& kind, std::uint64_t seed) {
  fabric::GenerateCommon common;
  common.seed = seed;
  common.missing_links_percent = 8;
  return fabric::generate(kind, common).value();
}

TEST(Nue, RoutesWithEveryNumberOfVls) {
  for (unsigned vls = 1; vls <= 8; ++vls) {
    SCOPED_TRACE(vls);
    route_by_nue(fabric::generate(fabric::Grid{{7}, true, 2, 1}).value(), vls);
    route_by_nue(damaged_kind(fabric::Grid{{5, 5}, true, 2, 2}, vls), vls);
    route_by_nue(damaged_kind(fabric::Grid{{3, 4, 3}, true, 1, 1}, vls), vls);
    route_by_nue(damaged_kind(fabric::RandomGraph{24, 60, 2}, vls), vls);
    route_by_nue(damaged_kind(fabric::Kautz{}, vls), vls);
    route_by_nue(damaged_kind(fabric::Dragonfly{}, vls), vls);
    route_by_nue(damaged_kind(fabric::FatTree{6, 3}, vls), vls);
  }
}

TEST(Nue, OneVlCarriesNoMoreThanTheIncumbentPutsOnALink) {
  const auto load = [](const auto& kind) {
    return route_by_nue(fabric::generate(kind).value(), 1).load_max;
  };
  // load_max of opensm 3.3.23's nue with its default of one VL.
  EXPECT_LE(load(fabric::Grid{{12}, true, 3, 1}), 276U);
  EXPECT_LE(load(fabric::Grid{{8, 8}, true, 4, 1}), 3224U);
  EXPECT_LE(load(fabric::Grid{{5, 5, 5}, true, 2, 1}), 2444U);
  EXPECT_LE(load(fabric::Grid{{4, 4, 4}, false, 2, 1}), 1326U);
  EXPECT_LE(load(fabric::Hypercube{7, 2, 1}), 4470U);
  EXPECT_LE(load(fabric::RandomGraph{20, 40, 3}), 237U);
  EXPECT_LE(load(fabric::Dragonfly{}), 248U);
  EXPECT_LE(load(fabric::FatTree{16}), 192U);
}

TEST(Nue, WithEnoughVlsPathsAreShortestAndLoadsEven) {
  const auto verdict = route_by_nue(fabric::generate(fabric::Grid{{5, 5}, true, 2, 1}).value(), 8);
  EXPECT_EQ(verdict.load_max, 60U);  // the floor: 5 x 4 x (25 - 1) / (8 x 5) x 5
  EXPECT_DOUBLE_EQ(verdict.load_mean, 60.0);
}

TEST(Nue, KeepsToTheNumberOfVlsTheOperatorGave) {
  const auto fabric = fabric::generate(fabric::Grid{{6, 5}, true, 1, 1}).value();
  const CompactGraph graph(fabric);
  Request request = request_with(fabric, graph, 8);
  request.options.nue_max_num_vls = 1;
  const auto routes = nue(request).value();
  EXPECT_EQ(routes.vls_used, 1U);
  EXPECT_TRUE(routes.virtual_lanes.trivial());
  expect_safe(fabric, graph, routes, 1);
}

TEST(Nue, EveryPieceOfADisconnectedFabricIsRouted) {
  auto fabric = fabric::generate(fabric::Grid{{4, 6}, true, 1, 1}).value();
  const CompactGraph whole(fabric);
  for (SwitchIndex s = 0; s < whole.switch_count(); ++s)
    for (const auto& arc : whole.arcs(s))
      if ((s % 6 < 3) != (arc.to % 6 < 3)) fabric.disconnect({whole.node_of(s), arc.out_port});
  const CompactGraph graph(fabric);
  for (const unsigned vls : {1U, 3U}) {
    const auto routes = nue(request_with(fabric, graph, vls)).value();
    for (const auto& d : graph.destinations())
      for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        EXPECT_EQ(routes.lfts.at(s, d.lid) != tables::kNoPort, (s % 6 < 3) == (d.leaf % 6 < 3));
  }
}

TEST(Nue, SmallestFabrics) {
  const fabric::Fabric nothing;
  const CompactGraph empty(nothing);
  EXPECT_TRUE(nue(request_with(nothing, empty, 1)).has_value());
  route_by_nue(fabric::generate(fabric::Grid{{1}, false, 3, 1}).value(), 1);
  route_by_nue(fabric::generate(fabric::Grid{{2}, false, 1, 3}).value(), 1);
  route_by_nue(fabric::generate(fabric::Grid{{3}, true, 0, 1}).value(), 1);  // no CA anywhere
}

TEST(Nue, TheSameFabricGivesTheSameRoutes) {
  const auto fabric = damaged_kind(fabric::RandomGraph{30, 80, 3}, 4);
  const CompactGraph graph(fabric);
  const auto first = nue(request_with(fabric, graph, 2)).value();
  for (int i = 0; i < 3; ++i) {
    const auto again = nue(request_with(fabric, graph, 2)).value();
    EXPECT_EQ(again.lfts, first.lfts);
    EXPECT_EQ(again.virtual_lanes, first.virtual_lanes);
  }
}

TEST(VlTrees, SiblingsOfAnEndPortTakeTreesOfTheirOwn) {
  auto fabric = fabric::generate(fabric::Grid{{5, 5}, true, 1, 1}).value();
  std::uint16_t lid = 4;
  for (fabric::NodeIndex n = 0; n < fabric.nodes().size();
       ++n, lid = static_cast<std::uint16_t>(lid + 4)) {
    const bool is_switch = fabric.node(n).is_switch();
    fabric.port(n, is_switch ? 0 : 1).lid = Lid{lid};
    if (!is_switch) fabric.port(n, 1).lmc = 2;
  }
  fabric.reindex();
  const CompactGraph graph(fabric);
  const auto routes = nue(request_with(fabric, graph, 1)).value();
  expect_safe(fabric, graph, routes, 1);
  std::size_t different = 0;
  for (const auto& d : graph.destinations())
    if (!d.is_switch() && d.lid.value % 4 == 0)
      for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        for (std::uint16_t i = 1; i < 4; ++i)
          if (routes.lfts.at(s, Lid{static_cast<std::uint16_t>(d.lid.value + i)}) !=
              routes.lfts.at(s, d.lid))
            ++different;
  EXPECT_GT(different, 0U);
}

TEST(VlTrees, MoreVlsGiveShortestPathsBackToMoreSwitches) {
  const auto fabric = fabric::generate(fabric::RandomGraph{40, 120, 2}).value();
  const CompactGraph graph(fabric);
  const Request request = request_with(fabric, graph, 8);
  const Targets targets(request);
  const auto order = channel_order(Channels(graph), dnup_order(request));
  std::size_t before = 0;
  double load = 1e9;
  for (unsigned virtual_lanes = 2; virtual_lanes <= 8; virtual_lanes += 3) {
    VlTrees trees(request, targets, order);
    trees.grow_all();
    EXPECT_EQ(trees.vls_used(), 1U);
    const double detours = trees.total_load();
    const std::size_t shortened = trees.shorten(virtual_lanes);
    EXPECT_GE(shortened, before);
    EXPECT_LE(trees.total_load(), detours);
    EXPECT_LE(trees.total_load(), load);
    before = shortened;
    load = trees.total_load();
  }
  EXPECT_GT(before, 0U);
}

TEST(VlTrees, GrowingAgainLowersTheGreatestLoad) {
  const auto fabric = fabric::generate(fabric::Grid{{8, 8}, true, 2, 1}).value();
  const CompactGraph graph(fabric);
  const Request request = request_with(fabric, graph, 1);
  const Targets targets(request);
  VlTrees by_order(request, targets, channel_order(Channels(graph), dnup_order(request)));
  VlTrees filled(request, targets);
  for (VlTrees* trees : {&by_order, &filled}) {
    trees->grow_all();
    const double before = trees->greatest_load();
    trees->improve(4);
    EXPECT_LE(trees->greatest_load(), before);
  }
  EXPECT_LT(by_order.greatest_load(), filled.greatest_load());
}

TEST(EscapeTree, LeadsFromEverySwitchToEveryOtherOfItsComponent) {
  const auto fabric = damaged_kind(fabric::RandomGraph{30, 50, 1}, 3);
  const CompactGraph graph(fabric);
  const Request request = request_with(fabric, graph, 1);
  const auto tree = find_escape_tree(graph, Targets(request));
  for (SwitchIndex a = 0; a < graph.switch_count(); ++a)
    for (SwitchIndex b = 0; b < graph.switch_count(); ++b) {
      const auto path = tree.path(a, b);
      EXPECT_EQ(path.front(), a);
      EXPECT_EQ(path.back(), b);
      EXPECT_EQ(std::set(path.begin(), path.end()).size(), path.size());
      for (std::size_t i = 0; i + 1 < path.size(); ++i)
        EXPECT_TRUE(tree.parent[path[i]] == path[i + 1] || tree.parent[path[i + 1]] == path[i]);
    }
}

}  // namespace
}  // namespace ib::route
