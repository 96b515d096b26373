// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/shape/torus_coordinates.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using fabric::CompactGraph;
using fabric::SwitchIndex;
using ::testing::AllOf;
using ::testing::HasSubstr;

fabric::Fabric grid(std::vector<unsigned> sizes, bool wrap = true, unsigned hosts = 1,
                    unsigned cables = 1) {
  return fabric::generate(fabric::Grid{std::move(sizes), wrap, hosts, cables}).value();
}

/// Takes all cables between two switches away.
void cut(fabric::Fabric& fabric, SwitchIndex a, SwitchIndex b) {
  const CompactGraph graph(fabric);
  for (const auto& arc : graph.arcs(a))
    if (arc.to == b) fabric.disconnect({graph.node_of(a), arc.out_port});
}

/// Takes a switch away with its hosts.
void remove_switch(fabric::Fabric& fabric, SwitchIndex s) {
  const fabric::NodeIndex node = CompactGraph(fabric).node_of(s);
  for (unsigned port = 1; port <= fabric.node(node).num_ports; ++port) {
    const fabric::PortRef peer = fabric.port(node, port).peer;
    if (!peer) continue;
    if (!fabric.node(peer.node).is_switch()) fabric.port(peer).lid = kNoLid;
    fabric.disconnect({node, static_cast<std::uint8_t>(port)});
  }
  fabric.port(node, 0).lid = kNoLid;
  fabric.reindex();
}

Result<Routes> route(const fabric::Fabric& fabric, const CompactGraph& graph, unsigned vls = 8,
                     const std::optional<TorusConfig>& config = std::nullopt) {
  Request request;
  request.fabric = &fabric;
  request.graph = &graph;
  request.options.torus = config;
  request.vls = vls;
  return torus_2qos(request);
}

/// All switches in one tree, as the rule has it.
tables::MulticastTables whole_tree(const fabric::Fabric& fabric, const CompactGraph& graph,
                                   const MulticastRule& rule) {
  std::map<SwitchIndex, tables::PortMask> masks;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    for (unsigned port = 1; port <= graph.num_ports(s); ++port) {
      const auto peer = fabric.port(graph.node_of(s), port).peer;
      if (peer && !fabric.node(peer.node).is_switch()) masks[s].set(port);
    }
    std::set<SwitchIndex> joined;  // one of parallel cables, the same seen from both ends
    for (const auto& arc : graph.arcs(s))
      if ((rule.parent[s] == arc.to || rule.parent[arc.to] == s) && joined.insert(arc.to).second)
        masks[s].set(arc.out_port);
  }
  return {{Lid{0xC000}, masks}};
}

/// Everything arrives, nothing can deadlock, the multicast tree included.
tables::Verdict expect_sound(const fabric::Fabric& fabric, unsigned vls = 8,
                             const std::optional<TorusConfig>& config = std::nullopt) {
  const CompactGraph graph(fabric);
  const auto routes = route(fabric, graph, vls, config);
  EXPECT_TRUE(routes.has_value()) << routes.error().message;
  if (!routes) return {};
  EXPECT_TRUE(routes->promises_deadlock_freedom);
  EXPECT_LE(routes->vls_used, vls);
  EXPECT_FALSE(routes->multicast.parent.empty());
  const auto trees = whole_tree(fabric, graph, routes->multicast);
  tables::VerifyOptions options;
  options.credit_loops_are_must = true;
  auto verdict = tables::verify(fabric, graph, routes->lfts, routes->virtual_lanes,
                                {&trees, routes->multicast.sl, true}, options);
  EXPECT_TRUE(verdict.must_ok()) << (verdict.findings.empty() ? "" : verdict.findings[0].message);
  EXPECT_EQ(verdict.credit_loop_channels, 0U);
  EXPECT_EQ(verdict.asymmetric_pairs, 0U);
  EXPECT_EQ(verdict.multicast, tables::MulticastVerdict::Proved);
  return verdict;
}

std::multiset<unsigned> radices(const fabric::Fabric& fabric, Squares squares = Squares::Lines) {
  const auto torus = find_torus(CompactGraph(fabric), std::nullopt, squares);
  EXPECT_TRUE(torus.has_value()) << torus.error().message;
  std::multiset<unsigned> radices;
  if (torus)
    for (const auto& axis : torus->axes) radices.insert(axis.radix);
  return radices;
}

using Radices = std::multiset<unsigned>;

