// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One thing changes: a link, a host or a switch goes, comes back or moves, and no more of the
// tables changes than must.
#include "libdiag/route/reroute/reroute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/tables/verify.h"
#include "tests/unit/route/rerouted.h"

namespace ib::route {
namespace {

// What a route costs on a link is told by the widest and fastest there are, so it changes with
// them.
TEST(Reroute, LosingTheOnlySlowLinkIsFollowed) {
  auto fabric = made_kind(fabric::HyperX{{4, 4}, 4});
  const fabric::CompactGraph whole(fabric);
  const auto& arc = whole.arcs(0).back();
  const fabric::PortRef a{whole.node_of(0), arc.out_port}, b{whole.node_of(arc.to), arc.in_port};
  fabric.disconnect(a);
  fabric.connect(a, b, wire::LinkWidth::W1x, wire::LinkSpeed::Edr);
  Rerouter rerouter = started("updn", fabric);
  fabric.disconnect(a);
  const fabric::CompactGraph graph(fabric);
  const auto change = rerouter.update(fabric, graph);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->recomputed, "");
  const auto load = [&](const tables::LinearTables& of) {
    return static_cast<double>(tables::verify(fabric, graph, of).load_max);
  };
  EXPECT_LE(load(rerouter.routes().lfts), 1.1 * load(fresh("updn", fabric, graph).lfts));
}

// What one order joined stays apart by it when other cables join the parts again.
TEST(Reroute, HostsThatWereCutOffAreReachedAgain) {
  const fabric::Fabric ring = made_kind(fabric::Grid{{6}, true, 2});
  const fabric::CompactGraph graph(ring);
  std::vector<fabric::PortRef> cables;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s))
      if (s < arc.to) cables.push_back({graph.node_of(s), arc.out_port});
  for (const char* engine : {"minhop", "updn", "dnup"})
    for (std::size_t i = 0; i < cables.size(); ++i)
      for (std::size_t k = 0; k < cables.size(); ++k) {
        if (i == k) continue;
        SCOPED_TRACE(testing::Message() << engine << ", " << i << " and " << k << " fail");
        Rerouter rerouter = started(engine, ring);
        fabric::Fabric one = ring, both = ring;
        one.disconnect(cables[i]);
        both.disconnect(cables[i]);
        both.disconnect(cables[k]);
        for (const fabric::Fabric& now :
             {std::cref(both), std::cref(one), std::cref(both), std::cref(ring)}) {
          const fabric::CompactGraph links(now);
          ASSERT_TRUE(rerouter.update(now, links).has_value());
          EXPECT_TRUE(tables::verify(now, links, rerouter.routes().lfts).must_ok());
        }
      }
}

TEST(Reroute, OneUplinkOfALeafChangesWhatUsedIt) {
  auto fabric = generated_tree(16, 3);  // 128 leaves with 8 hosts and 8 uplinks
  Rerouter rerouter = started("minhop", fabric);
  const fabric::CompactGraph whole(fabric);
  const auto host = std::find_if(whole.destinations().begin(), whole.destinations().end(),
                                 [](const auto& d) { return !d.is_switch(); });
  const auto uplink = whole.arcs(host->leaf)[3];
  fabric.disconnect({whole.node_of(host->leaf), uplink.out_port});
  const fabric::CompactGraph graph(fabric);
  const auto change = rerouter.update(fabric, graph);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->recomputed, "");
  // 127 LIDs of hosts elsewhere in the leaf, one LID behind it everywhere else, and some around
  // the plane that lost it.
  EXPECT_GE(change->entries.size(), 127U + 127U);
  EXPECT_LE(change->entries.size(), 127U + 127U + 100U);
  EXPECT_TRUE(tables::verify(fabric, graph, rerouter.routes().lfts).must_ok());
}

TEST(Reroute, NothingChangesWhereNothingHappened) {
  const auto fabric = generated_tree(8, 2);
  Rerouter rerouter = started("minhop", fabric);
  const auto change = rerouter.update(fabric, fabric::CompactGraph(fabric));
  ASSERT_TRUE(change.has_value());
  EXPECT_TRUE(change->entries.empty());
  EXPECT_EQ(change->recomputed, "");
}

TEST(Reroute, ACableThatMovedIsFollowed) {
  auto fabric = generated_tree(8, 3);
  Rerouter rerouter = started("updn", fabric);
  const fabric::CompactGraph whole(fabric);
  const auto host =
      std::ranges::find_if(whole.destinations(), [](const auto& d) { return !d.is_switch(); });
  // Two uplinks of a leaf change places at the leaf.
  const auto arcs = whole.arcs(host->leaf);
  const fabric::PortRef here{whole.node_of(host->leaf), arcs[0].out_port};
  const fabric::PortRef there{whole.node_of(host->leaf), arcs[1].out_port};
  const fabric::PortRef far{whole.node_of(arcs[0].to), arcs[0].in_port};
  const fabric::PortRef farther{whole.node_of(arcs[1].to), arcs[1].in_port};
  fabric.disconnect(here);
  fabric.disconnect(there);
  fabric.connect(here, farther, wire::LinkWidth::W4x, wire::LinkSpeed::Hdr);
  fabric.connect(there, far, wire::LinkWidth::W4x, wire::LinkSpeed::Hdr);
  const fabric::CompactGraph graph(fabric);
  const tables::LinearTables before = rerouter.routes().lfts;
  const auto change = rerouter.update(fabric, graph);
  ASSERT_TRUE(change.has_value());
  expect_difference(before, rerouter.routes().lfts, *change);
  EXPECT_LE(change->blocks.size() * 4, difference({}, rerouter.routes().lfts).blocks.size());
  EXPECT_TRUE(tables::verify(fabric, graph, rerouter.routes().lfts).must_ok());
}

