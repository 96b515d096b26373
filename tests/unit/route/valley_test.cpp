// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// valley: shortest paths on trees with hosts above the leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_builder.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/multicast/multicast.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/route/reroute/what_if.h"
#include "libdiag/route/shape/ranks.h"
#include "libdiag/route/up_down/valley_hops.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two levels: `leaves` under `spines`. Three: pods of as many leaves as spines, each spine of a
/// pod under `cores` of its own.
struct TreeSize {
  unsigned pods{1};  // 1: two levels
  unsigned leaves{6}, spines{4}, cores{2};
  unsigned hosts{4};      // of a leaf
  unsigned on_spines{0};  // hosts, of every `every`th
  unsigned on_cores{0};   // likewise
  unsigned every{1};
  bool aggregation_nodes{false};
};

fabric::Fabric tree_with_hosts_above(const TreeSize& size) {
  fabric::TopologyBuilder b({});
  std::vector<fabric::TopologyBuilder::Id> all, spines, cores;
  const auto add_switch = [&](const std::string& name) {
    all.push_back(b.add_switch(name, 64));
    return all.back();
  };
  if (size.pods > 1)
    for (unsigned c = 0; c < size.spines * size.cores; ++c)
      cores.push_back(add_switch("core" + std::to_string(c)));
  for (unsigned p = 0; p < size.pods; ++p) {
    std::vector<fabric::TopologyBuilder::Id> of_pod;
    for (unsigned s = 0; s < size.spines; ++s) {
      of_pod.push_back(add_switch("spine" + std::to_string(p) + "-" + std::to_string(s)));
      for (unsigned c = 0; c < size.cores && size.pods > 1; ++c)
        b.connect(of_pod[s], cores[s * size.cores + c]);
    }
    for (unsigned l = 0; l < size.leaves; ++l) {
      const auto leaf = add_switch("leaf" + std::to_string(p) + "-" + std::to_string(l));
      for (const auto spine : of_pod) b.connect(leaf, spine);
      b.attach_hosts(leaf, size.hosts);
    }
    spines.insert(spines.end(), of_pod.begin(), of_pod.end());
  }
  for (unsigned s = 0; s < spines.size(); s += size.every)
    b.attach_hosts(spines[s], size.on_spines);
  for (unsigned c = 0; c < cores.size(); c += size.every) b.attach_hosts(cores[c], size.on_cores);
  if (size.aggregation_nodes)
    for (const auto s : all) b.connect(s, b.add_host("Mellanox Technologies Aggregation Node"));
  return b.finish().value();
}

struct ValleyCase {
  explicit ValleyCase(fabric::Fabric f)
      : fabric(std::move(f)), graph((give_lids(fabric), fabric)) {}
  Request request(unsigned vls = 8) const { return {&fabric, &graph, {}, nullptr, vls}; }
  tables::Verdict judge(const Routes& routes, const tables::PathSls* earlier = nullptr) const {
    tables::VerifyOptions options;
    options.credit_loops_are_must = true;
    options.earlier_sls = earlier;
    return tables::verify(fabric, graph, routes.lfts, routes.virtual_lanes, {}, options);
  }
  SwitchIndex named(const std::string& name) const {
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      if (fabric.node(graph.node_of(s)).description == name) return s;
    ADD_FAILURE() << name;
    return 0;
  }

  fabric::Fabric fabric;
  fabric::CompactGraph graph;
};

/// Every path from a host to a host that it is connected with has the least hops there can be.
void expect_least_hops_of_hosts(const ValleyCase& c, const tables::LinearTables& lfts) {
  for (const auto& destination : c.graph.destinations()) {
    if (!destination.is_host) continue;
    const auto hops = tables::least_hops(c.graph, std::array{destination.leaf});
    hops.for_each([&](std::size_t, SwitchIndex from, std::size_t least) {
      if (c.graph.attached()[from] == 0) return;
      std::size_t taken = 0;
      for (SwitchIndex s = from; s != destination.leaf && taken <= least; ++taken) {
        const auto far = c.fabric.port(c.graph.node_of(s), lfts.at(s, destination.lid)).peer;
        ASSERT_TRUE(bool(far));
        s = c.graph.switch_of(far.node);
      }
      ASSERT_EQ(taken, least);
    });
  }
}

std::vector<TreeSize> sizes() {
  return {{1, 6, 4, 0, 4, 1},
          {1, 8, 4, 0, 4, 3, 0, 2},
          {1, 6, 3, 0, 6, 6},
          {4, 3, 3, 2, 3, 1},
          {4, 3, 3, 2, 3, 0, 1},
          {4, 4, 2, 2, 4, 2, 1, 3},
          {3, 3, 3, 3, 3, 1, 0, 2, true}};
}

