// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/choose/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/reroute/what_if.h"
#include "libdiag/tables/sl_moves.h"

namespace ib::route {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

fabric::Fabric ring(unsigned switches) {
  fabric::Grid kind;
  kind.sizes = {switches};
  return fabric::generate(kind, {}).value();
}
fabric::Fabric tree_of_32() {
  fabric::FatTree kind;
  kind.radix = 8;
  return fabric::generate(kind, {}).value();
}

Choice choose(const fabric::Fabric& f, const ChoiceOptions& options) {
  return choose_routes(f, fabric::CompactGraph(f), options, {});
}
ChoiceOptions only(const char* engine) {
  ChoiceOptions options;
  options.engines = {engine};
  options.no_fallback = true;
  return options;
}

TEST(Choice, OneEngineNamedIsTakenWhereItReachesAllWithoutALoop) {
  const Choice choice = choose(tree_of_32(), only("minhop"));
  EXPECT_TRUE(choice.passed);
  EXPECT_EQ(choice.routes.engine, "minhop");
  EXPECT_THAT(choice.alarms(), IsEmpty());
}

TEST(Choice, EveryEngineEndsAndIsRefusedWhereALinkHasNoVls) {
  for (auto f : {ring(6), tree_of_32()}) {
    for (unsigned p = 1; p <= f.node(0).num_ports; ++p) f.port(0, p).vl_cap = 7;  // means none
    for (const EngineEntry& engine : engines()) {
      const Choice choice = choose(f, only(engine.name));
      EXPECT_FALSE(choice.passed) << engine.name;
      EXPECT_FALSE(choice.alarms().empty()) << engine.name;
    }
  }
}

TEST(Choice, CreditLoopsAreRefusedUnlessAllowedAndThenSaid) {
  ChoiceOptions options = only("minhop");
  const Choice refused = choose(ring(6), options);
  EXPECT_FALSE(refused.passed);
  EXPECT_EQ(refused.routes.engine, "minhop");  // what fails least
  ASSERT_EQ(refused.tried.size(), 1U);
  EXPECT_GT(refused.tried[0].verdict->credit_loop_channels, 0U);
  ASSERT_EQ(refused.alarms().size(), 2U);
  EXPECT_THAT(refused.alarms()[0], HasSubstr("routing engine minhop is rejected: "));
  EXPECT_EQ(refused.alarms()[1], "no routing engine passes all checks; minhop fails least");

  options.allow_credit_loops = true;
  const Choice allowed = choose(ring(6), options);
  EXPECT_TRUE(allowed.passed);
  ASSERT_EQ(allowed.alarms().size(), 1U);
  EXPECT_THAT(allowed.alarms()[0], HasSubstr("can deadlock, which is allowed"));
}

TEST(Choice, WhatFollowsTheListIsNoWeaker) {
  ChoiceOptions options = only("minhop");
  options.no_fallback = false;
  const Choice choice = choose(ring(6), options);
  EXPECT_TRUE(choice.passed);
  EXPECT_NE(choice.routes.engine, "minhop");
  EXPECT_EQ(choice.verdict.credit_loop_channels, 0U);
  ASSERT_EQ(choice.alarms().size(), 2U);
  EXPECT_EQ(choice.alarms()[1],
            "none of the engines named can route this fabric; " + choice.routes.engine + " does");
}

TEST(Choice, TheDefaultIsFreeOfCreditLoopsWhateverTheFabric) {
  fabric::RandomGraph random;
  for (const auto& f : {tree_of_32(), ring(3), ring(6), fabric::generate(random, {}).value(),
                        fabric::generate(fabric::DragonflyPlus{}, {}).value(),
                        fabric::generate_lab_like().value()}) {
    const Choice choice = choose(f, {});
    EXPECT_TRUE(choice.passed);
    EXPECT_EQ(choice.verdict.credit_loop_channels, 0U);
    EXPECT_THAT(choice.alarms(), IsEmpty());
  }
}

TEST(Choice, WhereEveryTwoSwitchesAreNeighboursOneVlDoesByDefault) {
  for (const auto& f : {ring(3), fabric::generate(fabric::HyperX{{6}, 3, 1}).value(),
                        fabric::generate(fabric::Grid{{3}, true, 4, 2}).value()}) {
    const Choice choice = choose(f, {});
    EXPECT_TRUE(choice.passed);
    EXPECT_EQ(choice.routes.vls_used, 1U) << choice.routes.engine;
    EXPECT_TRUE(choice.routes.virtual_lanes.trivial());
    const auto minhop = choose(f, only("minhop"));
    EXPECT_EQ(choice.verdict.load_max, minhop.verdict.load_max);
  }
}

TEST(Choice, NoSwitchAndOneSwitchAreRoutedToo) {
  fabric::FatTree star;
  star.leaves = 1;
  star.spines = 1;
  star.hosts_per_leaf = 3;
  EXPECT_TRUE(choose(fabric::generate(star, {}).value(), {}).passed);
  EXPECT_TRUE(choose(fabric::Fabric{}, {}).passed);
}

TEST(Choice, ComparingTriesAllThatAreNamed) {
  ChoiceOptions options;
  options.engines = {"minhop", "dor", "minhop"};
  options.compare = true;
  const Choice choice = choose(tree_of_32(), options);
  ASSERT_EQ(choice.tried.size(), 3U);
  for (const Tried& row : choice.tried) EXPECT_TRUE(row.named);
  EXPECT_EQ(choice.routes.engine, "minhop");
}

TEST(Choice, TreesAndOtherNetworksGetTheirOwnEnginesFirst) {
  const auto of_tree = default_engines(fabric::CompactGraph(tree_of_32()));
  const auto of_ring = default_engines(fabric::CompactGraph(ring(8)));
  ASSERT_FALSE(of_tree.empty());
  EXPECT_EQ(of_tree.front(), "ftree");
  EXPECT_THAT(of_tree, Not(Contains("torus-2QoS")));
  EXPECT_THAT(of_ring, Contains("torus-2QoS"));
  EXPECT_EQ(of_ring.back(), "minhop");
}

TEST(Choice, NothingIsComparedWithPerfectRoutes) {
  const Choice choice = choose(tree_of_32(), {});
  EXPECT_EQ(choice.routes.engine, "ftree");
  EXPECT_THAT(choice.tried, SizeIs(1));
  EXPECT_THAT(choice.notes(), IsEmpty());
}

fabric::Fabric with_links_missing(fabric::Fabric f, unsigned percent, std::uint64_t seed) {
  EXPECT_TRUE(take_away(f, {{}, static_cast<double>(percent), seed}).has_value());
  return f;
}

fabric::Fabric of_three_levels() {
  fabric::FatTree kind;
  kind.radix = 6;
  kind.levels = 3;
  return fabric::generate(kind, {}).value();
}

/// Whole and damaged networks of several kinds.
std::vector<fabric::Fabric> networks() {
  const auto made = [](const auto& kind) { return fabric::generate(kind, {}).value(); };
  return {with_links_missing(tree_of_32(), 6, 1),
          made(fabric::Grid{{4, 4}, true, 2}),
          with_links_missing(made(fabric::Grid{{4, 4}, true, 2}), 6, 2),
          with_links_missing(made(fabric::Grid{{4, 5}, false, 2}), 5, 3),
          made(fabric::HyperX{{4, 3}, 3, 1}),
          made(fabric::Dragonfly{}),
          made(fabric::DragonflyPlus{}),
          with_links_missing(made(fabric::DragonflyPlus{}), 6, 4),
          with_links_missing(of_three_levels(), 6, 5),
          made(fabric::RandomGraph{20, 40, 2})};
}

/// Nobody's routes could load a link less by more than 2 per cent, and finding out takes long.
TEST(Choice, ALargeDamagedTreeIsRoutedByOneEngine) {
  fabric::FatTree kind;
  kind.levels = 3;
  kind.radix = 36;
  fabric::GenerateCommon damaged;
  damaged.missing_links_percent = 1;
  for (const std::uint64_t seed : {1U, 3U}) {
    damaged.seed = seed;
    const auto f = fabric::generate(kind, damaged).value();
    const fabric::CompactGraph graph(f);
    const Choice choice = choose_routes(f, graph, {}, {});
    ASSERT_TRUE(choice.passed);
    ASSERT_THAT(choice.tried, SizeIs(1));
    EXPECT_EQ(choice.verdict.switch_turns_refused, 0U);
    Request request;
    request.fabric = &f;
    request.graph = &graph;
    EXPECT_LE(choice.tried.front().quality->load, kNearLeast * least_load(request));
  }
}

TEST(Choice, TheDefaultIsHardlyWorseThanAnySingleEngine) {
  for (const auto& f : networks()) {
    const fabric::CompactGraph graph(f);
    const Request request{&f, &graph, {}, nullptr, 1};
    const Choice best = choose(f, {});
    ASSERT_TRUE(best.passed);
    EXPECT_THAT(best.notes(), Contains(HasSubstr("engine " + best.routes.engine + " is selected")));
    const double load = greatest_load(request, best.routes.lfts);
    const double contention = sampled_contention(graph, best.routes.lfts);
    for (const EngineEntry& engine : engines()) {
      const Choice single = choose(f, only(engine.name));
      if (!single.passed) continue;
      // Paths to switches that may close a loop are taken where no engine does without.
      if (best.verdict.switch_turns_refused < single.verdict.switch_turns_refused) continue;
      const double its = greatest_load(request, single.routes.lfts);
      EXPECT_LE(load, 1.02 * its) << best.routes.engine << ' ' << engine.name;
      if (its > load) continue;
      EXPECT_LE(contention, 1.05 * sampled_contention(graph, single.routes.lfts))
          << best.routes.engine << ' ' << engine.name;
    }
  }
}

TEST(Choice, TheEngineInUseStaysWithinATenthOfTheBest) {
  std::size_t stayed = 0, changed = 0;
  for (const auto& f : networks()) {
    const fabric::CompactGraph graph(f);
    const Request request{&f, &graph, {}, nullptr, 8};
    const double best = greatest_load(request, choose(f, {}).routes.lfts);
    for (const char* name : {"ftree", "updn", "dnup", "dfsssp", "lash", "dfp"}) {
      const EngineEntry& engine = *find_engine(name);
      auto routes = engine.compute(request);
      if (!routes) continue;
      Rerouter rerouter(engine, {}, 8);
      const double load = greatest_load(request, routes->lfts);
      rerouter.adopt(f, graph, *std::move(routes));
      const Choice choice = choose_routes(f, graph, {}, {}, {&rerouter});
      EXPECT_EQ(choice.routes.engine == name, load <= kStays * best) << name;
      EXPECT_LE(greatest_load(request, choice.routes.lfts), kStays * best) << name;
      choice.routes.engine == name ? ++stayed : ++changed;
    }
  }
  EXPECT_GT(stayed, 5U);
  EXPECT_GT(changed, 5U);
}

/// Several events of up to three links each in the whole fabric: how many pairs of switches get
/// another SL, and how often the engine is another one.
struct Moves {
  std::size_t events{0}, pairs{0}, other_engines{0};
};
Moves moves_of(const fabric::Fabric& whole, const std::string& engine) {
  const fabric::CompactGraph graph(whole);
  const ChoiceOptions options = engine.empty() ? ChoiceOptions{} : only(engine.c_str());
  const Choice first = choose(whole, options);
  Moves moves;
  if (!first.passed) return moves;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    fabric::Fabric now = whole;
    const double links = static_cast<double>(graph.arc_count()) / 2;
    EXPECT_TRUE(take_away(now, {{}, 100.0 * static_cast<double>(1 + seed % 3) / links, seed}));
    const fabric::CompactGraph after(now);
    const auto& name = first.routes.engine;
    Rerouter rerouter(*find_engine(name), {}, 8);
    rerouter.adopt(whole, graph, first.routes);
    const auto sls = tables::carried_over(first.routes.virtual_lanes.sls, graph, after);
    const Choice choice = choose_routes(now, after, options, {}, {&rerouter, {}, &sls});
    EXPECT_TRUE(choice.passed);
    const auto moved =
        tables::sl_moves(now, after, choice.routes.lfts, choice.routes.virtual_lanes, sls, {});
    ++moves.events;
    moves.pairs += moved.pairs.size();
    EXPECT_TRUE(moved.credit_loop_channels == 0 || !moved.pairs.empty());
    if (choice.routes.engine != name) ++moves.other_engines;
  }
  return moves;
}