/// Entries for LIDs that are in use, which led to a switch or are its own.
std::size_t entries_by(const fabric::CompactGraph& graph, const tables::LinearTables& tables,
                       fabric::SwitchIndex by) {
  std::size_t count = tables.lid_count();  // its own row
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& d : graph.destinations()) {
      const auto arcs = graph.arcs(s);
      count += std::ranges::any_of(arcs, [&](const auto& arc) {
        return arc.to == by && (arc.out_port == tables.at(s, d.lid) || d.leaf == by);
      });
    }
  return count;
}

TEST(Reroute, ALostSwitchIsRoutedAroundKeepingWhatFits) {
  const auto whole = generated_tree(12, 3);
  const fabric::CompactGraph old(whole);
  fabric::SwitchIndex middle = 0;
  while (old.attached()[middle] != 0) ++middle;
  auto damaged = whole;
  for (const auto& arc : old.arcs(middle)) damaged.disconnect({old.node_of(middle), arc.out_port});
  damaged.port(old.node_of(middle), 0).lid = Lid{};
  damaged.reindex();
  const fabric::CompactGraph graph(damaged);
  for (const char* engine : {"minhop", "updn", "dnup", "ftree"}) {
    SCOPED_TRACE(engine);
    Rerouter rerouter = started(engine, whole);
    const std::size_t due = entries_by(old, rerouter.routes().lfts, middle);
    const auto expect_good = [&](const fabric::Fabric& fabric, const fabric::CompactGraph& now) {
      tables::VerifyOptions options;
      options.credit_loops_are_must = rerouter.routes().promises_deadlock_freedom;
      const auto verdict = tables::verify(fabric, now, rerouter.routes().lfts, options);
      EXPECT_TRUE(verdict.must_ok());
      const auto best = tables::verify(fabric, now, fresh(engine, fabric, now).lfts);
      EXPECT_LE(static_cast<double>(verdict.load_max), 1.1 * static_cast<double>(best.load_max));
    };
    const auto change = rerouter.update(damaged, graph);
    ASSERT_TRUE(change.has_value());
    EXPECT_NE(change->recomputed, "");
    EXPECT_LE(change->entries.size(), 4 * due);
    expect_good(damaged, graph);
    const auto again = rerouter.update(whole, old);
    ASSERT_TRUE(again.has_value());
    EXPECT_LE(again->entries.size(), 4 * due);
    expect_good(whole, old);
  }
}

/// One of the hosts of `whole`, and the fabric that is left when it goes.
std::pair<fabric::Destination, fabric::Fabric> without_its_first_host(
    const fabric::Fabric& whole, const fabric::CompactGraph& graph) {
  const auto host =
      std::ranges::find_if(graph.destinations(), [](const auto& d) { return !d.is_switch(); });
  auto without = whole;
  without.disconnect(host->end_port);
  without.port(host->end_port).lid = Lid{};
  without.reindex();
  return {*host, without};
}

TEST(Reroute, AHostThatComesChangesNothingButItsOwnEntries) {
  const auto whole = generated_tree(8, 3);
  const fabric::CompactGraph old(whole);
  const auto [host, without] = without_its_first_host(whole, old);
  const fabric::CompactGraph graph(without);
  for (const char* engine : {"minhop", "updn", "dnup", "ftree"}) {
    SCOPED_TRACE(engine);
    Rerouter rerouter = started(engine, without);
    const auto change = rerouter.update(whole, old);
    ASSERT_TRUE(change.has_value());
    std::size_t others = 0;
    for (const auto& entry : change->entries) others += entry.lid != host.lid;
    EXPECT_LE(others, 20U);
    EXPECT_GE(change->entries.size() - others, old.switch_count());
    EXPECT_TRUE(tables::verify(whole, old, rerouter.routes().lfts).must_ok());
  }
}

TEST(Reroute, NothingLeadsToALidThatWentAway) {
  const auto whole = generated_tree(8, 3);
  const fabric::CompactGraph old(whole);
  const auto [host, without] = without_its_first_host(whole, old);
  const fabric::CompactGraph graph(without);
  for (const char* engine : {"minhop", "updn", "dnup", "ftree"}) {
    SCOPED_TRACE(engine);
    Rerouter rerouter = started(engine, whole);
    const auto change = rerouter.update(without, graph);
    ASSERT_TRUE(change.has_value());
    EXPECT_EQ(change->entries.size(), old.switch_count());
    for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
      EXPECT_EQ(rerouter.routes().lfts.at(s, host.lid), tables::kNoPort);
  }
}

