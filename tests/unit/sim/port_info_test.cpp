// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PortInfo (IBA 14.2.5.6): legal values, state transitions (IBA 7.2.7), what a link does meanwhile.
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;
using wire::PhysState;
using wire::PortState;

constexpr auto kTrained = std::chrono::milliseconds(50);

TEST(PortInfoSet, ArmedThenActiveAndNoOtherWay) {
  Model model(small_fabric());
  Hand hand(model);
  const Hops s1{1};
  EXPECT_EQ(hand.set_state(s1, 3, PortState::Active), wire::status::kBadValue);
  EXPECT_EQ(hand.set_state(s1, 3, PortState::Initialize), wire::status::kBadValue);
  EXPECT_EQ(hand.set_state(s1, 3, PortState::Armed), 0);
  EXPECT_EQ(hand.set_state(s1, 3, PortState::Armed), 0);  // the same request again
  EXPECT_EQ(hand.set_state(s1, 3, PortState::Active), 0);
  EXPECT_EQ(hand.set_state(s1, 3, PortState::Active), 0);
  EXPECT_EQ(hand.set_state(s1, 3, PortState::Armed), wire::status::kBadValue);
  EXPECT_EQ(hand.port_info(s1, 3).port_state, PortState::Active);
  EXPECT_EQ(hand.set_state(s1, 30, PortState::Armed), wire::status::kBadValue);  // no link
}

TEST(PortInfoSet, DownBouncesTheLinkAtBothEnds) {
  Model model(small_fabric());
  Hand hand(model);
  bring_up(hand);
  const Hops s1{1};
  EXPECT_EQ(hand.set_state(s1, 3, PortState::Down), 0);
  hand.run_for(std::chrono::milliseconds(1));
  EXPECT_EQ(model.port_info({kS1, 3}).port_state, PortState::Down);
  EXPECT_EQ(model.port_info({kS2, 3}).port_state, PortState::Down);
  hand.run_for(kTrained);
  EXPECT_EQ(model.port_info({kS1, 3}).port_state, PortState::Initialize);
  EXPECT_EQ(model.port_info({kS2, 3}).port_state, PortState::Initialize);
  EXPECT_EQ(model.port_info({kS2, 4}).port_state, PortState::Active);  // another cable
}

// The port that the request came in by can be bounced: the answer leaves before the link goes.
TEST(PortInfoSet, TheAnswerToDownCrossesTheLinkThatGoesDown) {
  Model model(small_fabric());
  Hand hand(model);
  EXPECT_EQ(hand.set_state({1, 3, 1}, 1, PortState::Down), 0);
  hand.run_for(std::chrono::milliseconds(1));
  EXPECT_EQ(model.port_info({kH2, 1}).port_state, PortState::Down);
}

TEST(PortInfoSet, DisabledStaysDownUntilItMayPoll) {
  Model model(small_fabric());
  Hand hand(model);
  const Hops s1{1};
  EXPECT_EQ(hand.set_port(s1, 3,
                          [](wire::PortInfo& i) {
                            i.port_state = PortState::Down;
                            i.port_physical_state = PhysState::Disabled;
                          }),
            0);
  hand.run_for(kTrained);
  EXPECT_EQ(model.port_info({kS1, 3}).port_physical_state, PhysState::Disabled);
  EXPECT_EQ(model.port_info({kS2, 3}).port_physical_state, PhysState::Polling);
  EXPECT_EQ(
      hand.set_port(s1, 3, [](wire::PortInfo& i) { i.port_physical_state = PhysState::Polling; }),
      0);
  hand.run_for(kTrained);
  EXPECT_EQ(model.port_info({kS1, 3}).port_state, PortState::Initialize);
  // The physical state goes with Down or no change only.
  EXPECT_EQ(hand.set_port(s1, 3,
                          [](wire::PortInfo& i) {
                            i.port_state = PortState::Armed;
                            i.port_physical_state = PhysState::Disabled;
                          }),
            wire::status::kBadValue);
}

TEST(PortInfoSet, ARefusedSetChangesNothing) {
  Model model(small_fabric());
  Hand hand(model);
  EXPECT_EQ(hand.set_port({}, 1,
                          [](wire::PortInfo& i) {
                            i.lid = Lid{9};
                            i.operational_vls = 5;  // VLCap is VL0-7
                          }),
            wire::status::kBadValue);
  EXPECT_EQ(model.port_info({kH1, 1}).lid, kNoLid);
}

