// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Verification of SLs, VLs, LIDs of switches and multicast trees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engine.h"
#include "libdiag/tables/verify.h"

namespace ib::tables {
namespace {

using fabric::SwitchIndex;
using ::testing::HasSubstr;

/// A ring of switches with one host each, routed by one of our engines.
struct Ring {
  fabric::Fabric fabric;
  fabric::CompactGraph graph;
  LinearTables tables;
  unsigned size;

  Ring(unsigned switches, const char* engine)
      : fabric(fabric::generate(fabric::Grid{{switches}, true, 1, 1}).value()),
        graph(fabric),
        tables(route::find_engine(engine)->compute({&fabric, &graph, {}, nullptr})->lfts),
        size(switches) {}

  SwitchIndex next(SwitchIndex s, const Lid& lid) const {
    for (const auto& arc : graph.arcs(s))
      if (arc.out_port == tables.at(s, lid)) return arc.to;
    return fabric::kNoSwitch;
  }
  std::uint8_t port(SwitchIndex from, SwitchIndex to) const {
    for (const auto& arc : graph.arcs(from))
      if (arc.to == to) return arc.out_port;
    return 0;
  }
  Lid host_of(SwitchIndex leaf) const {
    for (const auto& d : graph.destinations())
      if (d.leaf == leaf && !d.is_switch()) return d.lid;
    return kNoLid;
  }
  std::uint8_t host_port(SwitchIndex leaf) const { return tables.at(leaf, host_of(leaf)); }

