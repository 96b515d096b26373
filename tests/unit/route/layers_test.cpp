// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// sssp, dfsssp and lash: shortest, even, and with layers free of cycles.
#include "libdiag/route/deadlock/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/multicast/multicast.h"
#include "libdiag/route/reroute/what_if.h"
#include "libdiag/tables/verify.h"
#include "tests/unit/tables/judge.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;
using ::testing::HasSubstr;

struct LayersCase {
  explicit LayersCase(fabric::Fabric f) : fabric(std::move(f)), graph(fabric) {}
  Request request(unsigned vls = 8) const { return {&fabric, &graph, {}, nullptr, vls}; }
  tables::Verdict judge(const Routes& routes) const {
    tables::VerifyOptions options;
    options.credit_loops_are_must = routes.promises_deadlock_freedom;
    return tables::verify(fabric, graph, routes.lfts, routes.virtual_lanes, {}, options);
  }

  fabric::Fabric fabric;
  fabric::CompactGraph graph;
};

/// A kind of each sort, small, whole or with parts missing.
std::vector<LayersCase> cases_of_each_kind(const fabric::GenerateCommon& common) {
  fabric::FatTree tree;
  tree.radix = 8;
  tree.levels = 3;
  std::vector<LayersCase> cases;
  for (auto&& made :
       {fabric::generate(tree, common), fabric::generate(fabric::Grid{{4, 5, 3}}, common),
        fabric::generate(fabric::Grid{{6, 6}, true, 2, 2}, common),
        fabric::generate(fabric::Grid{{3, 4, 5}, false, 1, 1}, common),
        fabric::generate(fabric::Hypercube{5, 1, 1}, common),
        fabric::generate(fabric::HyperX{{5, 4}, 3, 1}, common),
        fabric::generate(fabric::Dragonfly{}, common),
        fabric::generate(fabric::DragonflyPlus{}, common),
        fabric::generate(fabric::Kautz{3, 3, 2, 1}, common),
        fabric::generate(fabric::RandomGraph{40, 90, 3}, common)})
    cases.emplace_back(made.value());
  return cases;
}

/// Every entry leads one hop nearer, and there is one exactly where there is a way.
void expect_least_hops(const LayersCase& c, const tables::LinearTables& tables) {
  for (const auto& destination : c.graph.destinations()) {
    const auto hops = tables::least_hops(c.graph, std::array{destination.leaf});
    std::vector<unsigned> distance(c.graph.switch_count(), ~0U);
    for (unsigned d = 0; d < hops.at.size(); ++d)
      for (SwitchIndex s = 0; s < c.graph.switch_count(); ++s)
        if (hops.at[d][s] != 0) distance[s] = d;
    for (SwitchIndex s = 0; s < c.graph.switch_count(); ++s) {
      const std::uint8_t port = tables.at(s, destination.lid);
      if (distance[s] == 0) {
        ASSERT_EQ(port, destination.port);
      } else if (distance[s] == ~0U) {
        ASSERT_EQ(port, tables::kNoPort);
      } else {
        const auto to = c.graph.switch_of(c.fabric.port(c.graph.node_of(s), port).peer.node);
        ASSERT_EQ(distance[to] + 1, distance[s]);
      }
    }
  }
}

TEST(Layered, EnginesAreMinimalAndFreeOfCreditLoopsOnEveryKindOfFabric) {
  for (const std::uint64_t seed : {1U, 2U}) {
    for (const double missing : {0.0, 5.0, 10.0}) {
      fabric::GenerateCommon common;
      common.seed = seed;
      common.missing_links_percent = missing;
      common.missing_hosts_percent = missing;
      for (const LayersCase& c : cases_of_each_kind(common)) {
        for (const auto engine : {sssp, dfsssp, lash}) {
          const auto routes = engine(c.request(15));
          ASSERT_TRUE(routes.has_value()) << routes.error().message;
          expect_least_hops(c, routes->lfts);
          const auto verdict = c.judge(*routes);
          EXPECT_TRUE(verdict.must_ok())
              << routes->engine << ", " << c.graph.switch_count() << " switches: "
              << (verdict.findings.empty() ? "" : verdict.findings.front().message);
          EXPECT_EQ(verdict.asymmetric_pairs, 0U);
          EXPECT_LE(verdict.vls, routes->vls_used);
          EXPECT_EQ(routes->promises_deadlock_freedom, routes->engine != "sssp");
        }
      }
    }
  }
}

