// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Virtual ports of an HCA port: the vendor's attributes, what hosts do, and the traps.
#include <gmock/gmock.h>

#include <utility>

#include "libdiag/wire/virtualization_attributes.h"
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;
using wire::PortState;

class VirtualPortsOfModel : public testing::Test {
 protected:
  VirtualPortsOfModel() : model(small_fabric()), hand(model) { bring_up(hand); }

  const Hops kWay{1, 3, 1};  // H2
  void give(const char* count) {
    ASSERT_TRUE(model.set_trait(hand.now(), kH2, std::nullopt, "vports", count));
  }
  std::uint16_t enable(bool on) {
    auto info = hand.get<wire::VirtualizationInfo>(kWay, attr::kVirtualizationInfo);
    info.enable = on;
    return hand.set(kWay, attr::kVirtualizationInfo, 0, info);
  }
  PortState state(unsigned index) {
    return static_cast<PortState>(
        hand.get<wire::VPortStates>(kWay, attr::kVPortState, index / 128).state[index % 128]);
  }
  std::uint16_t move(unsigned index, PortState to) {
    auto info = hand.get<wire::VPortInfo>(kWay, attr::kVPortInfo, index);
    info.state = to;
    return hand.set(kWay, attr::kVPortInfo, index, info);
  }
  void change(unsigned index, const VPortChange& what) {
    const auto done = model.change_vport(hand.now(), {kH2, 1}, index, what);
    ASSERT_TRUE(done) << done.error().message;
  }
  /// Those that came, which are repressed.
  std::vector<wire::VPortTrap> traps() {
    hand.run_for(std::chrono::milliseconds(1));
    std::vector<wire::VPortTrap> out;
    const auto seen = std::exchange(hand.unasked, {});
    for (const auto& delivery : seen) {
      wire::Mad mad = delivery.packet.mad;
      if (mad.method() != Method::Trap) continue;
      if (const auto trap = wire::vport_trap(wire::body<wire::Notice>(mad))) out.push_back(*trap);
      mad.set<&wire::MadHeader::method>(Method::TrapRepress);
      model.send(hand.now(), delivery.port, true,
                 {mad::smi_address(delivery.packet.address.lid), mad, {}});
    }
    hand.run_for(std::chrono::milliseconds(1));
    return out;
  }

  Model model;
  Hand hand;
};

TEST_F(VirtualPortsOfModel, AreNotThereUnlessADeviceHasThem) {
  EXPECT_EQ(hand.directed(kWay, Method::Get, attr::kVirtualizationInfo)->mad.status(),
            wire::status::kBadAttribute);
  EXPECT_EQ(hand.port_info(kWay, 1).capability_mask2 & wire::port_cap2::kVirtualization, 0);
  give("3");
  EXPECT_NE(hand.port_info(kWay, 1).capability_mask2 & wire::port_cap2::kVirtualization, 0);
  EXPECT_NE(hand.port_info(kWay, 1).capability_mask & wire::port_cap::kCapabilityMask2, 0U);
  give("0");
  EXPECT_EQ(hand.port_info(kWay, 1).capability_mask2 & wire::port_cap2::kVirtualization, 0);
}

TEST_F(VirtualPortsOfModel, WaitForASubnetManagerOnceTheyAreEnabled) {
  give("3");
  auto info = hand.get<wire::VirtualizationInfo>(kWay, attr::kVirtualizationInfo);
  EXPECT_FALSE(info.enable);
  EXPECT_EQ(info.vport_cap, 4);
  EXPECT_EQ(info.vport_index_top, 0);
  EXPECT_EQ(state(0), PortState::Active) << "the port itself";
  EXPECT_EQ(hand.directed(kWay, Method::Get, attr::kVPortInfo, 1)->mad.status(),
            wire::status::kBadValue);
  EXPECT_EQ(enable(true), 0);
  info = hand.get<wire::VirtualizationInfo>(kWay, attr::kVirtualizationInfo);
  EXPECT_TRUE(info.enable);
  EXPECT_EQ(info.vport_index_top, 3);
  for (unsigned i = 1; i <= 3; ++i) EXPECT_EQ(state(i), PortState::Initialize) << i;
  EXPECT_EQ(state(4), PortState::NoChange);
  EXPECT_EQ(move(2, PortState::Active), 0);
  EXPECT_EQ(state(2), PortState::Active);
  EXPECT_EQ(move(2, PortState::Initialize), wire::status::kBadValue);
  const auto of_two = hand.get<wire::VPortInfo>(kWay, attr::kVPortInfo, 2);
  EXPECT_NE(of_two.port_guid, hand.get<wire::VPortInfo>(kWay, attr::kVPortInfo, 1).port_guid);
  EXPECT_NE(hand.get<wire::VNodeInfo>(kWay, attr::kVNodeInfo, 2).node_guid,
            hand.get<wire::VNodeInfo>(kWay, attr::kVNodeInfo, 0).node_guid);
}

