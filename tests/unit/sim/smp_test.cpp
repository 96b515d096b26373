// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Subnet management packets through the Model: routes, attributes, states.
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;

TEST(Smp, NodeInfoSaysWhoAndByWhichPort) {
  Model model(small_fabric());
  Hand hand(model);
  const auto self = hand.get<wire::NodeInfo>({}, attr::kNodeInfo);
  EXPECT_EQ(self.port_guid, Guid{0x31});
  EXPECT_EQ(self.local_port_num, PortNum{1});
  EXPECT_EQ(self.partition_cap, 128);
  const auto s1 = hand.get<wire::NodeInfo>({1}, attr::kNodeInfo);
  EXPECT_EQ(s1.node_type, wire::NodeType::Switch);
  EXPECT_EQ(s1.node_guid, Guid{0x10});
  EXPECT_EQ(s1.local_port_num, PortNum{1});
  const auto s2 = hand.get<wire::NodeInfo>({1, 4}, attr::kNodeInfo);
  EXPECT_EQ(s2.node_guid, Guid{0x20});
  EXPECT_EQ(s2.local_port_num, PortNum{4});
  const auto h2 = hand.get<wire::NodeInfo>({1, 4, 1}, attr::kNodeInfo);
  EXPECT_EQ(h2.port_guid, Guid{0x41});
  EXPECT_EQ(h2.vendor_id, 0x2C9U);
}

// C14-9:2 and C14-9:3: the return path is filled hop by hop; the answer comes back by it with
// HopPointer 0 (C14-13:3).
TEST(Smp, ReturnPathIsFilledAndWalkedBack) {
  Model model(small_fabric());
  Hand hand(model);
  const auto reply = hand.directed({1, 3, 1}, Method::Get, attr::kNodeInfo);
  ASSERT_TRUE(reply);
  const auto back = reply->mad.get<&wire::SmpHeader::return_path>();
  EXPECT_EQ(back[1], 1);
  EXPECT_EQ(back[2], 3);
  EXPECT_EQ(back[3], 1);
  EXPECT_EQ(reply->mad.get<&wire::SmpHeader::hop_pointer>(), 0);
  EXPECT_TRUE(reply->mad.get<&wire::SmpHeader::direction>());
  EXPECT_EQ(reply->mad.method(), Method::GetResp);
}

TEST(Smp, RoutesThatLeadNowhereAreDroppedInSilence) {
  Model model(small_fabric());
  Hand hand(model);
  EXPECT_FALSE(hand.directed({2}, Method::Get, attr::kNodeInfo));        // not our port
  EXPECT_FALSE(hand.directed({1, 30}, Method::Get, attr::kNodeInfo));    // nothing plugged in
  EXPECT_FALSE(hand.directed({1, 99}, Method::Get, attr::kNodeInfo));    // no such port
  EXPECT_FALSE(hand.directed({1, 2, 1}, Method::Get, attr::kNodeInfo));  // through an HCA
}

TEST(Smp, UnknownAttributeAndBadVersionHaveTheirStatus) {
  Model model(small_fabric());
  Hand hand(model);
  const auto unknown = hand.directed({1}, Method::Get, 0x0077);
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->mad.status(), wire::status::kBadAttribute);
  const auto lft_of_hca = hand.directed({}, Method::Get, attr::kLinearForwarding);
  ASSERT_TRUE(lft_of_hca);
  EXPECT_EQ(lft_of_hca->mad.status(), wire::status::kBadAttribute);
  auto r = mad::smp_request(0, 0, mad::DirectedRoute{{1}}, Method::Get, attr::kNodeInfo, 0);
  r.mad.set<&wire::MadHeader::class_version>(9);
  const auto version = hand.exchange(true, r.address, r.mad);
  ASSERT_TRUE(version);
  EXPECT_EQ(version->mad.status(), wire::status::kBadVersion);
}

TEST(Smp, PortsStartInInitWithoutLid) {
  Model model(small_fabric());
  Hand hand(model);
  const auto h1 = hand.port_info({}, 1);
  EXPECT_EQ(h1.port_state, wire::PortState::Initialize);
  EXPECT_EQ(h1.port_physical_state, wire::PhysState::LinkUp);
  EXPECT_EQ(h1.lid, kNoLid);
  EXPECT_EQ(wire::active_speed(h1), LinkSpeed::Edr);
  EXPECT_EQ(wire::active_width(h1), LinkWidth::W4x);
  EXPECT_EQ(h1.mtu_cap, 5);
  const auto idle = hand.port_info({1}, 30);
  EXPECT_EQ(idle.port_state, wire::PortState::Down);
  EXPECT_EQ(idle.port_physical_state, wire::PhysState::Polling);
  EXPECT_EQ(hand.port_info({1}, 0).port_state, wire::PortState::Initialize);  // enhanced
  EXPECT_EQ(hand.port_info({1, 3}, 0).port_state, wire::PortState::Active);   // base
  const auto bad = hand.directed({1}, Method::Get, attr::kPortInfo, 37);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->mad.status(), wire::status::kBadValue);
}

TEST(Smp, LidRoutedPacketsFollowTheProgrammedTableAndNothingElse) {
  Model model(small_fabric());
  Hand hand(model);
  bring_up(hand);
  const auto s2 = hand.by_lid(Lid{2}, Method::Get, attr::kNodeInfo);
  ASSERT_TRUE(s2);
  EXPECT_EQ(wire::body<wire::NodeInfo>(s2->mad).node_guid, Guid{0x20});
  EXPECT_EQ(wire::body<wire::NodeInfo>(s2->mad).local_port_num, PortNum{3});
  // One entry broken by a raw SMP, and LID 2 goes by the other cable.
  EXPECT_EQ(hand.set_lft({1}, {{1, 0}, {2, 4}, {5, 1}, {6, 2}, {7, 3}, {8, 255}}), 0);
  const auto again = hand.by_lid(Lid{2}, Method::Get, attr::kNodeInfo);
  ASSERT_TRUE(again);
  EXPECT_EQ(wire::body<wire::NodeInfo>(again->mad).local_port_num, PortNum{4});
  EXPECT_FALSE(hand.by_lid(Lid{8}, Method::Get, attr::kNodeInfo));
  EXPECT_EQ(model.lft(kS1, Lid{2}), 4);
}

}  // namespace
}  // namespace ib::sim::test