  /// SL 1 for pairs of which a path turns at switch 0, else SL 0; each SL on a VL of its own.
  VirtualLanes two_layers() const {
    VirtualLanes virtual_lanes{PathSls(size, Sl{0}), SlToVl(SlToVlRow::modulo(2))};
    for (SwitchIndex a = 0; a < size; ++a)
      for (SwitchIndex b = 0; b < size; ++b)
        for (SwitchIndex s = a; s != b; s = next(s, host_of(b)))
          if (s == 0 && a != 0) virtual_lanes.sls.set(a, b, Sl{1});
    return virtual_lanes;
  }
};

VerifyOptions strict() {
  VerifyOptions options;
  options.credit_loops_are_must = true;
  return options;
}

std::string messages(const Verdict& verdict) {
  std::string all;
  for (const auto& f : verdict.findings) all += f.message + "\n";
  return all;
}

TEST(VerifyVls, TwoLayersBreakTheCreditLoopOfARing) {
  const Ring ring(6, "minhop");
  const Verdict one = verify(ring.fabric, ring.graph, ring.tables, strict());
  EXPECT_GT(one.credit_loop_channels, 0U);
  EXPECT_THAT(messages(one), testing::Not(HasSubstr("VL")));
  const Verdict two = verify(ring.fabric, ring.graph, ring.tables, ring.two_layers(), {}, strict());
  EXPECT_EQ(two.credit_loop_channels, 0U) << messages(two);
  EXPECT_EQ(two.vls, 2U);
  EXPECT_TRUE(two.must_ok());
  // On the wire both layers meet again when every SL becomes VL 0.
  VirtualLanes merged = ring.two_layers();
  merged.sl_to_vl = SlToVl(SlToVlRow{});
  const Verdict wrong = verify(ring.fabric, ring.graph, ring.tables, merged, {}, strict());
  EXPECT_GT(wrong.credit_loop_channels, 0U);
  EXPECT_THAT(messages(wrong), HasSubstr("VL 0"));
}

TEST(VerifyVls, RefusesAnAsymmetricSl) {
  const Ring ring(6, "minhop");
  VirtualLanes virtual_lanes = ring.two_layers();
  virtual_lanes.sls.set_one_way(2, 4, Sl{1});
  const Verdict verdict = verify(ring.fabric, ring.graph, ring.tables, virtual_lanes, {}, strict());
  EXPECT_EQ(verdict.asymmetric_pairs, 1U);
  EXPECT_FALSE(verdict.must_ok());
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings[0].kind, Finding::Kind::AsymmetricSl);
  EXPECT_THAT(verdict.findings[0].message, HasSubstr(to_string(ring.graph.guid(2))));
  EXPECT_THAT(verdict.findings[0].message, HasSubstr(to_string(ring.graph.guid(4))));
  EXPECT_THAT(verdict.findings[0].message, HasSubstr("SL 1, but those answer with SL 0"));
}

TEST(VerifyVls, FollowsTheInputPort) {
  // Clockwise round three switches: what hosts send is on VL 0, what passes through on VL 1, so
  // that no channel waits for one of its own kind.
  Ring ring(3, "minhop");
  for (SwitchIndex s = 0; s < 3; ++s)
    for (SwitchIndex leaf = 0; leaf < 3; ++leaf)
      if (leaf != s) ring.tables.set(s, ring.host_of(leaf), ring.port(s, (s + 1) % 3));
  EXPECT_EQ(verify(ring.fabric, ring.graph, ring.tables).credit_loop_channels, 3U);
  const SlToVlRow injected{}, passing = [] {
    SlToVlRow row;
    row.vl.fill(1);
    return row;
  }();
  VirtualLanes virtual_lanes{PathSls(Sl{0}), SlToVl(ring.graph, injected)};
  for (SwitchIndex s = 0; s < 3; ++s)
    virtual_lanes.sl_to_vl.set(s, ring.port(s, (s + 2) % 3), ring.port(s, (s + 1) % 3), passing);
  const Verdict verdict = verify(ring.fabric, ring.graph, ring.tables, virtual_lanes, {}, strict());
  EXPECT_EQ(verdict.credit_loop_channels, 0U) << messages(verdict);
  EXPECT_TRUE(verdict.must_ok());
}

TEST(VerifyVls, AWrongRowIsFoundAndNamed) {
  const Ring ring(6, "minhop");
  VirtualLanes virtual_lanes = ring.two_layers();
  virtual_lanes.sl_to_vl = SlToVl(ring.graph, SlToVlRow::modulo(2));
  const std::uint8_t out = ring.port(0, 1), in = ring.port(0, 5);
  SlToVlRow drops = SlToVlRow::modulo(2);
  drops.vl[1] = 15;
  virtual_lanes.sl_to_vl.set(0, in, out, drops);
  const Verdict verdict = verify(ring.fabric, ring.graph, ring.tables, virtual_lanes, {}, strict());
  EXPECT_EQ(verdict.vl_faults, 1U);
  EXPECT_FALSE(verdict.must_ok());
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings[0].kind, Finding::Kind::Vl);
  EXPECT_THAT(verdict.findings[0].message, HasSubstr(to_string(ring.graph.guid(0))));
  EXPECT_THAT(verdict.findings[0].message, HasSubstr("port " + std::to_string(out)));
}

TEST(VerifyVls, LinksNeedTheVlsTheyCarry) {
  Ring ring(6, "minhop");
  // One data VL on the link between switches 0 and 1, 4 elsewhere; a host of one VL.
  for (SwitchIndex s = 0; s < 6; ++s)
    for (unsigned p = 1; p <= ring.graph.num_ports(s); ++p)
      ring.fabric.port(ring.graph.node_of(s), p).vl_cap = 3;
  const VirtualLanes virtual_lanes = ring.two_layers();
  EXPECT_TRUE(verify(ring.fabric, ring.graph, ring.tables, virtual_lanes, {}, strict()).must_ok());
  ring.fabric.port(ring.graph.node_of(0), ring.port(0, 1)).vl_cap = 1;
  const Verdict verdict = verify(ring.fabric, ring.graph, ring.tables, virtual_lanes, {}, strict());
  EXPECT_EQ(verdict.vl_faults, 2U);  // both directions
  EXPECT_THAT(messages(verdict), HasSubstr("carries VL 1, but its link operates 1 data VL"));

  ring.fabric.port(ring.graph.node_of(0), ring.port(0, 1)).vl_cap = 3;
  const auto host = ring.fabric.port(ring.graph.node_of(1), ring.host_port(1)).peer;
  ring.fabric.port(host).vl_cap = 1;
  // A host's link closes no cycle, and its rows are folded: worth a word.
  const Verdict at_host = verify(ring.fabric, ring.graph, ring.tables, virtual_lanes, {}, strict());
  EXPECT_EQ(at_host.vl_faults, 0U);
  EXPECT_TRUE(at_host.must_ok());
  ASSERT_EQ(at_host.findings.size(), 1U);
  EXPECT_FALSE(at_host.findings[0].must);
  EXPECT_THAT(messages(at_host), HasSubstr("operates 1 data VL, and VL 1 is folded"));

  ring.fabric.port(host).vl_cap = 7;  // a code that means none: nothing to fold to
  const Verdict dead = verify(ring.fabric, ring.graph, ring.tables, virtual_lanes, {}, strict());
  EXPECT_EQ(dead.vl_faults, 1U);
  EXPECT_FALSE(dead.must_ok());
}

