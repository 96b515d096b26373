// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A switch that chooses among several ports: the attributes it answers, and where packets go.
#include <gtest/gtest.h>

#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;

class Adaptive : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const NodeIndex n : {kS1, kS2})
      ASSERT_TRUE(model.set_trait(hand.now(), n, std::nullopt, "adaptive_routing", "100"));
    bring_up(hand);
  }
  wire::MlnxArInfo info() { return hand.get<wire::MlnxArInfo>({1}, attr::kMlnxArInfo); }
  template <class Change>
  std::uint16_t set_info(Change change) {
    wire::MlnxArInfo wanted = info();
    change(wanted);
    return hand.set({1}, attr::kMlnxArInfo, 0, wanted);
  }
  /// LIDs of S2 and its hosts by ports 3 and 4 of S1, as group 1; all others by the LFT's ports.
  void choose_3_or_4() {
    EXPECT_EQ(set_info([](auto& i) { i.sub_groups_active = 2, i.group_top = 1; }), 0);
    wire::MlnxArGroup group;
    group.add(3), group.add(4);
    EXPECT_EQ(hand.set({1}, attr::kMlnxArGroupTable, 1, group), 0);
    wire::MlnxArLft lft;
    lft.state.fill(wire::ArLidState::Static);
    lft.port.fill(255);
    lft.port[1] = 0, lft.port[5] = 1, lft.port[6] = 2;
    for (const std::size_t lid : {2U, 7U, 8U}) {
      lft.state[lid] = wire::ArLidState::Bounded;
      lft.port[lid] = 3;
      lft.group[lid] = 1;
    }
    EXPECT_EQ(hand.set({1}, attr::kMlnxArLft, 0, lft), 0);
    EXPECT_EQ(hand.get<wire::MlnxArLft>({1}, attr::kMlnxArLft), lft);
  }
  bool reaches(Lid lid) { return hand.gmp(lid, Method::Get, attr::kClassPortInfo).has_value(); }

  Model model{small_fabric()};
  Hand hand{model};
};

TEST_F(Adaptive, SaysSoAndWhatItCan) {
  EXPECT_NE(hand.get<wire::MlnxGeneralInfo>({1}, attr::kMlnxGeneralInfo, 4).capability_mask[0] &
                wire::mlnx_cap::kAdaptiveRouting,
            0U);
  EXPECT_EQ(info().group_cap, 100);
  EXPECT_EQ(info().sub_groups_supported, 2);
  EXPECT_TRUE(info().fr_supported);
  EXPECT_FALSE(info().enabled);
  EXPECT_EQ(hand.set({1, 3, 1}, attr::kMlnxArInfo, 0, wire::MlnxArInfo{}),
            wire::status::kBadAttribute);
}

TEST_F(Adaptive, CapabilitiesCannotBeSetNorGroupsBeyondThem) {
  EXPECT_EQ(set_info([](auto& i) { i.group_cap = 4095, i.fr_supported = false; }), 0);
  EXPECT_EQ(info().group_cap, 100);
  EXPECT_TRUE(info().fr_supported);
  EXPECT_EQ(hand.set({1}, attr::kMlnxArGroupTable, 1, wire::MlnxArGroup{}), wire::status::kBadValue)
      << "of groups with one part the table is laid out otherwise";
  EXPECT_EQ(set_info([](auto& i) { i.sub_groups_active = 2; }), 0);
  EXPECT_EQ(hand.set({1}, attr::kMlnxArGroupTable, 99, wire::MlnxArGroup{}), 0);
  EXPECT_EQ(hand.set({1}, attr::kMlnxArGroupTable, 100, wire::MlnxArGroup{}),
            wire::status::kBadValue);
}