/// Of a tree with links missing.
struct Damaged {
  TreeSize size;
  double percent;
  std::uint64_t seed;
};
std::vector<Damaged> damages() {
  std::vector<Damaged> all;
  for (const TreeSize& size : sizes())
    for (const double percent : {0.0, 2.0, 5.0, 10.0})
      for (std::uint64_t seed = 1; seed <= (percent == 0 ? 1U : 4U); ++seed)
        all.push_back({size, percent, seed});
  return all;
}
ValleyCase damaged(const Damaged& damage) {
  auto fabric = tree_with_hosts_above(damage.size);
  if (damage.percent != 0) {
    EXPECT_TRUE(take_away(fabric, {{}, damage.percent, damage.seed}).has_value());
  }
  return ValleyCase(std::move(fabric));
}

TEST(Valley, HasLeastHopsEvenLoadsAndNoCreditLoopOnRandomTrees) {
  std::size_t routed = 0, longer = 0;
  for (const Damaged& damage : damages()) {
    SCOPED_TRACE(testing::Message() << damage.size.pods << " pods, " << damage.percent
                                    << " per cent, seed " << damage.seed);
    const ValleyCase c = damaged(damage);
    const auto routes = valley(c.request());
    if (!routes) {
      EXPECT_THAT(routes.error().message, ContainsRegex("'[^']*' .0x"));
      continue;
    }
    ++routed;
    const auto verdict = c.judge(*routes);
    EXPECT_TRUE(verdict.must_ok());
    EXPECT_EQ(verdict.asymmetric_pairs, 0U);
    EXPECT_LE(verdict.vls, routes->vls_used);
    if (std::ranges::any_of(routes->notes, [](const std::string& note) {
          return note.find("not all ways are the shortest") != std::string::npos;
        })) {
      ++longer;
      continue;
    }
    expect_least_hops_of_hosts(c, routes->lfts);
    // Within 5 per cent, or what the hosts of one leaf send one host.
    EXPECT_LE(
        greatest_load(c.request(), routes->lfts),
        1.05 * greatest_load(c.request(), minhop(c.request()).value().lfts) + damage.size.hosts);
  }
  EXPECT_GE(routed, damages().size() * 9 / 10);
  EXPECT_LE(longer * 20, routed);
}

TEST(Valley, SlsGoByTheShapeOfPaths) {
  TreeSize size;
  size.on_spines = 2;
  const ValleyCase two(tree_with_hosts_above(size));
  const auto of_two = valley(two.request()).value();
  EXPECT_EQ(of_two.vls_used, 2U);
  const auto sl = [](const ValleyCase& c, const Routes& routes, const char* a, const char* b) {
    EXPECT_EQ(routes.virtual_lanes.sls.at(c.named(a), c.named(b)),
              routes.virtual_lanes.sls.at(c.named(b), c.named(a)));
    return unsigned{routes.virtual_lanes.sls.at(c.named(a), c.named(b)).value};
  };
  EXPECT_EQ(sl(two, of_two, "leaf0-0", "leaf0-1"), 0U);
  EXPECT_EQ(sl(two, of_two, "leaf0-0", "spine0-1"), 0U);
  EXPECT_EQ(sl(two, of_two, "spine0-2", "spine0-3"), 1U);

  size = {3, 3, 3, 2, 3, 1};
  const ValleyCase three(tree_with_hosts_above(size));
  const auto of_three = valley(three.request()).value();
  EXPECT_EQ(of_three.vls_used, 3U);
  EXPECT_EQ(sl(three, of_three, "leaf0-0", "leaf1-1"), 0U);
  EXPECT_EQ(sl(three, of_three, "spine0-1", "spine1-1"), 0U);
  EXPECT_EQ(sl(three, of_three, "spine1-1", "spine1-2"), 1U);
  EXPECT_EQ(sl(three, of_three, "spine1-1", "spine2-2"), 2U);
}

/// Down first: then both ways are of the shape that one layer holds.
TEST(Valley, WhereAValleyIsNeededPathsDescendFirst) {
  const ValleyCase c(tree_with_hosts_above({3, 3, 3, 2, 3, 1}));
  const auto lfts = valley(c.request()).value().lfts;
  for (const auto& to : c.graph.destinations()) {
    const std::string& at = c.fabric.node(c.graph.node_of(to.leaf)).description;
    if (!to.is_host || at != "spine2-2") continue;
    const SwitchIndex from = c.named("spine1-1");
    const auto next = c.fabric.port(c.graph.node_of(from), lfts.at(from, to.lid)).peer.node;
    EXPECT_THAT(c.fabric.node(next).description, HasSubstr("leaf1-"));
  }
}