TEST(TorusCoordinates, AreFoundFromLinksAlone) {
  EXPECT_EQ(radices(grid({5, 6, 7})), (Radices{5, 6, 7}));
  EXPECT_EQ(radices(grid({5, 6, 7}, false)), (Radices{5, 6, 7}));
  EXPECT_EQ(radices(grid({3, 3, 3})), (Radices{3, 3, 3}));
  EXPECT_EQ(radices(grid({2, 3, 5})), (Radices{2, 3, 5}));
  EXPECT_EQ(radices(grid({9, 3})), (Radices{1, 3, 9}));
  EXPECT_EQ(radices(grid({7})), (Radices{1, 1, 7}));
  EXPECT_EQ(radices(grid({2})), (Radices{1, 1, 2}));
  EXPECT_EQ(radices(grid({1})), (Radices{1, 1, 1}));
  EXPECT_EQ(radices(grid({4, 4, 4}, false)), (Radices{4, 4, 4}));
}

TEST(TorusCoordinates, ARingOfFourIsAlsoTwoLinesOfTwo) {
  EXPECT_EQ(radices(grid({4, 5})), (Radices{2, 2, 5}));
  EXPECT_EQ(radices(grid({4, 5}), Squares::Rings), (Radices{1, 4, 5}));
  EXPECT_EQ(radices(grid({4, 4, 4})), (Radices{4, 4, 4}));  // six lines are too many
  EXPECT_EQ(radices(grid({4, 4})), (Radices{2, 2, 4}));
}

TEST(Torus2Qos, RefusalsGiveNameAndGuid) {
  auto apart = grid({6}, false);
  cut(apart, 2, 3);
  auto broken = grid({5, 5});
  cut(broken, 0, 1);
  cut(broken, 2, 3);
  for (const auto& f : {fabric::generate(fabric::FatTree{}).value(), apart, broken,
                        fabric::generate(fabric::RandomGraph{12, 30, 1}).value(),
                        fabric::generate(fabric::HyperX{{5, 4}, 3, 1}).value()}) {
    const auto routes = route(f, CompactGraph(f));
    ASSERT_FALSE(routes.has_value());
    EXPECT_THAT(routes.error().message, ::testing::ContainsRegex("switch '[^']+' .0x"));
  }
}

TEST(TorusCoordinates, SurviveDamage) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    fabric::GenerateCommon damaged;
    damaged.seed = seed;
    damaged.missing_links_percent = 3;
    EXPECT_EQ(radices(fabric::generate(fabric::Grid{{5, 6, 5}}, damaged).value()),
              (Radices{5, 5, 6}))
        << seed;
    damaged.missing_links_percent = 0;
    damaged.missing_switches_percent = 1;
    EXPECT_EQ(radices(fabric::generate(fabric::Grid{{8, 8}}, damaged).value()), (Radices{1, 8, 8}))
        << seed;
  }
}

TEST(TorusCoordinates, OtherGraphsAreRefusedByName) {
  const auto tree = fabric::generate(fabric::FatTree{}).value();
  const auto of_tree = find_torus(CompactGraph(tree), std::nullopt);
  ASSERT_FALSE(of_tree.has_value());
  EXPECT_THAT(of_tree.error().message, AllOf(HasSubstr("switch 0x"), HasSubstr("neighbours")));

  const auto star = fabric::generate(fabric::FatTree{4, 2, 2, 4, 2}).value();
  EXPECT_FALSE(find_torus(CompactGraph(star), std::nullopt).has_value());

  auto apart = grid({6}, false);
  cut(apart, 2, 3);
  const auto pieces = find_torus(CompactGraph(apart), std::nullopt);
  ASSERT_FALSE(pieces.has_value());
  EXPECT_THAT(pieces.error().message, HasSubstr("cannot be reached from switch 0x"));
}

// Indexes of the generator's switches: the last coordinate is the fastest.
TorusConfig config_5x4x3(const CompactGraph& graph, SwitchIndex corner = 0) {
  const auto at = [&](unsigned x, unsigned y, unsigned z) {
    const unsigned cx = corner / 12, cy = corner / 3 % 4, cz = corner % 3;
    return graph.guid(((cx + x) % 5 * 4 + (cy + y) % 4) * 3 + (cz + z) % 3);
  };
  TorusConfig config;
  config.file = "torus-2QoS.conf";
  config.radix = {5, 4, 3};
  TorusConfig::Seed seed;
  seed.plus = {TorusConfig::Link{at(0, 0, 0), at(1, 0, 0), 2},
               TorusConfig::Link{at(0, 0, 0), at(0, 1, 0), 3},
               TorusConfig::Link{at(0, 0, 0), at(0, 0, 1), 4}};
  seed.minus[1] = TorusConfig::Link{at(0, 0, 0), at(0, 3, 0), 5};
  config.seeds = {seed};
  return config;
}