TEST(Choice, FewPairsGetAnotherSlOnAnEvent) {
  const auto made = [](const auto& kind) { return fabric::generate(kind, {}).value(); };
  for (const auto& f : {made(fabric::Grid{{6, 6}, true, 2}), made(fabric::Grid{{4, 4, 4}, true, 1}),
                        made(fabric::HyperX{{3, 3, 3}, 2, 1}), made(fabric::Hypercube{5, 2, 1}),
                        made(fabric::Dragonfly{})}) {
    const std::size_t switches = fabric::CompactGraph(f).switch_count();
    const std::size_t pairs = switches * (switches - 1) / 2;
    for (const std::string engine : {"", "dfsssp", "lash", "nue", "dfp"}) {
      const Moves moves = moves_of(f, engine);
      EXPECT_EQ(moves.events, 6U) << engine;
      // VLs by turn leave less room than layers do.
      const std::size_t one_in = engine.empty() || engine == "dfp" ? 8 : 30;
      EXPECT_LE(moves.pairs * one_in, moves.events * pairs) << engine << ' ' << switches;
      EXPECT_LE(moves.other_engines, 1U) << engine << ' ' << switches;
    }
  }
}

TEST(Choice, WhatDidNotPassIsNotTriedAgain) {
  const auto f = ring(6);
  Tried before;
  before.engine = "dfsssp";
  before.why = "as before";
  const Choice choice =
      choose_routes(f, fabric::CompactGraph(f), {}, {}, {nullptr, std::span(&before, 1)});
  EXPECT_TRUE(choice.passed);
  EXPECT_THAT(choice.notes(), Contains("routing engine dfsssp does not fit: as before"));
}