TEST(Layered, EightVlsDoOnALargeTorus) {
  const LayersCase c(fabric::generate(fabric::Grid{{8, 8, 8}, true, 4, 1}).value());
  for (const auto engine : {dfsssp, lash}) {
    const auto routes = engine(c.request(8));
    ASSERT_TRUE(routes.has_value()) << routes.error().message;
    EXPECT_LE(routes->vls_used, 8);
    const auto verdict = c.judge(*routes);
    EXPECT_TRUE(verdict.must_ok());
    EXPECT_LE(verdict.load_max, 9216U);  // the floor is 8,192
    // No VL carries much more than its share.
    std::vector<std::size_t> pairs(8, 0);
    for (SwitchIndex a = 0; a < 512; ++a)
      for (SwitchIndex b = 0; b < a; ++b) ++pairs[routes->virtual_lanes.sls.at(a, b).value];
    for (const std::size_t n : pairs) EXPECT_LT(n, 2 * 512 * 511 / 2 / 8);
  }
}

TEST(Layered, EightVlsDoOnDamagedTori) {
  fabric::GenerateCommon common;
  common.missing_links_percent = 1;
  common.missing_switches_percent = 0.5;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    common.seed = seed;
    const LayersCase c(fabric::generate(fabric::Grid{{6, 6, 6}, true, 2, 1}, common).value());
    for (const auto engine : {dfsssp, lash}) {
      const auto routes = engine(c.request(8));
      ASSERT_TRUE(routes.has_value()) << seed << ": " << routes.error().message;
      EXPECT_TRUE(c.judge(*routes).must_ok());
    }
  }
}

/// The floor is 8,192. What fits no layer by the ways of all takes others, so that the order of
/// dimensions need not be given up for all.
TEST(Layered, EightVlsDoOnALargeTorusWithLinksMissing) {
  for (const auto& [percent, load] :
       {std::pair(2.0, 17'000U), std::pair(3.0, 20'000U), std::pair(5.0, 23'000U)}) {
    fabric::GenerateCommon common;
    common.missing_links_percent = percent;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      common.seed = seed;
      const LayersCase c(fabric::generate(fabric::Grid{{8, 8, 8}, true, 4, 1}, common).value());
      const auto routes = dfsssp(c.request(8));
      ASSERT_TRUE(routes.has_value()) << percent << ", " << seed << ": " << routes.error().message;
      const auto verdict = c.judge(*routes);
      EXPECT_TRUE(verdict.must_ok());
      EXPECT_EQ(verdict.asymmetric_pairs, 0U);
      EXPECT_LT(verdict.load_max, load) << percent << ", " << seed;
    }
  }
}

/// A pair leaves its layer where that would have a cycle, and nowhere else.
TEST(Layered, PathsToSwitchesCloseNoLoopWhereVlsAreFree) {
  fabric::FatTree tree;
  tree.radix = 8;
  tree.levels = 3;
  std::size_t on_further_vls = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    fabric::GenerateCommon common;
    common.seed = seed;
    common.missing_links_percent = 8;
    const LayersCase c(fabric::generate(tree, common).value());
    for (const auto engine : {dfsssp, lash, dfp}) {
      Request request = c.request(8);
      const auto routes = engine(request).value();
      EXPECT_EQ(c.judge(routes).switch_turns_refused, 0U) << routes.engine << ' ' << seed;
      EXPECT_THAT(routes.notes, ::testing::IsEmpty()) << routes.engine << ' ' << seed;
      request.previous_sls = &routes.virtual_lanes.sls;
      const auto again = engine(request).value();
      EXPECT_EQ(c.judge(again).switch_turns_refused, 0U) << routes.engine << ' ' << seed;
      if (routes.vls_used > 1) ++on_further_vls;
    }
  }
  EXPECT_GT(on_further_vls, 4U);  // dfsssp always uses all
}