TEST(PortInfoSet, LidsMustBeUnicastAndAlignedToTheirLmc) {
  Model model(small_fabric());
  Hand hand(model);
  EXPECT_EQ(hand.set_lid({}, 1, 0xC000), wire::status::kBadValue);
  EXPECT_EQ(hand.set_lid({}, 1, 9, 1), wire::status::kBadValue);
  EXPECT_EQ(hand.set_lid({}, 1, 8, 2), 0);
  EXPECT_EQ(hand.set_lid({1, 3}, 0, 16, 1), wire::status::kBadValue);  // base port 0: LMC 0
  EXPECT_EQ(hand.set_lid({1}, 0, 16, 1), 0);                           // enhanced port 0
}

TEST(PortInfoSet, MtuAndVlsAreCheckedAgainstTheCapability) {
  Model model(small_fabric());
  Hand hand(model);
  const auto mtu = [&](std::uint8_t code) {
    return hand.set_port({}, 1, [&](wire::PortInfo& i) { i.neighbor_mtu = code; });
  };
  EXPECT_EQ(mtu(5), 0);
  EXPECT_EQ(mtu(6), wire::status::kBadValue);
  EXPECT_EQ(mtu(0), wire::status::kBadValue);
  EXPECT_EQ(model.port_info({kH1, 1}).neighbor_mtu, 5);
}

TEST(PortInfoSet, ClientReregisterComesBackAndIsNotKept) {
  Model model(small_fabric());
  Hand hand(model);
  auto info = hand.port_info({}, 1);
  info.port_state = PortState::NoChange;
  info.port_physical_state = PhysState::NoChange;
  info.client_reregister = true;
  const auto reply = hand.directed({}, Method::Set, attr::kPortInfo, 1, &info);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(wire::body<wire::PortInfo>(reply->mad).client_reregister);
  EXPECT_FALSE(hand.port_info({}, 1).client_reregister);
}

TEST(Link, SpeedIsTheBestThatBothEnableAndTheCableCarries) {
  Model model(small_fabric(LinkSpeed::Hdr));
  Hand hand(model);
  EXPECT_EQ(wire::active_speed(model.port_info({kS1, 3})), LinkSpeed::Hdr);
  EXPECT_EQ(hand.set_port({1}, 3, [](wire::PortInfo& i) { i.link_speed_ext_enabled = 1; }), 0);
  // Without bit 31 of the modifier the extended speeds are not touched.
  EXPECT_EQ(model.port_info({kS1, 3}).link_speed_ext_enabled, 7);
  auto info = hand.port_info({1}, 3);
  info.port_state = PortState::NoChange;
  info.port_physical_state = PhysState::NoChange;
  info.link_speed_ext_enabled = 1;
  EXPECT_EQ(hand.set({1}, attr::kPortInfo, 3U | wire::kPortInfoSmSupportsExtendedSpeeds, info), 0);
  EXPECT_EQ(wire::active_speed(model.port_info({kS1, 3})), LinkSpeed::Hdr);  // until it retrains
  EXPECT_EQ(hand.set_state({1}, 3, PortState::Down), 0);
  hand.run_for(kTrained);
  EXPECT_EQ(wire::active_speed(model.port_info({kS1, 3})), LinkSpeed::Fdr);
  EXPECT_EQ(wire::active_speed(model.port_info({kS2, 3})), LinkSpeed::Fdr);
}

TEST(Link, WidthFollowsWhatIsEnabled) {
  Model model(small_fabric());
  Hand hand(model);
  EXPECT_EQ(hand.set_port({1}, 3, [](wire::PortInfo& i) { i.link_width_enabled = 1; }), 0);
  EXPECT_EQ(hand.set_port({1}, 3, [](wire::PortInfo& i) { i.link_width_enabled = 8; }),
            wire::status::kBadValue);
  EXPECT_EQ(hand.set_state({1}, 3, PortState::Down), 0);
  hand.run_for(kTrained);
  EXPECT_EQ(wire::active_width(model.port_info({kS2, 3})), LinkWidth::W1x);
}

TEST(Link, Fdr10ShowsInTheVendorAttribute) {
  Model model(small_fabric(LinkSpeed::Fdr10));
  Hand hand(model);
  const auto vendor = hand.get<wire::MlnxExtendedPortInfo>({1}, attr::kMlnxExtendedPortInfo, 3);
  EXPECT_EQ(vendor.link_speed_supported, 1);
  EXPECT_EQ(vendor.link_speed_active, 1);
  EXPECT_EQ(wire::active_speed(hand.port_info({1}, 3), vendor.link_speed_active != 0),
            LinkSpeed::Fdr10);
}