TEST(VerifyVls, ALinkOfNoVlsCarriesNothing) {
  Ring ring(4, "minhop");
  ring.fabric.port(ring.graph.node_of(1), ring.port(1, 2)).vl_cap = 7;  // a code that means none
  const Verdict verdict = verify(ring.fabric, ring.graph, ring.tables);
  EXPECT_EQ(verdict.vl_faults, 2U);
  EXPECT_THAT(messages(verdict), HasSubstr("operates 0 data VLs"));
}

TEST(VerifyVls, TrafficWithTheSmIsOnItsSl) {
  const Ring ring(6, "minhop");
  VirtualLanes virtual_lanes = ring.two_layers();
  SlToVlRow row = SlToVlRow::modulo(2);
  row.vl[5] = 15;
  virtual_lanes.sl_to_vl = SlToVl(row);
  VerifyOptions options = strict();
  options.sm_lid = ring.host_of(3);
  EXPECT_TRUE(verify(ring.fabric, ring.graph, ring.tables, virtual_lanes, {}, options).must_ok());
  options.master_sm_sl = Sl{5};
  EXPECT_GT(verify(ring.fabric, ring.graph, ring.tables, virtual_lanes, {}, options).vl_faults, 0U);
  // On SL 0 with everyone it turns at switch 0 in the other layer, but cannot close its cycle.
  options.master_sm_sl = Sl{0};
  EXPECT_TRUE(verify(ring.fabric, ring.graph, ring.tables, virtual_lanes, {}, options).must_ok());
}

TEST(VerifyVls, LidsOfSwitchesGiveWay) {
  // Hosts are reached along a line, switches the short way round.
  const Ring minhop(6, "minhop");
  Ring ring(6, "minhop");
  for (SwitchIndex s = 0; s < 6; ++s)
    for (SwitchIndex leaf = 0; leaf < 6; ++leaf)
      if (leaf != s) ring.tables.set(s, ring.host_of(leaf), ring.port(s, leaf > s ? s + 1 : s - 1));
  const Verdict verdict = verify(ring.fabric, ring.graph, ring.tables, strict());
  EXPECT_EQ(verdict.credit_loop_channels, 0U);
  EXPECT_TRUE(verdict.must_ok());
  EXPECT_GT(verdict.switch_turns_refused, 0U);
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_FALSE(verdict.findings.back().must);
  EXPECT_NE(verdict.findings.back().lid, kNoLid);
  EXPECT_THAT(verdict.findings.back().message, HasSubstr("would close a credit loop"));
  // Judged like hosts they are a credit loop.
  VerifyOptions plain;
  plain.switch_lids_as_cas = true;
  EXPECT_GT(verify(ring.fabric, ring.graph, ring.tables, plain).credit_loop_channels, 0U);
}

