// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/graph.h"

namespace ib::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using wire::LinkSpeed;
using wire::LinkWidth;
using wire::NodeType;

NodeIndex add(Fabric& f, NodeType type, std::uint64_t guid, unsigned ports) {
  Node node;
  node.type = type;
  node.guid = Guid{guid};
  node.num_ports = static_cast<std::uint8_t>(ports);
  return f.add_node(node);
}

/// h0 - s1 = s2 - h3, two cables between the switches.
struct Dumbbell {
  Fabric f;
  NodeIndex h0 = add(f, NodeType::ChannelAdapter, 0x10, 1);
  NodeIndex s1 = add(f, NodeType::Switch, 0x20, 4);
  NodeIndex s2 = add(f, NodeType::Switch, 0x30, 4);
  NodeIndex h3 = add(f, NodeType::ChannelAdapter, 0x40, 2);
  Dumbbell() {
    link({h0, 1}, {s1, 1});
    link({s1, 3}, {s2, 4});
    link({s1, 4}, {s2, 3});
    link({h3, 2}, {s2, 1});
    f.port(h0, 1).lid = Lid{4};
    f.port(h0, 1).lmc = 1;
    f.port(h3, 2).lid = Lid{1};
    f.port(s1, 0).lid = Lid{2};
    f.port(s2, 0).lid = Lid{3};
    f.reindex();
  }
  void link(PortRef a, PortRef b) { f.connect(a, b, LinkWidth::W4x, LinkSpeed::Edr); }
};

TEST(Fabric, ConnectKeepsBothEnds) {
  Dumbbell d;
  EXPECT_EQ(d.f.link_count(), 4U);
  EXPECT_EQ(d.f.port(d.s2, 4).peer, (PortRef{d.s1, 3}));
  EXPECT_EQ(d.f.port(d.s2, 4).speed, LinkSpeed::Edr);
  EXPECT_TRUE(d.f.port(d.h3, 2).present);
  EXPECT_FALSE(d.f.port(d.h3, 1).present);
  EXPECT_TRUE(d.f.port(d.s1, 2).present) << "switch ports exist with nothing plugged in";
}

TEST(Fabric, MovingACableFreesTheOldEnd) {
  Dumbbell d;
  d.link({d.s1, 3}, {d.s2, 2});
  EXPECT_FALSE(d.f.port(d.s2, 4).peer);
  EXPECT_EQ(d.f.link_count(), 4U);
  d.f.disconnect({d.s2, 2});
  EXPECT_FALSE(d.f.port(d.s1, 3).peer);
  EXPECT_EQ(d.f.link_count(), 3U);
}

TEST(Fabric, FindsByLidAndGuid) {
  Dumbbell d;
  EXPECT_EQ(d.f.find_lid(Lid{5}), (PortRef{d.h0, 1}));
  EXPECT_EQ(d.f.find_lid(Lid{6}), std::nullopt);
  EXPECT_EQ(d.f.find_node(Guid{0x30}), d.s2);
  EXPECT_EQ(end_port_of(d.f, {d.s1, 3}), (PortRef{d.s1, 0}));
  EXPECT_EQ(end_port_of(d.f, {d.h3, 2}), (PortRef{d.h3, 2}));
}

TEST(CompactGraph, HoldsSwitchesArcsAndDestinations) {
  Dumbbell d;
  const CompactGraph g(d.f);
  ASSERT_EQ(g.switch_count(), 2U);
  EXPECT_EQ(g.switch_of(d.s2), 1U);
  EXPECT_EQ(g.switch_of(d.h0), kNoSwitch);
  ASSERT_THAT(g.arcs(0), SizeIs(2));
  EXPECT_EQ(g.arcs(0)[1].out_port, 4);
  EXPECT_EQ(g.arcs(0)[1].in_port, 3);
  EXPECT_THAT(g.attached(), ElementsAre(1U, 1U));
  ASSERT_THAT(g.destinations(), SizeIs(5)) << "two switches, one CA LID, two LIDs by LMC";
  EXPECT_EQ(g.destinations()[0].end_port, (PortRef{d.h3, 2}));
  EXPECT_EQ(g.destinations()[0].leaf, 1U);
  EXPECT_TRUE(g.destinations()[1].is_switch());
  EXPECT_EQ(g.destinations()[4].lid, Lid{5});
  EXPECT_EQ(g.max_lid(), Lid{5});
}

TEST(CompactGraph, LeavesOutCablesThatAreDown) {
  Dumbbell d;
  d.f.port(d.s2, 4).state = wire::PortState::Down;
  d.f.port(d.h3, 2).state = wire::PortState::Down;
  const CompactGraph g(d.f);
  EXPECT_THAT(g.arcs(0), SizeIs(1));
  EXPECT_THAT(g.arcs(1), SizeIs(1));
  EXPECT_THAT(g.attached(), ElementsAre(1U, 0U));
  EXPECT_THAT(g.destinations(), SizeIs(4));
}

TEST(CompactGraph, ACableFromASwitchToItselfIsNoArc) {
  Dumbbell d;
  d.link({d.s1, 2}, {d.s1, 2});
  EXPECT_THAT(CompactGraph(d.f).arcs(0), SizeIs(2));
}

}  // namespace
}  // namespace ib::fabric