TEST(Layered, PairsKeepTheirSls) {
  const fabric::Fabric whole = fabric::generate(fabric::Grid{{4, 5, 3}, true, 1, 1}).value();
  const LayersCase before(whole);
  for (const auto engine : {dfsssp, lash, nue}) {
    const auto first = engine(before.request(8)).value();
    std::size_t kept = 0, pairs = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
      fabric::Fabric f = whole;
      ASSERT_TRUE(take_away(f, {{}, 2, seed}).has_value());
      const LayersCase after(std::move(f));
      Request request = after.request(8);
      request.previous_sls = &first.virtual_lanes.sls;
      const auto routes = engine(request).value();
      EXPECT_TRUE(after.judge(routes).must_ok());
      const auto moved =
          moved_pairs(after.graph, first.virtual_lanes.sls, routes.virtual_lanes.sls);
      kept += moved.size();
      pairs += 60 * 59 / 2;
      // Together with what connections send on the SLs of before, nothing closes a loop unless
      // pairs had to move.
      tables::VerifyOptions both;
      both.credit_loops_are_must = true;
      both.earlier_sls = &first.virtual_lanes.sls;
      const auto verdict =
          tables::verify(after.fabric, after.graph, routes.lfts, routes.virtual_lanes, {}, both);
      EXPECT_TRUE(verdict.must_ok() || !moved.empty());
    }
    EXPECT_LT(kept * 20, pairs);
  }
}

TEST(Layered, WhereOneLayerHoldsAllPairsKeepAnySl) {
  fabric::FatTree kind;
  kind.radix = 8;
  const LayersCase c(fabric::generate(kind).value());
  tables::PathSls sls(c.graph.switch_count(), Sl{0});
  for (SwitchIndex a = 0; a < c.graph.switch_count(); ++a)
    for (SwitchIndex b = 0; b <= a; ++b) sls.set(a, b, Sl{static_cast<std::uint8_t>((a * b) % 3)});
  Request request = c.request(8);
  request.previous_sls = &sls;
  for (const auto engine : {dfsssp, lash}) {
    const auto routes = engine(request).value();
    EXPECT_TRUE(c.judge(routes).must_ok());
    EXPECT_THAT(moved_pairs(c.graph, sls, routes.virtual_lanes.sls), ::testing::IsEmpty());
  }
}

TEST(Layered, TheMixtureWithSlsOfBeforeIsPartOfTheProof) {
  const LayersCase c(fabric::generate(fabric::Grid{{6}, true, 2, 1}).value());
  const auto routes = dfsssp(c.request(8)).value();
  EXPECT_EQ(c.judge(routes).credit_loop_channels, 0U);
  tables::VerifyOptions both;
  for (const bool mixed : {false, true}) {
    const tables::PathSls earlier(mixed ? Sl{0} : tables::kNoSl);
    both.earlier_sls = &earlier;
    const auto verdict =
        tables::verify(c.fabric, c.graph, routes.lfts, routes.virtual_lanes, {}, both);
    EXPECT_EQ(verdict.credit_loop_channels != 0, mixed);
  }
}

TEST(Layered, MakesRoomForTheLastPairs) {
  // Two rings: four layers by the rule for grids; three if layers are emptied and filled again.
  const LayersCase c(fabric::generate(fabric::Grid{{6, 6}, true, 2, 1}).value());
  const auto routes = lash(c.request(3));
  ASSERT_TRUE(routes.has_value()) << routes.error().message;
  EXPECT_TRUE(c.judge(*routes).must_ok());
}

TEST(Layered, FullTreesNeedOneLayerAndAreLoadedEvenly) {
  fabric::FatTree kind;
  kind.radix = 12;
  kind.levels = 3;  // 432 endpoints
  const LayersCase c(fabric::generate(kind).value());
  const auto alone = lash(c.request(8)).value();
  EXPECT_EQ(alone.vls_used, 1);
  EXPECT_TRUE(alone.virtual_lanes.trivial());
  for (const auto engine : {sssp, dfsssp}) {
    const auto routes = engine(c.request(8)).value();
    const auto verdict = c.judge(routes);
    EXPECT_EQ(verdict.load_max, 432U - 6);
    EXPECT_EQ(verdict.credit_loop_channels, 0U);
    EXPECT_EQ(routes.vls_used, routes.engine == "dfsssp" ? 8 : 1);
  }
}

TEST(Layered, LidsOfALeafTakeTheirOwnWaysThoughEverySwitchOfATreeHasAHost) {
  const LayersCase c(fabric::generate_superpod_like().value());
  const auto routes = dfsssp(c.request(8)).value();
  EXPECT_LE(c.judge(routes).load_max, 730U);  // sssp's is 727
}