/// nue would ask ftree and dfsssp again: it is not tried where one of them passed, even if others
/// carry less.
TEST(Choice, WhatNueWouldAskIsNotAskedAgain) {
  for (const auto& f :
       {fabric::generate_janus_like(1).value(), fabric::generate_superpod_like(1).value()}) {
    const Choice choice = choose(f, {});
    EXPECT_TRUE(choice.passed);
    EXPECT_THAT(choice.tried, Contains(::testing::Field(&Tried::engine, "ftree")));
    EXPECT_THAT(choice.tried, Not(Contains(::testing::Field(&Tried::engine, "nue"))));
  }
}

/// lash takes as long as dfsssp and loads no link less: on a large torus it is not asked behind it.
TEST(Choice, OnALargeTorusLashIsNotAskedBehindDfsssp) {
  const auto lash = ::testing::Field(&Tried::engine, "lash");
  for (const unsigned side : {4U, 8U}) {
    fabric::Grid kind;
    kind.sizes = {side, side, side};
    kind.hosts = 2;
    auto f = fabric::generate(kind, {}).value();
    EXPECT_TRUE(take_away(f, {{}, 2, 1}));
    const Choice choice = choose(f, {});
    EXPECT_TRUE(choice.passed);
    EXPECT_THAT(choice.tried, Contains(::testing::Field(&Tried::engine, "dfsssp")));
    if (side == 4)
      EXPECT_THAT(choice.tried, Contains(lash));
    else
      EXPECT_THAT(choice.tried, Not(Contains(lash)));
    const fabric::CompactGraph graph(f);
    const Request request{&f, &graph, {}, nullptr, 8};
    EXPECT_LE(greatest_load(request, choice.routes.lfts),
              greatest_load(request, choose(f, only("lash")).routes.lfts));
  }
}