TEST(TorusCoordinates, FollowTheSeedOfAConfiguration) {
  const auto fabric = grid({5, 4, 3});
  const CompactGraph graph(fabric);
  const auto torus = find_torus(graph, config_5x4x3(graph));
  ASSERT_TRUE(torus.has_value()) << torus.error().message;
  for (unsigned x = 0; x < 5; ++x)
    for (unsigned y = 0; y < 4; ++y)
      for (unsigned z = 0; z < 3; ++z) EXPECT_EQ(torus->at({x, y, z}), (x * 4 + y) * 3 + z);
}

TEST(TorusCoordinates, ASecondSeedWithDatelinesGivesTheSamePlaces) {
  auto fabric = grid({5, 4, 3});
  const CompactGraph whole(fabric);
  auto config = config_5x4x3(whole);
  const SwitchIndex second = (3 * 4 + 2) * 3 + 1;  // (3,2,1)
  config.seeds.push_back(config_5x4x3(whole, second).seeds[0]);
  config.seeds[1].dateline = {-3, -2, 2};
  remove_switch(fabric, 0);
  const CompactGraph graph(fabric);
  const auto torus = find_torus(graph, config);
  ASSERT_TRUE(torus.has_value()) << torus.error().message;
  EXPECT_EQ(torus->at({0, 0, 0}), fabric::kNoSwitch);
  for (SwitchIndex s = 1; s < graph.switch_count(); ++s)
    EXPECT_EQ(torus->of_switch[s], (TorusCoordinates::Place{s / 12, s / 3 % 4, s % 3}));
}

TEST(TorusCoordinates, AWrongConfigurationIsAnErrorWithItsLine) {
  const auto fabric = grid({5, 4, 3});
  const CompactGraph graph(fabric);
  const auto complaint = [&](auto change) {
    auto config = config_5x4x3(graph);
    change(config);
    const auto torus = find_torus(graph, config);
    EXPECT_FALSE(torus.has_value());
    return torus ? std::string() : torus.error().message;
  };
  EXPECT_THAT(complaint([](auto& c) { c.seeds[0].plus[0]->to = Guid{0x77}; }),
              AllOf(HasSubstr("torus-2QoS.conf: line 2"), HasSubstr("0x0000000000000077")));
  EXPECT_THAT(complaint([&](auto& c) { c.seeds[0].plus[2]->to = graph.guid(24); }),
              HasSubstr("line 4: there is no link"));
  EXPECT_THAT(complaint([](auto& c) { c.radix[0] = 6; }),
              AllOf(HasSubstr("conf: line 2: "), HasSubstr("a torus of 6")));
  EXPECT_THAT(complaint([](auto& c) { c.mesh[2] = true; }),
              AllOf(HasSubstr("conf: line 4: "), HasSubstr("a mesh of 3")));
  EXPECT_THAT(complaint([](auto& c) { c.seeds[0].plus[2].reset(); }),
              HasSubstr("conf: line 2: axis z has no seed link"));
  EXPECT_THAT(complaint([](auto& c) { c.seeds.clear(); }), HasSubstr("conf: line 1: no seed link"));
  EXPECT_THAT(complaint([](auto& c) { std::swap(c.seeds[0].plus[1], c.seeds[0].plus[2]); }),
              HasSubstr("switch 0x"));
}

TEST(Torus2Qos, IsMinimalAndFreeOfCreditLoopsWhole) {
  for (const auto& sizes : std::vector<std::vector<unsigned>>{
           {3}, {5}, {8}, {3, 3}, {4, 4}, {6, 5}, {2, 6}, {2, 2, 5}, {3, 4, 5}, {4, 4, 4}}) {
    for (const bool wrap : {true, false}) expect_sound(grid(sizes, wrap));
  }
  expect_sound(grid({1}));
  expect_sound(grid({2}));
}

TEST(Torus2Qos, LoadsOfEvenRingsComeNearTheFloor) {
  // Radix 8: 8 routes a host pair and link at least; first axes reach it, the last 9.
  const auto verdict = expect_sound(grid({8, 8}, true, 2));
  EXPECT_EQ(verdict.load_max, 9U * 4 * 8);
  EXPECT_EQ(verdict.load_mean, 8.0 * 4 * 8);
}

TEST(Torus2Qos, TwoVlsDoForAWholeTorusAndFourForAMissingSwitch) {
  auto fabric = grid({6, 5});
  expect_sound(fabric, 2);
  const CompactGraph whole(fabric);
  const auto one = route(fabric, whole, 1);
  ASSERT_FALSE(one.has_value());
  EXPECT_THAT(one.error().message, AllOf(HasSubstr("needs 4 data VLs"), HasSubstr("switch 'sw-")));
  expect_sound(grid({6, 5}, false), 1);
  remove_switch(fabric, 13);
  expect_sound(fabric, 4);
  EXPECT_FALSE(route(fabric, CompactGraph(fabric), 2).has_value());
}