TEST(Layered, LoadsNoLinkMoreThanTheIncumbentOnRealFabrics) {
  // load_max of opensm's sssp on the same files.
  for (const auto& path : judge::real_fabrics()) {
    const LayersCase c(fabric::read_topology_file(path).value());
    const std::string name = path.filename();
    const std::uint64_t incumbent = name == "janus-qdr-1356.topo" ? 3276
                                    : name == "dgx-ndr-582.topo"  ? 985
                                                                  : ~std::uint64_t{0};
    for (const auto engine : {sssp, dfsssp}) {
      const auto routes = engine(c.request(8)).value();
      const auto verdict = c.judge(routes);
      EXPECT_TRUE(verdict.must_ok()) << name;
      EXPECT_LE(verdict.load_max, incumbent) << name << ' ' << routes.engine;
    }
  }
}

TEST(Layered, TooFewVlsAreAnErrorThatNamesASwitch) {
  const LayersCase c(fabric::generate(fabric::Grid{{7}, true, 1, 1}).value());
  for (const auto engine : {dfsssp, lash}) {
    const auto routes = engine(c.request(1));
    ASSERT_FALSE(routes.has_value());
    EXPECT_THAT(routes.error().message, HasSubstr("needs at least 2 VLs"));
    EXPECT_THAT(routes.error().message, HasSubstr("switch 'sw-"));
    EXPECT_TRUE(engine(c.request(2)).has_value());
  }
}

TEST(Lash, StartsAtTheVlItIsToldTo) {
  const LayersCase c(fabric::generate(fabric::Grid{{7}, true, 1, 1}).value());
  auto request = c.request(4);
  request.options.lash_start_vl = 2;
  const auto routes = lash(request).value();
  EXPECT_EQ(routes.vls_used, 4);
  std::set<unsigned> sls;
  for (SwitchIndex a = 0; a < 7; ++a)
    for (SwitchIndex b = 0; b < 7; ++b) sls.insert(routes.virtual_lanes.sls.at(a, b).value);
  EXPECT_EQ(sls, (std::set<unsigned>{2, 3}));
  EXPECT_TRUE(c.judge(routes).must_ok());
  request.options.lash_start_vl = 3;
  EXPECT_FALSE(lash(request).has_value());
  request.options.lash_start_vl = 9;
  EXPECT_FALSE(lash(request).has_value());
}

TEST(Lash, UsesParallelLinksEvenly) {
  const LayersCase c(fabric::generate(fabric::Grid{{3, 3}, true, 4, 4}).value());
  const auto routes = lash(c.request()).value();
  const auto verdict = c.judge(routes);
  EXPECT_DOUBLE_EQ(static_cast<double>(verdict.load_max), verdict.load_mean);
}

TEST(Layered, EveryPartOfADisconnectedFabricIsRouted) {
  auto fabric = fabric::generate(fabric::Grid{{6}, false, 2, 1}).value();  // a chain, cut
  const fabric::CompactGraph whole(fabric);
  for (const auto& arc : whole.arcs(2))
    if (arc.to == 3) fabric.disconnect({whole.node_of(2), arc.out_port});
  const LayersCase c(std::move(fabric));
  for (const auto engine : {sssp, dfsssp, lash})
    expect_least_hops(c, engine(c.request()).value().lfts);
}

TEST(Layered, SwitchesWithoutALinkServeTheirOwnHosts) {
  auto fabric = fabric::generate(fabric::Grid{{2}, false, 3, 1}).value();
  const fabric::CompactGraph whole(fabric);
  fabric.disconnect({whole.node_of(0), whole.arcs(0)[0].out_port});
  const LayersCase c(std::move(fabric));
  for (const auto engine : {sssp, dfsssp, lash})
    expect_least_hops(c, engine(c.request()).value().lfts);
}

TEST(Layered, NothingIsRoutedWhereThereIsNothing) {
  const LayersCase none{fabric::Fabric()};
  const LayersCase one(fabric::generate(fabric::HyperX{{1, 2}, 0, 1}).value());  // no hosts
  for (const auto engine : {sssp, dfsssp, lash}) {
    EXPECT_TRUE(engine(none.request()).has_value());
    EXPECT_TRUE(engine(one.request()).has_value());
  }
}