TEST(Choice, LoadsAreWeighedByTheSpeedOfLinks) {
  auto f = ring(3);
  const fabric::CompactGraph graph(f);
  const Request request{&f, &graph, {}, nullptr, 1};
  const auto tables = find_engine("minhop")->compute(request)->lfts;
  const double alike = greatest_load(request, tables);
  EXPECT_EQ(alike, least_load(request));
  const auto slow = graph.arcs(0)[0];
  f.port(graph.node_of(0), slow.out_port).width = wire::LinkWidth::W1x;
  EXPECT_EQ(greatest_load(request, tables), 4 * alike);
  // A link of one and one of a quarter.
  EXPECT_DOUBLE_EQ(least_load(request), alike * 2 / 1.25);
}

/// Two cables from each leaf to each spine, of which the second is slower than the first.
fabric::Fabric tree_of_unequal_cables(unsigned hosts_of_a_leaf) {
  fabric::FatTree tree;
  tree.radix = 2 * hosts_of_a_leaf;
  tree.hosts_per_leaf = tree.leaves = hosts_of_a_leaf;
  tree.spines = hosts_of_a_leaf / 2;
  auto f = fabric::generate(tree).value();
  const fabric::CompactGraph graph(f);
  constexpr std::array kSlower{wire::LinkSpeed::Sdr, wire::LinkSpeed::Ddr, wire::LinkSpeed::Qdr};
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    if (graph.attached()[s] == 0) continue;
    std::map<fabric::SwitchIndex, unsigned> cables;
    for (const auto& arc : graph.arcs(s)) {
      const fabric::PortRef here{graph.node_of(s), arc.out_port};
      const auto speed = cables[arc.to]++ == 0 ? wire::LinkSpeed::Edr : kSlower[(s + arc.to) % 3];
      for (const fabric::PortRef end : {here, f.port(here).peer}) f.port(end).speed = speed;
    }
  }
  return f;
}