TEST(Torus2Qos, RoutesRoundAnyMissingSwitchWithoutChangingSls) {
  const auto whole = grid({5, 4, 3});
  const CompactGraph whole_graph(whole);
  const auto config = config_5x4x3(whole_graph);
  auto config_elsewhere = config;
  config_elsewhere.seeds = {config_5x4x3(whole_graph, 43).seeds[0]};
  config_elsewhere.seeds[0].dateline = {-3, -2, -1};
  const auto before = route(whole, whole_graph, 8, config).value();
  for (SwitchIndex gone = 0; gone < whole_graph.switch_count(); gone += 7) {
    auto fabric = whole;
    remove_switch(fabric, gone);
    const auto& seed = gone < 20 ? config_elsewhere : config;
    expect_sound(fabric, 8, seed);
    const CompactGraph graph(fabric);
    const auto after = route(fabric, graph, 8, seed).value();
    for (SwitchIndex a = 0; a < graph.switch_count(); ++a)
      for (SwitchIndex b = 0; b < graph.switch_count(); ++b)
        if (a != gone && b != gone) {
          ASSERT_EQ(after.virtual_lanes.sls.at(a, b), before.virtual_lanes.sls.at(a, b));
        }
  }
}

TEST(Torus2Qos, GoesTheLongWayRoundABrokenRing) {
  auto fabric = grid({6, 5}, true, 1, 2);
  const CompactGraph whole(fabric);
  fabric.disconnect({whole.node_of(7), whole.arcs(7)[0].out_port});  // one of two cables
  expect_sound(fabric);
  cut(fabric, 7, 12);
  cut(fabric, 22, 23);
  expect_sound(fabric);
  // A second break in the same ring cuts it in two.
  cut(fabric, 22, 21);
  const auto cut_off = route(fabric, CompactGraph(fabric));
  ASSERT_FALSE(cut_off.has_value());
  EXPECT_THAT(cut_off.error().message, HasSubstr("no way from switch 'sw-"));
}

TEST(Torus2Qos, PortOrderSaysWhichEndPortTakesWhichCable) {
  const auto fabric = grid({5, 5}, true, 4, 2);
  const CompactGraph graph(fabric);
  TorusConfig config;
  config.radix = {5, 5, 1};
  config.seeds.emplace_back();
  config.seeds[0].plus[0] = TorusConfig::Link{graph.guid(0), graph.guid(5), 2};
  config.seeds[0].plus[1] = TorusConfig::Link{graph.guid(0), graph.guid(1), 3};
  const auto plain = route(fabric, graph, 8, config).value();
  std::vector<std::pair<std::uint8_t, Lid>> ends;  // of switch 12
  for (const auto& d : graph.destinations())
    if (d.leaf == 12 && !d.is_switch()) ends.emplace_back(d.port, d.lid);
  std::sort(ends.begin(), ends.end());
  ASSERT_EQ(ends.size(), 4U);
  config.port_order = {ends[3].first, ends[1].first, ends[0].first};
  const auto ordered = route(fabric, graph, 8, config).value();
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    if (s == 12) continue;
    // The first dealt is the one listed first, and so on; who is not listed comes last.
    EXPECT_EQ(ordered.lfts.at(s, ends[3].second), plain.lfts.at(s, ends[0].second));
    EXPECT_EQ(ordered.lfts.at(s, ends[1].second), plain.lfts.at(s, ends[1].second));
    EXPECT_EQ(ordered.lfts.at(s, ends[0].second), plain.lfts.at(s, ends[2].second));
    EXPECT_EQ(ordered.lfts.at(s, ends[2].second), plain.lfts.at(s, ends[3].second));
  }
  expect_sound(fabric, 8, config);
}

TEST(Torus2Qos, RowsOfTheSecondLevelOfServiceAreTheFirstFourVlsUp) {
  const auto fabric = grid({5, 5});
  const CompactGraph graph(fabric);
  const auto routes = route(fabric, graph).value();
  const auto& rows = routes.virtual_lanes.sl_to_vl;
  for (unsigned sl = 0; sl < 8; ++sl) {
    EXPECT_EQ(rows.injection().vl[sl], 0);
    EXPECT_EQ(rows.injection().vl[sl + 8], 1);
  }
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& out : graph.arcs(s))
      for (unsigned in = 1; in <= graph.num_ports(s); ++in) {
        const auto& row = rows.row(s, static_cast<std::uint8_t>(in), out.out_port);
        for (unsigned sl = 0; sl < 8; ++sl) ASSERT_EQ(row.vl[sl + 8], row.vl[sl] + 4);
      }
  const auto four = route(fabric, graph, 4).value();
  EXPECT_EQ(four.virtual_lanes.sl_to_vl.injection(), tables::SlToVlRow{});
}

}  // namespace
}  // namespace ib::route
