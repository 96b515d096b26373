// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/multicast/multicast.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <set>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engine.h"
#include "libdiag/tables/verify.h"
#include "tests/unit/tables/cut.h"

namespace ib::route {
namespace {

using fabric::CompactGraph;
using fabric::Fabric;
using fabric::NodeIndex;
using fabric::PortRef;
using fabric::SwitchIndex;
using Masks = std::map<SwitchIndex, tables::PortMask>;

std::vector<PortRef> host_ports(const Fabric& f) {
  std::vector<PortRef> out;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch() && f.port(n, 1).peer) out.push_back({n, 1});
  return out;
}

/// Copies a packet along the masks as switches do: not back out of the port it came in by. How
/// often each host gets it; fails on a loop.
std::map<PortRef, int> deliver(const Fabric& f, const CompactGraph& g, const Masks& masks,
                               PortRef from) {
  std::map<PortRef, int> got;
  std::vector<PortRef> arriving{f.port(from).peer};
  for (std::size_t i = 0; i < arriving.size(); ++i) {
    EXPECT_LT(arriving.size(), 10000U) << "a loop";
    if (arriving.size() >= 10000U) return got;
    const PortRef in = arriving[i];
    const auto mask = masks.find(g.switch_of(in.node));
    if (mask == masks.end()) continue;
    for (unsigned p = 1; p <= f.node(in.node).num_ports; ++p) {
      if (p == in.port || !mask->second.test(p)) continue;
      const PortRef to = f.port(in.node, p).peer;
      if (f.node(to.node).is_switch()) {
        arriving.push_back(to);
      } else {
        ++got[to];
      }
    }
  }
  return got;
}

Masks tree_of(const Fabric& f, const CompactGraph& g, const MulticastGroup& group,
              const MulticastRule& rule = {}) {
  const auto tables = multicast_trees(f, g, std::span(&group, 1), rule);
  return tables.empty() ? Masks{} : tables.begin()->second;
}

/// Every host of every `step`th, from `first`.
MulticastGroup group_of(const Fabric& f, std::uint16_t mlid, std::size_t first = 0,
                        std::size_t step = 1) {
  MulticastGroup group;
  group.mlid = Lid{mlid};
  const auto all = host_ports(f);
  for (std::size_t i = first; i < all.size(); i += step)
    group.receivers.push_back(f.port(all[i]).guid);
  return group;
}

TEST(MulticastTree, EveryMemberGetsOneCopyFromEveryOther) {
  fabric::Grid torus;
  torus.sizes = {3, 3};
  torus.hosts = 2;
  const Fabric f = *fabric::generate(torus);
  const CompactGraph g(f);
  const auto all = host_ports(f);
  MulticastGroup group;
  group.mlid = Lid{0xC000};
  std::set<PortRef> receivers;
  for (std::size_t i = 0; i < all.size(); i += 3) {
    group.receivers.push_back(f.port(all[i]).guid);
    receivers.insert(all[i]);
  }
  group.senders.push_back(f.port(all[1]).guid);
  const Masks masks = tree_of(f, g, group);
  for (const PortRef from : all) {
    if (!receivers.contains(from) && from != all[1]) continue;
    const auto got = deliver(f, g, masks, from);
    for (const PortRef to : all)
      EXPECT_EQ(got.contains(to) ? got.at(to) : 0, receivers.contains(to) && to != from ? 1 : 0)
          << from.node << " to " << to.node;
  }
}

TEST(MulticastTree, MembersOfOneSwitchNeedNoOther) {
  const Fabric f = *fabric::generate(fabric::Grid{});
  const CompactGraph g(f);
  MulticastGroup group;
  group.receivers = {f.port(host_ports(f)[0]).guid};
  EXPECT_EQ(tree_of(f, g, group).size(), 1U);
}

TEST(MulticastTree, NobodyToReceiveMeansNoEntry) {
  const Fabric f = *fabric::generate(fabric::Grid{});
  const CompactGraph g(f);
  MulticastGroup group;
  group.senders = {f.port(host_ports(f)[0]).guid};
  group.receivers = {Guid{0xDEAD}};  // left the fabric
  EXPECT_TRUE(tree_of(f, g, group).empty());
}

TEST(MulticastTree, GroupsTakeTurnsAtTheTops) {
  fabric::FatTree kind;
  kind.radix = 8;  // 8 leaves, 4 spines
  const Fabric f = *fabric::generate(kind);
  const CompactGraph g(f);
  std::vector<MulticastGroup> groups;
  for (std::uint16_t i = 0; i < 16; ++i)
    groups.push_back(group_of(f, static_cast<std::uint16_t>(0xC000 + i)));
  const auto tables = multicast_trees(f, g, groups);
  std::map<SwitchIndex, int> tops;
  for (const auto& [mlid, masks] : tables) {
    EXPECT_EQ(masks.size(), 9U);  // one spine and all leaves: nothing is deeper than it must be
    for (const auto& [s, mask] : masks)
      if (g.attached()[s] == 0) ++tops[s];
  }
  ASSERT_EQ(tops.size(), 4U);
  for (const auto& [s, count] : tops) EXPECT_EQ(count, 4);
  // A tree depends on its own members only where that spreads them.
  groups.erase(groups.begin() + 3);
  const auto fewer = multicast_trees(f, g, groups);
  for (const auto& [mlid, masks] : fewer) EXPECT_TRUE(masks == tables.at(mlid));
}

/// MLIDs at a stride of the number of tops, of which each would mean the same one, and groups of
/// one size, of which each would mean the same links.
TEST(MulticastTree, TopsAndLinksAreSharedWhateverTheMlidsAre) {
  fabric::FatTree kind;
  kind.radix = 8;  // 8 leaves, 4 spines
  const Fabric f = *fabric::generate(kind);
  const CompactGraph g(f);
  for (const unsigned stride : {1U, 2U, 4U, 8U, 16U}) {
    std::vector<MulticastGroup> groups;
    for (unsigned i = 0; i < 64; ++i)
      groups.push_back(group_of(f, static_cast<std::uint16_t>(0xC000 + i * stride), i % 3, 3));
    const auto tables = multicast_trees(f, g, groups);
    std::map<SwitchIndex, int> tops;
    for (const auto& [mlid, masks] : tables)
      for (const auto& [s, mask] : masks)
        if (g.attached()[s] == 0) ++tops[s];
    ASSERT_EQ(tops.size(), 4U) << stride;
    for (const auto& [s, count] : tops) EXPECT_NEAR(count, 16, 4) << stride;
    // A group that goes changes no other.
    groups.erase(groups.begin() + 3);
    const auto fewer = multicast_trees(f, g, groups);
    std::size_t changed = 0;
    for (const auto& [mlid, masks] : fewer) changed += masks == tables.at(mlid) ? 0 : 1;
    EXPECT_EQ(changed, 0U) << stride;
  }
}

/// Only MLIDs that mean one top are in use: what is well beyond the others goes to them.
TEST(MulticastTree, ATopThatIsMeantTooOftenIsRelieved) {
  fabric::FatTree kind;
  kind.radix = 8;
  const Fabric f = *fabric::generate(kind);
  const CompactGraph g(f);
  const auto tops_of = [&](const tables::MulticastTables& tables) {
    std::map<SwitchIndex, int> tops;
    for (const auto& [mlid, masks] : tables)
      for (const auto& [s, mask] : masks)
        if (g.attached()[s] == 0) ++tops[s];
    return tops;
  };
  std::vector<MulticastGroup> groups;
  std::optional<SwitchIndex> first;
  for (std::uint16_t mlid = 0xC000; groups.size() < 40; ++mlid) {
    const MulticastGroup group = group_of(f, mlid);
    const SwitchIndex top = tops_of(multicast_trees(f, g, std::span(&group, 1))).begin()->first;
    if (first.value_or(top) == top) groups.push_back(group), first = top;
  }
  const auto tops = tops_of(multicast_trees(f, g, groups));
  ASSERT_EQ(tops.size(), 4U);
  for (const auto& [s, count] : tops) EXPECT_NEAR(count, 10, 3);
}

TEST(MulticastTree, ParallelCablesShareTheGroups) {
  fabric::Grid kind;
  kind.sizes = {2};
  kind.wrap = false;
  kind.hosts = 1;
  kind.cables = 3;
  const Fabric f = *fabric::generate(kind);
  const CompactGraph g(f);
  std::map<std::uint8_t, int> used;
  for (std::uint16_t i = 0; i < 12; ++i) {
    const auto masks = tree_of(f, g, group_of(f, static_cast<std::uint16_t>(0xC000 + i)));
    for (const auto& arc : g.arcs(0)) used[arc.out_port] += masks.at(0).test(arc.out_port) ? 1 : 0;
  }
  ASSERT_EQ(used.size(), 3U);
  for (const auto& [port, count] : used) EXPECT_EQ(count, 4) << int{port};
}

/// Trees by the rule of every engine that has one are proved together with its unicast routes.
TEST(MulticastTree, ByAnEnginesRuleTreesCloseNoCreditLoop) {
  fabric::FatTree tree;
  tree.radix = 8;
  fabric::Grid torus;
  torus.sizes = {4, 4};
  fabric::GenerateCommon damaged;
  damaged.missing_links_percent = 10;
  std::vector<Fabric> fabrics;
  fabrics.push_back(*fabric::generate(tree));
  fabrics.push_back(*fabric::generate(tree, damaged));
  fabrics.push_back(*fabric::generate(torus));
  fabrics.push_back(*fabric::generate(fabric::RandomGraph{}));
  fabrics.push_back(*fabric::generate(fabric::DragonflyPlus{}));
  std::set<std::string> proved;
  for (const Fabric& f : fabrics) {
    const CompactGraph g(f);
    std::vector<MulticastGroup> groups;
    for (std::uint16_t i = 0; i < 8; ++i)
      groups.push_back(group_of(f, static_cast<std::uint16_t>(0xC000 + i), i, i + 1U));
    for (const EngineEntry& engine : engines()) {
      Request request;
      request.fabric = &f;
      request.graph = &g;
      request.vls = 8;
      const auto routes = engine.compute(request);
      if (!routes || !claims(routes->multicast)) continue;
      const auto trees = multicast_trees(f, g, groups, routes->multicast);
      EXPECT_EQ(trees.size(), groups.size());
      std::map<Lid, std::vector<SwitchIndex>> members;
      for (const auto& group : groups)
        for (const Guid guid : group.receivers)
          members[group.mlid].push_back(g.switch_of(f.port(*f.find_port_guid(guid)).peer.node));
      tables::MulticastCheck check;
      check.trees = &trees;
      check.sl = routes->multicast.sl;
      check.claimed = true;
      check.members = &members;
      // Groups on all the SLs that are claimed.
      std::map<Lid, std::uint16_t> sls;
      for (const auto& group : groups)
        sls[group.mlid] =
            static_cast<std::uint16_t>(routes->multicast.sls | 1U << routes->multicast.sl.value);
      check.sls = &sls;
      const auto verdict = tables::verify(f, g, routes->lfts, routes->virtual_lanes, check, {});
      EXPECT_EQ(verdict.multicast, tables::MulticastVerdict::Proved)
          << engine.name << (verdict.findings.empty() ? "" : ": " + verdict.findings[0].message);
      proved.insert(engine.name);
    }
  }
  EXPECT_TRUE(proved.contains("updn"));
}

/// Groups of all hosts use all spines of a full tree, though the order that their trees keep to has
/// one top, and are proved together with the unicast routes.
TEST(Multicast, GroupsOfAllHostsSpreadOverAllSpines) {
  for (const unsigned levels : {2U, 3U}) {
    fabric::FatTree tree;
    tree.radix = 8;
    tree.levels = levels;
    const Fabric f = *fabric::generate(tree);
    const CompactGraph g(f);
    std::vector<MulticastGroup> groups;
    for (std::uint16_t i = 0; i < 64; ++i)
      groups.push_back(group_of(f, static_cast<std::uint16_t>(0xC000 + i)));
    for (const char* engine : {"ftree", "updn"}) {
      SCOPED_TRACE(testing::Message() << engine << ", " << levels << " levels");
      const auto routes = find_engine(engine)->compute({&f, &g, {}, nullptr, 1}).value();
      ASSERT_TRUE(claims(routes.multicast));
      const auto trees = multicast_trees(f, g, groups, routes.multicast);
      ASSERT_EQ(trees.size(), groups.size());
      std::vector<std::size_t> over(g.arc_count(), 0);
      for (const auto& [mlid, masks] : trees)
        for (const auto& [s, mask] : masks)
          for (std::size_t i = 0; i < g.arcs(s).size(); ++i)
            over[g.arc_index(s, i)] += mask.test(g.arcs(s)[i].out_port);
      const std::size_t sum = std::accumulate(over.begin(), over.end(), std::size_t{0});
      EXPECT_LE(*std::ranges::max_element(over) * over.size(), 2 * sum);
      tables::MulticastCheck check;
      check.trees = &trees;
      check.claimed = true;
      const auto verdict = tables::verify(f, g, routes.lfts, routes.virtual_lanes, check, {});
      EXPECT_EQ(verdict.multicast, tables::MulticastVerdict::Proved);
    }
  }
}

TEST(Multicast, LanesThatLashLeavesFreeAreClaimedAsWell) {
  const auto f = fabric::generate(fabric::Grid{{6}, true, 1, 1}).value();
  const CompactGraph g(f);
  Request request{&f, &g, {}, nullptr, 8};
  request.options.lash_start_vl = 2;
  const auto routes = find_engine("lash")->compute(request).value();
  EXPECT_EQ(routes.multicast.sls & 3U, 3U);  // below its own
  EXPECT_EQ(routes.multicast.sls >> 8, 0U);  // those above the last VL run on it once more

  const auto verdict_of = [&](const tables::MulticastTables& trees) {
    std::map<Lid, std::uint16_t> sls;
    for (const auto& [mlid, tree] : trees) sls[mlid] = 1U << 0;
    tables::MulticastCheck check{&trees, routes.multicast.sl, true};
    check.sls = &sls;
    tables::VerifyOptions options;
    options.credit_loops_are_must = true;
    return tables::verify(f, g, routes.lfts, routes.virtual_lanes, check, options);
  };
  const auto group = group_of(f, 0xC000);
  const auto good = verdict_of(multicast_trees(f, g, std::span(&group, 1), routes.multicast));
  EXPECT_EQ(good.multicast, tables::MulticastVerdict::Proved);
  EXPECT_TRUE(good.must_ok());

  // Trees that are the ring without one link, each without another.
  tables::MulticastTables around;
  for (std::uint16_t cut = 0; cut < 6; ++cut)
    for (SwitchIndex s = 0; s < 6; ++s) {
      auto& mask = around[Lid{static_cast<std::uint16_t>(0xC000 + cut)}][s];
      for (const auto& arc : g.arcs(s))
        if (!(s == cut && arc.to == (cut + 1U) % 6) && !(arc.to == cut && s == (cut + 1U) % 6))
          mask.set(arc.out_port);
      for (const auto& d : g.destinations())
        if (!d.is_switch() && d.leaf == s) mask.set(d.port);
    }
  const auto bad = verdict_of(around);
  EXPECT_NE(bad.multicast, tables::MulticastVerdict::Proved);
  EXPECT_FALSE(bad.must_ok());
}

TEST(Multicast, AGroupInSeveralPiecesGetsATreeInEach) {
  auto f = fabric::generate(fabric::Grid{{6}, false, 1, 1}).value();
  tables::cut(f, [](SwitchIndex a, SwitchIndex b) { return a < 2 && b >= 2; });
  const CompactGraph g(f);
  const auto masks = tree_of(f, g, group_of(f, 0xC000));
  for (const PortRef from : host_ports(f))
    EXPECT_EQ(deliver(f, g, masks, from).size(),
              pieces_of(g).of[g.switch_of(f.port(from).peer.node)] == 0 ? 1U : 3U);
  const tables::MulticastTables trees{{Lid{0xC000}, masks}};
  const std::map<Lid, std::vector<SwitchIndex>> members{{Lid{0xC000}, {0, 1, 2, 3, 4, 5}}};
  const auto routes = find_engine("minhop")->compute({&f, &g, {}, nullptr, 1}).value();
  const auto verdict =
      tables::verify(f, g, routes.lfts, routes.virtual_lanes, {&trees, Sl{0}, true, &members});
  EXPECT_EQ(verdict.multicast, tables::MulticastVerdict::Proved);
}

}  // namespace
}  // namespace ib::route