/// Parallel cables of unequal speed share by speed, on every link of a way.
TEST(Choice, UnequalCablesAreLoadedByTheirSpeed) {
  for (const unsigned hosts : {12U, 18U}) {
    const auto f = tree_of_unequal_cables(hosts);
    const fabric::CompactGraph graph(f);
    const Request request{&f, &graph, {}, nullptr, 8};
    const double floor = least_load(request);
    for (const char* engine : {"minhop", "updn", "dnup", "ftree"}) {
      const auto routes = find_engine(engine)->compute(request);
      ASSERT_TRUE(routes) << engine;
      EXPECT_LT(greatest_load(request, routes->lfts), 1.35 * floor) << engine << ' ' << hosts;
    }
    EXPECT_LT(greatest_load(request, choose(f, {}).routes.lfts), 1.35 * floor) << hosts;
  }
}

TEST(Choice, TheBestHasTheLeastLoadThenContentionThenVls) {
  const std::vector<Quality> of{{100, 3.0, 1}, {101, 2.0, 8}, {100.5, 2.03, 4}, {110, 1.0, 1}};
  EXPECT_EQ(best_of(of), 2U);
  EXPECT_EQ(best_of(std::span(of).first(1)), 0U);
  EXPECT_TRUE(is_perfect({100, 1.0, 1}, 100));
  EXPECT_FALSE(is_perfect({100, 1.5, 1}, 100));
  EXPECT_FALSE(is_perfect({102, 1.0, 1}, 100));
  EXPECT_FALSE(is_perfect({100, std::nullopt, 1}, 100));
}

TEST(Choice, NamesAreChecked) {
  const std::vector<std::string> good{"minhop"}, bad{"minhop", "Minhop"};
  EXPECT_TRUE(check_engine_names(good).has_value());
  const auto checked = check_engine_names(bad);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().kind, ErrorKind::Usage);
  EXPECT_THAT(checked.error().message, HasSubstr("'Minhop'; there are: minhop"));
}

TEST(Choice, FailingLessNeverTradesPairsForLoops) {
  tables::Verdict whole, lossy, looping;
  lossy.unreachable = 3;
  looping.credit_loop_channels = 5;
  EXPECT_TRUE(fails_less(whole, lossy));
  EXPECT_TRUE(fails_less(whole, looping));
  EXPECT_FALSE(fails_less(looping, lossy));
  EXPECT_FALSE(fails_less(lossy, looping));
  EXPECT_FALSE(fails_less(lossy, lossy));
}

TEST(Choice, TablesAreCarriedOverBySwitch) {
  const auto f = ring(4);
  const fabric::CompactGraph from(f);
  const auto tables = choose(f, only("dor")).routes.lfts;
  // The nodes in the opposite order, and one switch less.
  fabric::Fabric turned;
  for (std::size_t i = f.nodes().size(); i-- > 0;)
    if (i != from.node_of(1)) turned.add_node(f.nodes()[i]);
  turned.reindex();
  const fabric::CompactGraph to(turned);
  const auto carried = carried_over(tables, from, to);
  ASSERT_EQ(carried.switch_count(), 3U);
  for (fabric::SwitchIndex s = 0; s < to.switch_count(); ++s)
    for (fabric::SwitchIndex o = 0; o < from.switch_count(); ++o)
      if (to.guid(s) == from.guid(o)) {
        for (std::size_t i = 0; i < carried.lid_count(); ++i) {
          const Lid lid{static_cast<std::uint16_t>(i)};
          EXPECT_EQ(carried.at(s, lid), tables.at(o, lid));
        }
      }
}

}  // namespace
}  // namespace ib::route