TEST(Layered, TheSameFabricGivesTheSameRoutes) {
  const LayersCase c(fabric::generate(fabric::RandomGraph{60, 160, 4}).value());
  for (const auto engine : {sssp, dfsssp, lash}) {
    const auto first = engine(c.request()).value();
    for (int i = 0; i < 3; ++i) {
      const auto again = engine(c.request()).value();
      EXPECT_EQ(again.lfts, first.lfts);
      EXPECT_EQ(again.virtual_lanes, first.virtual_lanes);
    }
  }
}

/// LMC 2 everywhere.
fabric::Fabric with_lmc(fabric::Fabric fabric) {
  std::uint16_t lid = 4;
  for (fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    auto& port = fabric.port(n, fabric.node(n).is_switch() ? 0 : 1);
    port.lid = Lid{lid};
    if (!fabric.node(n).is_switch()) port.lmc = 2;
    lid = static_cast<std::uint16_t>(lid + 4);
  }
  fabric.reindex();
  return fabric;
}

TEST(Layered, SiblingsOfAnEndPortTakeDifferentWays) {
  fabric::FatTree kind;
  kind.radix = 8;
  const LayersCase c(with_lmc(fabric::generate(kind).value()));
  for (const auto engine : {sssp, dfsssp, lash}) {
    const auto routes = engine(c.request()).value();
    expect_least_hops(c, routes.lfts);
    EXPECT_TRUE(c.judge(routes).must_ok());
    for (const auto& d : c.graph.destinations()) {
      if (d.is_switch() || d.lid.value % 4 != 0) continue;
      for (SwitchIndex s = 0; s < c.graph.switch_count(); ++s) {
        if (s == d.leaf || c.graph.attached()[s] == 0) continue;
        std::set<SwitchIndex> spines;  // four uplinks to four spines, four LIDs
        for (std::uint16_t i = 0; i < 4; ++i) {
          const auto out = routes.lfts.at(s, Lid{static_cast<std::uint16_t>(d.lid.value + i)});
          spines.insert(c.graph.switch_of(c.fabric.port(c.graph.node_of(s), out).peer.node));
        }
        EXPECT_EQ(spines.size(), 4U) << routes.engine << " switch " << s << " LID " << d.lid.value;
      }
    }
  }
}

TEST(Sssp, ALinkOfTwiceTheSpeedCarriesTwiceAsMuch) {
  // Two switches, two cables of which one is faster.
  fabric::GenerateCommon common;
  auto fabric = fabric::generate(fabric::Grid{{2}, false, 60, 2}, common).value();
  const fabric::CompactGraph plain(fabric);
  for (SwitchIndex s : {0U, 1U})
    fabric.port(plain.node_of(s), plain.arcs(s)[0].out_port).width = wire::LinkWidth::W8x;
  const LayersCase c(std::move(fabric));
  auto request = c.request();
  for (const bool capacity : {true, false}) {
    request.options.link_capacity = capacity;
    const auto routes = sssp(request).value();
    unsigned fast = 0, slow = 0;
    for (const auto& d : c.graph.destinations()) {
      if (d.is_switch() || d.leaf != 1) continue;
      const auto port = routes.lfts.at(0, d.lid);
      ++(port == c.graph.arcs(0)[0].out_port ? fast : slow);
    }
    EXPECT_EQ(fast, capacity ? 40U : 30U);
    EXPECT_EQ(slow, capacity ? 20U : 30U);
  }
}

TEST(Sssp, WhatIsStillMinimalIsKeptOnRequest) {
  fabric::FatTree kind;
  kind.radix = 12;
  auto fabric = fabric::generate(kind).value();
  const LayersCase whole(fabric);
  const auto before = sssp(whole.request()).value().lfts;
  const SwitchIndex leaf = whole.graph.destinations().back().leaf;
  const std::uint8_t gone = whole.graph.arcs(leaf)[2].out_port;
  fabric.disconnect({whole.graph.node_of(leaf), gone});
  const LayersCase c(std::move(fabric));
  auto request = c.request();
  request.options.honour_previous = true;
  request.previous = &before;
  const auto after = sssp(request).value().lfts;
  expect_least_hops(c, after);
  for (SwitchIndex s = 0; s < c.graph.switch_count(); ++s)
    for (const auto& d : c.graph.destinations()) {
      if (d.is_switch() || (s == leaf ? before.at(s, d.lid) == gone : d.leaf == leaf)) continue;
      EXPECT_EQ(after.at(s, d.lid), before.at(s, d.lid));
    }
}