TEST(Link, EverySpeedOfTheTableComesUp) {
  for (const LinkSpeed speed : {LinkSpeed::Sdr, LinkSpeed::Ddr, LinkSpeed::Qdr, LinkSpeed::Fdr,
                                LinkSpeed::Edr, LinkSpeed::Hdr, LinkSpeed::Ndr, LinkSpeed::Xdr}) {
    Model model(small_fabric(speed));
    EXPECT_EQ(wire::active_speed(model.port_info({kS1, 3})), speed);
    EXPECT_EQ(model.port_info({kS1, 3}).port_state, PortState::Initialize);
  }
}

// IBA 14.2.5.4: PortStateChange rises with every link that comes or goes, and is cleared by writing
// it as 1.
TEST(Link, SwitchesSayThatSomethingChanged) {
  Model model(small_fabric());
  Hand hand(model);
  bring_up(hand);
  EXPECT_FALSE(hand.get<wire::SwitchInfo>({1}, attr::kSwitchInfo).port_state_change);
  ASSERT_TRUE(model.link_down(hand.now(), {kS1, 4}));
  auto info = hand.get<wire::SwitchInfo>({1}, attr::kSwitchInfo);
  EXPECT_TRUE(info.port_state_change);
  info.port_state_change = false;
  EXPECT_EQ(hand.set({1}, attr::kSwitchInfo, 0, info), 0);
  EXPECT_TRUE(hand.get<wire::SwitchInfo>({1}, attr::kSwitchInfo).port_state_change);
  info.port_state_change = true;
  EXPECT_EQ(hand.set({1}, attr::kSwitchInfo, 0, info), 0);
  EXPECT_FALSE(hand.get<wire::SwitchInfo>({1}, attr::kSwitchInfo).port_state_change);
}

TEST(Link, AMovedCableTrainsWhereItIsNow) {
  Model model(small_fabric());
  Hand hand(model);
  ASSERT_TRUE(model.move_cable(hand.now(), {kS1, 4}, {kS1, 20}));
  EXPECT_FALSE(model.move_cable(hand.now(), {kS1, 4}, {kS1, 21}));  // nothing there any more
  EXPECT_FALSE(model.move_cable(hand.now(), {kS1, 3}, {kS1, 1}));   // taken
  hand.run_for(kTrained);
  EXPECT_EQ(model.port_info({kS1, 4}).port_state, PortState::Down);
  EXPECT_EQ(model.port_info({kS1, 20}).port_state, PortState::Initialize);
  EXPECT_EQ(hand.get<wire::NodeInfo>({1, 20}, attr::kNodeInfo).node_guid, Guid{0x20});
  EXPECT_EQ(model.topology().port(kS2, 4).peer, (PortRef{kS1, 20}));
}

TEST(Link, ARebootForgetsEverythingAndComesBack) {
  Model model(small_fabric());
  Hand hand(model);
  bring_up(hand);
  ASSERT_TRUE(model.reboot(hand.now(), kS2));
  EXPECT_FALSE(hand.directed({1, 3}, Method::Get, attr::kNodeInfo));
  hand.run_for(kTrained);
  EXPECT_EQ(hand.port_info({1, 3}, 3).port_state, PortState::Initialize);
  EXPECT_EQ(model.lft(kS2, Lid{7}), 255);
  EXPECT_EQ(model.port_info({kS2, 0}).lid, kNoLid);
  EXPECT_EQ(model.switch_info(kS2).linear_fdb_top, 0);
  ASSERT_TRUE(model.remove(hand.now(), kS2));
  EXPECT_FALSE(model.remove(hand.now(), kS2));
  hand.run_for(kTrained);
  EXPECT_EQ(hand.port_info({1}, 3).port_state, PortState::Down);
  ASSERT_TRUE(model.bring_back(hand.now(), kS2));
  hand.run_for(kTrained);
  EXPECT_EQ(hand.port_info({1}, 3).port_state, PortState::Initialize);
}

TEST(Link, KeptLidsAreThoseOfTheFile) {
  auto fabric = small_fabric();
  fabric.port(kH2, 1).lid = Lid{44};
  ModelOptions options;
  options.keep_lids = true;
  EXPECT_EQ(Model(fabric, options).port_info({kH2, 1}).lid, Lid{44});
  EXPECT_EQ(Model(fabric).port_info({kH2, 1}).lid, kNoLid);
}

}  // namespace
}  // namespace ib::sim::test