TEST_F(VirtualPortsOfModel, EachHasItsPKeysGuidsAndRates) {
  give("2");
  enable(true);
  wire::PKeyTable keys;
  keys.p_keys[0] = kDefaultPKey;
  keys.p_keys[1] = PKey{0x8001};
  EXPECT_EQ(hand.set(kWay, attr::kVPortPKeyTable, wire::vport_block(2, 0), keys), 0);
  EXPECT_EQ(hand.get<wire::PKeyTable>(kWay, attr::kVPortPKeyTable, wire::vport_block(2, 0)), keys);
  EXPECT_EQ(
      hand.get<wire::PKeyTable>(kWay, attr::kVPortPKeyTable, wire::vport_block(1, 0)).p_keys[1],
      PKey{0});
  EXPECT_EQ(hand.set(kWay, attr::kVPortPKeyTable, wire::vport_block(2, 4), keys),
            wire::status::kBadValue);
  wire::GuidInfo guids;
  guids.guid[1] = Guid{77};
  EXPECT_EQ(hand.set(kWay, attr::kVPortGuidInfo, wire::vport_block(1, 0), guids), 0);
  const auto held = hand.get<wire::GuidInfo>(kWay, attr::kVPortGuidInfo, wire::vport_block(1, 0));
  EXPECT_EQ(held.guid[1], Guid{77});
  EXPECT_EQ(held.guid[0], model.vports({kH2, 1})[0].guid) << "its own stays";
}

TEST_F(VirtualPortsOfModel, GoDownWithTheirPort) {
  give("2");
  enable(true);
  move(1, PortState::Active);
  ASSERT_TRUE(model.link_down(hand.now(), {kH2, 1}));
  EXPECT_EQ(model.vports({kH2, 1})[0].state, PortState::Down);
  ASSERT_TRUE(model.link_up(hand.now(), {kH2, 1}));
  hand.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(state(1), PortState::Initialize);
  EXPECT_EQ(move(1, PortState::Active), wire::status::kBadValue) << "its port is not";
  ASSERT_TRUE(model.reboot(hand.now(), kH2));
  hand.run_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(hand.get<wire::VirtualizationInfo>(kWay, attr::kVirtualizationInfo).enable);
}

TEST_F(VirtualPortsOfModel, TellOfTheirChanges) {
  give("2");
  enable(true);
  traps();
  change(1, {.is_up = false});
  auto told = traps();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].number, wire::trap::kVPortStateChange);
  EXPECT_EQ(told[0].lid, hand.port_info(kWay, 1).lid);
  EXPECT_EQ(state(1), PortState::Down);
  EXPECT_TRUE(
      hand.get<wire::VirtualizationInfo>(kWay, attr::kVirtualizationInfo).vport_state_change);
  change(1, {.is_up = true});
  EXPECT_EQ(state(1), PortState::Initialize);
  EXPECT_EQ(traps().size(), 1U);
  change(2, {.description = "a virtual machine"});
  told = traps();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].number, wire::trap::kVPortDataChange);
  EXPECT_EQ(told[0].index, 2);
  const auto text = hand.get<wire::NodeDescription>(kWay, attr::kVNodeDescription, 2).text;
  EXPECT_EQ(std::string(text.data()), "a virtual machine");
  change(2, {.guid = Guid{0x1234}});
  EXPECT_EQ(hand.get<wire::VPortInfo>(kWay, attr::kVPortInfo, 2).port_guid, Guid{0x1234});
  const auto wrong = model.change_vport(hand.now(), {kH2, 1}, 3, {.is_up = true});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "its virtual ports are 1 to 2");
}

}  // namespace
}  // namespace ib::sim::test