TEST(Valley, PairsKeepTheirSls) {
  for (const TreeSize& size : sizes()) {
    const ValleyCase before(tree_with_hosts_above(size));
    const auto first = valley(before.request()).value();
    std::size_t moved = 0, pairs = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
      const ValleyCase after = damaged({size, 3, seed});
      Request request = after.request();
      const auto sls = tables::carried_over(first.virtual_lanes.sls, before.graph, after.graph);
      request.previous_sls = &sls;
      const auto lfts = tables::carried_over(first.lfts, before.graph, after.graph);
      request.previous = &lfts;
      request.options.honour_previous = true;
      const auto routes = valley(request);
      ASSERT_TRUE(routes.has_value()) << routes.error().message;
      EXPECT_TRUE(after.judge(*routes).must_ok());
      const auto others = moved_pairs(after.graph, sls, routes->virtual_lanes.sls);
      moved += others.size();
      pairs += after.graph.switch_count() * (after.graph.switch_count() - 1) / 2;
      EXPECT_TRUE(after.judge(*routes, &sls).must_ok() || !others.empty());

      // And back.
      Request again = before.request();
      again.previous_sls = &routes->virtual_lanes.sls;
      const auto back = valley(again);
      ASSERT_TRUE(back.has_value()) << back.error().message;
      EXPECT_TRUE(before.judge(*back).must_ok());
      EXPECT_TRUE(
          before.judge(*back, &routes->virtual_lanes.sls).must_ok() ||
          !moved_pairs(before.graph, routes->virtual_lanes.sls, back->virtual_lanes.sls).empty());
    }
    EXPECT_LT(moved * 15, pairs) << size.pods;
  }
}

TEST(Valley, FollowsFailuresAndRepairs) {
  for (const TreeSize& size : sizes()) {
    const ValleyCase whole(tree_with_hosts_above(size));
    Rerouter rerouter(*find_engine("valley"), {}, 8);
    rerouter.adopt(whole.fabric, whole.graph, valley(whole.request()).value());
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const ValleyCase after = damaged({size, 3, seed});
      for (const ValleyCase* now : {&after, &whole}) {
        const auto change = rerouter.update(now->fabric, now->graph);
        ASSERT_TRUE(change.has_value()) << change.error().message;
        EXPECT_TRUE(now->judge(rerouter.routes()).must_ok());
        EXPECT_EQ(rerouter.routes().engine, "valley");
        expect_least_hops_of_hosts(*now, rerouter.routes().lfts);
      }
    }
  }
}

TEST(Valley, GroupsOfAllHostsAreProvedBesideIt) {
  for (const Damaged& damage : damages()) {
    const ValleyCase c = damaged(damage);
    const auto routes = valley(c.request());
    if (!routes || !claims(routes->multicast)) continue;
    MulticastGroup group;
    group.mlid = Lid{0xC000};
    for (const auto& d : c.graph.destinations())
      if (d.is_host) group.receivers.push_back(c.fabric.port(d.end_port).guid);
    const auto trees = multicast_trees(c.fabric, c.graph, std::span(&group, 1), routes->multicast);
    const auto verdict = tables::verify(c.fabric, c.graph, routes->lfts, routes->virtual_lanes,
                                        {&trees, routes->multicast.sl, true, nullptr}, {});
    EXPECT_EQ(verdict.multicast, tables::MulticastVerdict::Proved);
  }
}

TEST(Valley, OneVlAndTreesWithoutHostsAboveAreRefused) {
  TreeSize size;
  size.on_spines = 1;
  const ValleyCase above(tree_with_hosts_above(size));
  const auto alone = valley(above.request(1));
  ASSERT_FALSE(alone.has_value());
  EXPECT_THAT(alone.error().message, HasSubstr("valley needs"));
  EXPECT_THAT(alone.error().message, ContainsRegex("'[^']*' .0x"));

  size.on_spines = 0;
  size.aggregation_nodes = true;  // no hosts
  const ValleyCase below(tree_with_hosts_above(size));
  const auto refused = valley(below.request());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, ContainsRegex("no host hangs above .*'[^']*' .0x"));
  EXPECT_THAT(default_engines(below.graph), Not(Contains("valley")));
}

TEST(Valley, LargeDamagedTreesAreRefusedAtOnce) {
  fabric::FatTree kind;
  kind.radix = 32;
  kind.levels = 3;
  kind.middle_hosts = 1;
  fabric::GenerateCommon common;
  common.missing_links_percent = 2;
  const ValleyCase c(fabric::generate(kind, common).value());
  const auto refused = valley(c.request());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(
      refused.error().message,
      ContainsRegex("^[0-9]+ pairs of switches, '[^']*' .0x.* one of them, would need VLs"));
}