/// A line of switches 0 - 1 - ... as a tree, all hosts members.
std::map<SwitchIndex, PortMask> line(const Ring& ring) {
  std::map<SwitchIndex, PortMask> tree;
  for (SwitchIndex s = 0; s < ring.size; ++s) {
    tree[s].set(ring.host_port(s));
    if (s > 0) tree[s].set(ring.port(s, s - 1));
    if (s + 1 < ring.size) tree[s].set(ring.port(s, s + 1));
  }
  return tree;
}

struct MulticastRing : testing::Test {
  MulticastRing() {
    for (SwitchIndex s = 0; s < 6; ++s)
      for (SwitchIndex leaf = 0; leaf < 6; ++leaf)
        if (leaf != s)
          ring.tables.set(s, ring.host_of(leaf), ring.port(s, leaf > s ? s + 1 : s - 1));
  }
  Verdict judge(bool claimed) {
    return verify(ring.fabric, ring.graph, ring.tables, VirtualLanes{},
                  {&trees, Sl{0}, claimed, members}, strict());
  }
  Ring ring{6, "minhop"};
  MulticastTables trees;
  const std::map<Lid, std::vector<SwitchIndex>>* members{nullptr};
};

TEST_F(MulticastRing, ATreeAlongTheUnicastRoutesIsProved) {
  EXPECT_EQ(judge(true).multicast, MulticastVerdict::None);
  trees[Lid{0xC000}] = line(ring);
  const Verdict verdict = judge(true);
  EXPECT_EQ(verdict.multicast, MulticastVerdict::Proved) << messages(verdict);
  EXPECT_TRUE(verdict.must_ok());
  EXPECT_EQ(judge(false).multicast, MulticastVerdict::NotProved);
}

TEST_F(MulticastRing, ACreditLoopWithUnicastIsAMustWhereNoneIsClaimed) {
  // The same line cut between 2 and 3 and closed between 5 and 0.
  auto tree = line(ring);
  tree[2].clear(ring.port(2, 3)), tree[3].clear(ring.port(3, 2));
  tree[5].set(ring.port(5, 0)), tree[0].set(ring.port(0, 5));
  trees[Lid{0xC000}] = tree;
  const Verdict verdict = judge(true);
  EXPECT_EQ(verdict.multicast, MulticastVerdict::Failed);
  EXPECT_GT(verdict.credit_loop_channels, 0U);
  EXPECT_FALSE(verdict.must_ok());
  const Verdict unclaimed = judge(false);
  EXPECT_EQ(unclaimed.multicast, MulticastVerdict::NotProved);
  EXPECT_EQ(unclaimed.credit_loop_channels, 0U);
  EXPECT_TRUE(unclaimed.must_ok());
}

TEST_F(MulticastRing, ALoopAndALonelyMemberAreFound) {
  auto tree = line(ring);
  tree[5].set(ring.port(5, 0)), tree[0].set(ring.port(0, 5));
  trees[Lid{0xC001}] = tree;
  Verdict verdict = judge(false);
  EXPECT_EQ(verdict.multicast, MulticastVerdict::Failed);
  EXPECT_EQ(verdict.multicast_faults, 1U);
  EXPECT_THAT(messages(verdict), HasSubstr("closes a loop"));

  tree = line(ring);
  tree[2].clear(ring.port(2, 3)), tree[3].clear(ring.port(3, 2));
  trees[Lid{0xC001}] = tree;
  verdict = judge(false);
  EXPECT_EQ(verdict.multicast_faults, 3U);  // switches 3, 4 and 5
  EXPECT_THAT(messages(verdict), HasSubstr("is not joined to"));

  tree = line(ring);
  tree[3].clear(ring.port(3, 2));
  trees[Lid{0xC001}] = tree;
  EXPECT_THAT(messages(judge(false)), HasSubstr("whose table does not have the link"));

  trees.clear();
  const std::map<Lid, std::vector<SwitchIndex>> wanted{{Lid{0xC002}, {0, 4}}};
  members = &wanted;
  trees[Lid{0xC001}] = line(ring);
  EXPECT_THAT(messages(judge(false)), HasSubstr("MLID 0xc002: it has members and no tree"));
}

}  // namespace
}  // namespace ib::tables