TEST(Layered, AClaimedTreeSpansAllHostsAndClosesNoLoop) {
  fabric::FatTree tree;
  tree.radix = 8;
  tree.levels = 3;
  unsigned claims = 0;
  for (auto&& made :
       {fabric::generate(tree), fabric::generate(fabric::HyperX{{4, 4}, 2, 1}),
        fabric::generate(fabric::Grid{{4, 4}, false, 1, 1}), fabric::generate_superpod_like(),
        fabric::generate(fabric::RandomGraph{40, 90, 3})}) {
    const LayersCase c(made.value());
    for (const auto engine : {dfsssp, lash}) {
      const auto routes = engine(c.request()).value();
      const auto& rule = routes.multicast;
      if (rule.up_order.empty()) continue;
      ++claims;
      EXPECT_EQ(rule.sl, Sl{0});  // that of groups whose SL nobody chose
      ASSERT_EQ(rule.parent.size(), c.graph.switch_count());
      // One group with everybody in it, forwarded along the whole tree.
      tables::MulticastTables trees;
      auto& masks = trees[Lid{0xC000}];
      std::vector<bool> inside(c.graph.switch_count(), false);
      for (SwitchIndex s = 0; s < c.graph.switch_count(); ++s) {
        const SwitchIndex up = rule.parent[s];
        if (up == fabric::kNoSwitch) continue;
        EXPECT_LT(rule.up_order[up], rule.up_order[s]);
        inside[s] = inside[up] = true;
        const auto arcs = c.graph.arcs(s);
        const auto arc =
            std::find_if(arcs.begin(), arcs.end(), [&](const auto& a) { return a.to == up; });
        ASSERT_NE(arc, arcs.end());
        masks[s].set(arc->out_port);
        masks[up].set(arc->in_port);
      }
      for (const auto& d : c.graph.destinations()) {
        if (d.is_switch()) continue;
        EXPECT_TRUE(inside[d.leaf]);
        masks[d.leaf].set(d.port);
      }
      const auto verdict = tables::verify(c.fabric, c.graph, routes.lfts, routes.virtual_lanes,
                                          {&trees, rule.sl, true, nullptr}, {});
      EXPECT_EQ(verdict.multicast, tables::MulticastVerdict::Proved) << routes.engine;
    }
  }
  EXPECT_GE(claims, 6U);
}

/// As where a switch has fewer VLs from now on: pairs make room for each other, and not of the
/// tree.
TEST(Layered, AClaimedTreeClosesNoLoopBesidePairsThatKeepTheirSls) {
  unsigned claimed = 0;
  for (const auto& [seed, dimensions] : std::map<std::uint64_t, std::vector<unsigned>>{
           {1, {3, 3, 3}}, {5, {4, 4}}, {7, {3, 3, 3}}, {8, {4, 4}}}) {
    fabric::GenerateCommon common;
    common.missing_links_percent = 15;
    common.seed = seed;
    const LayersCase c(fabric::generate(fabric::Grid{dimensions, true, 1, 1}, common).value());
    MulticastGroup all{Lid{0xC000}, {}, {}};
    for (fabric::NodeIndex n = 0; n < c.fabric.nodes().size(); ++n)
      if (!c.fabric.node(n).is_switch()) all.receivers.push_back(c.fabric.port(n, 1).guid);
    for (const auto engine : {dfsssp, lash}) {
      const auto first = engine(c.request(8)).value();
      Request request = c.request(2);
      request.previous_sls = &first.virtual_lanes.sls;
      const auto routes = engine(request);
      if (!routes || !claims(routes->multicast)) continue;
      ++claimed;
      const auto trees = multicast_trees(c.fabric, c.graph, std::array{all}, routes->multicast);
      const auto verdict = tables::verify(c.fabric, c.graph, routes->lfts, routes->virtual_lanes,
                                          {&trees, routes->multicast.sl, true, nullptr}, {});
      EXPECT_EQ(verdict.multicast, tables::MulticastVerdict::Proved)
          << routes->engine << ' ' << seed;
    }
  }
  EXPECT_GE(claimed, 1U);
}

}  // namespace
}  // namespace ib::route