TEST_F(Adaptive, PacketsTakeAnyPortOfTheGroupOnceItIsOn) {
  choose_3_or_4();
  EXPECT_EQ(model.choices(kS1, kLidH2), (std::vector<std::uint8_t>{3}));
  EXPECT_EQ(set_info([](auto& i) { i.enabled = true; }), 0);
  EXPECT_EQ(model.choices(kS1, kLidH2), (std::vector<std::uint8_t>{3, 4}));
  EXPECT_EQ(model.choices(kS1, kLidH1), (std::vector<std::uint8_t>{1}));
  EXPECT_TRUE(reaches(kLidH2));
  EXPECT_TRUE(reaches(kLidS2));
}

TEST_F(Adaptive, OfTwoPacketsAtOnceOneTakesEachPort) {
  choose_3_or_4();
  ASSERT_EQ(set_info([](auto& i) { i.enabled = true; }), 0);
  const auto sent = [&](std::uint8_t port) { return model.vl_counters({kS1, port}).xmit_pkts[0]; };
  const std::uint64_t before3 = sent(3), before4 = sent(4);
  for (const std::uint8_t port : {std::uint8_t{1}, std::uint8_t{2}})
    model.send(hand.now(), {kH1, port}, false,
               {mad::gsi_address(kLidH2),
                wire::make_mad(MgmtClass::Perf, Method::Get, attr::kClassPortInfo),
                {}});
  hand.run_for(std::chrono::milliseconds(1));
  EXPECT_EQ(sent(3) - before3, 1U);
  EXPECT_EQ(sent(4) - before4, 1U);
}

TEST_F(Adaptive, ASetOfTheLftTurnsItOff) {
  choose_3_or_4();
  ASSERT_EQ(set_info([](auto& i) { i.enabled = true; }), 0);
  EXPECT_EQ(hand.set_lft({1}, {{1, 0}, {2, 3}, {5, 1}, {6, 2}, {7, 3}, {8, 3}}), 0);
  EXPECT_FALSE(info().enabled);
  EXPECT_EQ(model.choices(kS1, kLidH2), (std::vector<std::uint8_t>{3}));
}

TEST_F(Adaptive, OnlyWithFastRecoveryADeadPortIsPassedOver) {
  choose_3_or_4();
  ASSERT_EQ(set_info([](auto& i) { i.enabled = true, i.fr_enabled = true; }), 0);
  ASSERT_TRUE(model.link_down(hand.now(), {kS1, 3}));
  hand.run_for(std::chrono::milliseconds(1));
  const auto arrived = [&] { return model.vl_counters({kH2, 1}).rcv_pkts[0]; };
  const auto send = [&] {
    model.send(hand.now(), {kH1, 1}, false,
               {mad::gsi_address(kLidH2),
                wire::make_mad(MgmtClass::Perf, Method::Get, attr::kClassPortInfo),
                {}});
    hand.run_for(std::chrono::milliseconds(1));
  };
  const std::uint64_t before = arrived();
  send();
  EXPECT_EQ(arrived(), before + 1);
  ASSERT_EQ(set_info([](auto& i) { i.fr_enabled = false; }), 0);
  send();
  EXPECT_EQ(arrived(), before + 1);
}

TEST_F(Adaptive, OtherSlsGoByTheStaticPort) {
  choose_3_or_4();
  ASSERT_EQ(
      set_info([](auto& i) { i.enabled = true, i.by_sl_enabled = true, i.enabled_sls = 1U << 2; }),
      0);
  EXPECT_EQ(model.choices(kS1, kLidH2, Sl{0}), (std::vector<std::uint8_t>{3}));
  EXPECT_EQ(model.choices(kS1, kLidH2, Sl{2}), (std::vector<std::uint8_t>{3, 4}));
}

TEST_F(Adaptive, ARebootForgetsAllButWhatItCan) {
  choose_3_or_4();
  ASSERT_EQ(set_info([](auto& i) { i.enabled = true; }), 0);
  ASSERT_TRUE(model.reboot(hand.now(), kS1));
  EXPECT_FALSE(model.adaptive_routing(kS1).enabled);
  EXPECT_EQ(model.adaptive_routing(kS1).group_cap, 100);
}

}  // namespace
}  // namespace ib::sim::test