/// Up*/down* takes all of those paths over one leaf, and further than they need go.
TEST(Valley, IsTheDefaultWhereItLoadsLinksLess) {
  const ValleyCase c(tree_with_hosts_above({12, 6, 6, 6, 6, 2}));
  const Choice best = choose_routes(c.fabric, c.graph, {}, {});
  ASSERT_TRUE(best.passed);
  EXPECT_EQ(best.routes.engine, "valley");
  EXPECT_LT(2 * greatest_load(c.request(), best.routes.lfts),
            greatest_load(c.request(), ftree(c.request()).value().lfts));
  // One VL: what there is without it.
  ChoiceOptions one;
  one.vls_max = 1;
  EXPECT_EQ(choose_routes(c.fabric, c.graph, one, {}).routes.vls_used, 1U);
}

/// Whatever is chosen among the candidates, no path has another shape than its switch keeps to.
TEST(ValleyHops, KeepWaysOfOneShape) {
  for (const Damaged& damage : damages()) {
    const ValleyCase c = damaged(damage);
    const Request request = c.request();
    const auto ranks = ranks_from_roots(request).value();
    TreeOrders orders{order_by_rank(request, ranks), {}};
    orders.single_tops = with_single_tops(c.graph, orders.levels);
    for (const Valleys valleys : {Valleys::All, Valleys::Few})
      for (SwitchIndex to = 0; to < c.graph.switch_count(); ++to) {
        const auto all = tables::least_hops(c.graph, std::array{to});
        const auto kept = valley_hops(c.graph, orders, std::array{to}, valleys);
        EXPECT_EQ(kept.at, all.at);
        std::vector<unsigned> shapes(c.graph.switch_count(), 0);  // a bit for each
        shapes[to] = 1;
        all.for_each([&](std::size_t, SwitchIndex s, std::size_t hops) {
          if (hops == 0) return;
          for (std::size_t i = 0; i < c.graph.arcs(s).size(); ++i) {
            const std::size_t arc = c.graph.arc_index(s, i);
            if (kept.arcs[arc] == 0) continue;
            ASSERT_NE(all.arcs[arc], 0U);
            const SwitchIndex next = c.graph.arcs(s)[i].to;
            for (unsigned shape = 0; shape < 7; ++shape)
              if ((shapes[next] >> shape) & 1)
                shapes[s] |=
                    1U << static_cast<unsigned>(after_step(
                        orders.levels.is_up(s, next), PathShape{static_cast<std::uint8_t>(shape)}));
          }
          EXPECT_NE(shapes[s], 0U);
          // Ways without a valley and ways with one never mix.
          const unsigned straight = (1U << unsigned(PathShape::UpDown) << 1) - 1;
          EXPECT_TRUE((shapes[s] & straight) == 0 || (shapes[s] & ~straight) == 0) << shapes[s];
        });
      }
  }
}

/// What is remembered may be older than what switches hold: by its order a switch that lost its one
/// way up climbs nowhere, and trees would leave out its hosts.
TEST(Valley, AnOrderByWhichTreesLeaveHostsOutIsNotTakenUp) {
  const ValleyCase before(tree_with_hosts_above({1, 6, 4, 0, 4, 1}));
  const EngineEntry& entry = *find_engine("valley");
  const Routes remembered = entry.compute(before.request()).value();
  const auto& order = remembered.multicast.up_order;
  ASSERT_FALSE(order.empty());
  ASSERT_TRUE(remembered.multicast.parent.empty());
  unsigned cut = 0;
  for (SwitchIndex s = 0; s < before.graph.switch_count(); ++s) {
    std::vector<std::uint8_t> up;
    for (const auto& arc : before.graph.arcs(s))
      if (order[arc.to] < order[s]) up.push_back(arc.out_port);
    if (up.size() != 1) continue;
    SCOPED_TRACE(before.fabric.node(before.graph.node_of(s)).description);
    ++cut;
    fabric::Fabric fabric = before.fabric;
    fabric.disconnect({before.graph.node_of(s), up.front()});
    const ValleyCase now(std::move(fabric));
    const Routes held = entry.compute(now.request()).value();
    Rerouter restarted(entry, {}, 8);
    restarted.adopt(now.fabric, now.graph, held);
    (void)restarted.take_up(now.fabric, {held.lfts, remembered, nullptr});
    MulticastGroup all{kLidMulticastMin, {}, {}};
    for (const auto& to : now.graph.destinations())
      if (to.is_host) all.receivers.push_back(now.fabric.port(to.end_port).guid);
    const auto trees =
        multicast_trees(now.fabric, now.graph, {&all, 1}, restarted.routes().multicast);
    const auto& tree = trees.at(all.mlid);
    for (const auto& to : now.graph.destinations())
      EXPECT_TRUE(!to.is_host || (tree.contains(to.leaf) && tree.at(to.leaf).test(to.port)));
  }
  EXPECT_GT(cut, 0U);
}

}  // namespace
}  // namespace ib::route