TEST(Reroute, WhatTheEngineSaysOfAnotherFabricIsSaid) {
  const auto whole = generated_tree(8, 3);
  const fabric::CompactGraph old(whole);
  fabric::SwitchIndex top = 0;
  const auto above_hosts = [&](fabric::SwitchIndex s) {
    return std::ranges::any_of(old.arcs(s),
                               [&](const auto& a) { return old.attached()[a.to] != 0; });
  };
  while (old.attached()[top] != 0 || above_hosts(top)) ++top;
  auto damaged = whole;
  for (const auto& arc : old.arcs(top)) damaged.disconnect({old.node_of(top), arc.out_port});
  damaged.node(old.node_of(top)).guid = Guid{0xABC};
  for (unsigned p = 0; p <= damaged.node(old.node_of(top)).num_ports; ++p)
    damaged.port({old.node_of(top), static_cast<std::uint8_t>(p)}).guid = Guid{0xABC};
  damaged.reindex();
  const fabric::CompactGraph graph(damaged);
  for (const char* name : {"updn", "ftree"}) {
    SCOPED_TRACE(name);
    const auto& engine = *find_engine(name);
    for (const bool other_roots : {true, false}) {
      Options options;
      options.roots.file = "roots";
      options.roots.entries.push_back({old.guid(top), 1, {}, {}});
      for (fabric::SwitchIndex s = 0; other_roots && s < old.switch_count(); ++s)
        if (s != top && old.attached()[s] == 0 && !above_hosts(s))
          options.roots.entries.push_back({old.guid(s), s + 2, {}, {}});
      Rerouter rerouter(engine, options);
      rerouter.adopt(whole, old, engine.compute({&whole, &old, options, nullptr}).value());
      EXPECT_TRUE(rerouter.routes().notes.empty());
      const auto before = rerouter.routes().lfts;
      const auto change = rerouter.update(damaged, graph);
      const auto best = engine.compute({&damaged, &graph, options, nullptr});
      ASSERT_EQ(change.has_value(), best.has_value());
      if (!change) {
        EXPECT_EQ(change.error().message, best.error().message);
        EXPECT_EQ(rerouter.routes().lfts, before);
        continue;
      }
      EXPECT_TRUE(other_roots);
      EXPECT_FALSE(best->notes.empty());
      EXPECT_EQ(rerouter.routes().notes, best->notes);
      EXPECT_EQ(rerouter.routes().engine, best->engine);
      EXPECT_EQ(rerouter.routes().promises_deadlock_freedom, best->promises_deadlock_freedom);
      EXPECT_EQ(rerouter.routes().multicast.up_order.size(), graph.switch_count());
    }
  }
}

TEST(Reroute, ALinkThatCameBackSlowerCarriesLess) {
  auto fabric = generated_tree(8, 2);
  Rerouter rerouter = started("minhop", fabric);
  const fabric::CompactGraph whole(fabric);
  const auto host =
      std::ranges::find_if(whole.destinations(), [](const auto& d) { return !d.is_switch(); });
  const auto arc = whole.arcs(host->leaf).front();
  const fabric::PortRef a{whole.node_of(host->leaf), arc.out_port};
  const fabric::PortRef b{whole.node_of(arc.to), arc.in_port};
  const auto carried = [&] {
    std::size_t lids = 0;
    for (const auto& d : whole.destinations())
      lids += !d.is_switch() && d.leaf != host->leaf &&
              rerouter.routes().lfts.at(host->leaf, d.lid) == arc.out_port;
    return lids;
  };
  const std::size_t before = carried();
  fabric.disconnect(a);
  fabric.connect(a, b, wire::LinkWidth::W1x, wire::LinkSpeed::Hdr);
  const auto change = rerouter.update(fabric, fabric::CompactGraph(fabric));
  ASSERT_TRUE(change.has_value());
  EXPECT_NE(change->recomputed, "");
  EXPECT_LT(carried(), before);
  EXPECT_TRUE(
      tables::verify(fabric, fabric::CompactGraph(fabric), rerouter.routes().lfts).must_ok());
}

TEST(Reroute, AnEngineWithoutCandidatesComputesEverythingAndSaysSo) {
  auto fabric = fabric::generate(fabric::Grid{{4, 4}}).value();
  Rerouter rerouter = started("dor", fabric);
  std::mt19937_64 random(5);
  Cables(fabric).fail_one(random);
  const fabric::CompactGraph graph(fabric);
  const auto change = rerouter.update(fabric, graph);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->recomputed, "dor routes as a whole");
  EXPECT_TRUE(tables::verify(fabric, graph, rerouter.routes().lfts).must_ok());
}

}  // namespace
}  // namespace ib::route
