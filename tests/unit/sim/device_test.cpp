// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Devices that are unlike others: what they can hold, and how their agents misbehave.
#include <gmock/gmock.h>

#include "libdiag/wire/performance_attributes.h"
#include "libdiag/wire/port_attributes.h"
#include "libdiag/wire/rates.h"
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;
using testing::HasSubstr;

class Device : public testing::Test {
 protected:
  Device() : model(small_fabric()), hand(model) { bring_up(hand); }

  void is(NodeIndex node, std::string_view name, std::string_view value,
          std::optional<std::uint8_t> port = {}) {
    const auto result = model.set_trait(hand.now(), node, port, name, value);
    ASSERT_TRUE(result) << result.error().message;
  }
  std::string refusal(NodeIndex node, std::string_view name, std::string_view value,
                      std::optional<std::uint8_t> port = {}) {
    const auto result = model.set_trait(hand.now(), node, port, name, value);
    EXPECT_FALSE(result);
    return result ? "" : result.error().message;
  }
  std::uint16_t set_keys(std::uint16_t key) {
    wire::PKeyTable table;
    table.p_keys[0] = PKey{key};
    return hand.set(Hops{1, 3, 1}, attr::kPKeyTable, 0, table);
  }

  Model model;
  Hand hand;
};

TEST_F(Device, CapsOfOnePortAndOfAll) {
  is(kS1, "vl_cap", "2", 3);
  is(kS1, "mtu_cap", "2048");
  EXPECT_EQ(hand.port_info({1}, 3).vl_cap, 2);
  EXPECT_EQ(hand.port_info({1}, 3).operational_vls, 2);
  EXPECT_EQ(hand.port_info({1}, 4).vl_cap, 4);
  EXPECT_EQ(hand.port_info({1}, 4).mtu_cap, 4);
  EXPECT_EQ(hand.port_info({1}, 4).neighbor_mtu, 4);
  ASSERT_TRUE(model.reboot(hand.now(), kS1));
  hand.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(hand.port_info({1}, 3).vl_cap, 2) << "that is how the device is";
  EXPECT_EQ(hand.port_info({1}, 4).mtu_cap, 4);
}

TEST_F(Device, AnEndPortHasALidBeforeItGetsOne) {
  is(kH2, "lid", "0xFFFF");
  is(kS2, "lid", "0xC001");
  EXPECT_EQ(hand.port_info({1, 3, 1}, 1).lid, Lid{0xFFFF});
  EXPECT_EQ(hand.port_info({1, 3}, 0).lid, Lid{0xC001});
  EXPECT_EQ(hand.port_info({1, 3}, 3).lid, Lid{0}) << "is no end port";
  EXPECT_EQ(refusal(kS2, "lid", "1", 3), "lid: expected port 0 of a switch, got port 3");
  EXPECT_EQ(hand.set_lid({1, 3, 1}, 1, kLidH2.value), 0);
  EXPECT_EQ(hand.port_info({1, 3, 1}, 1).lid, kLidH2);
  ASSERT_TRUE(model.reboot(hand.now(), kH2));
  hand.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(hand.port_info({1, 3, 1}, 1).lid, Lid{0xFFFF});
}

TEST_F(Device, TablesAreAsLongAsItSays) {
  is(kH2, "p_keys", "40");
  EXPECT_EQ(hand.get<wire::NodeInfo>({1, 3, 1}, attr::kNodeInfo).partition_cap, 40);
  wire::PKeyTable table;
  EXPECT_EQ(hand.set(Hops{1, 3, 1}, attr::kPKeyTable, 1, table), 0);
  EXPECT_EQ(hand.set(Hops{1, 3, 1}, attr::kPKeyTable, 2, table), wire::status::kBadValue);
  is(kH2, "p_keys", "96");
  table.p_keys[31] = PKey{0x8001};
  EXPECT_EQ(hand.set(Hops{1, 3, 1}, attr::kPKeyTable, 2, table), 0);
  EXPECT_EQ(hand.get<wire::PKeyTable>({1, 3, 1}, attr::kPKeyTable, 2).p_keys[31], PKey{0x8001});
  is(kS1, "vl_arb_cap", "64", 3);
  EXPECT_EQ(hand.port_info({1}, 3).vl_arbitration_low_cap, 64);
  wire::VlArbitrationTable weights;
  EXPECT_EQ(hand.set(Hops{1}, attr::kVlArbitration, 2 << 16 | 3, weights), 0);
  EXPECT_EQ(hand.set(Hops{1}, attr::kVlArbitration, 2 << 16 | 4, weights), wire::status::kBadValue);
}

TEST_F(Device, OptimizedSl2VlIsAMask) {
  wire::SlToVlTable row;
  for (const auto& [mask, status] :
       std::initializer_list<std::pair<const char*, std::uint16_t>>{{"0", wire::status::kBadValue},
                                                                    {"1", std::uint16_t{0}},
                                                                    {"2", wire::status::kBadValue},
                                                                    {"3", std::uint16_t{0}}}) {
    is(kS1, "optimized_sl2vl", mask);
    EXPECT_EQ(hand.set(Hops{1}, attr::kSlToVl, 3 << 16, row), status) << mask;
  }
}

TEST_F(Device, RefusesKeepsAndIsSilentByAttribute) {
  is(kH2, "refuse", "P_KeyTable");
  EXPECT_EQ(set_keys(0x8001), wire::status::kBadValue);
  is(kH2, "refuse", "none");
  is(kH2, "keep", "P_KeyTable");
  EXPECT_EQ(set_keys(0x8001), 0);
  const auto held = hand.get<wire::PKeyTable>({1, 3, 1}, attr::kPKeyTable);
  EXPECT_EQ(held.p_keys[0], kDefaultPKey);
  is(kH2, "keep", "none");
  is(kH2, "unsupported", "0x16");
  EXPECT_EQ(set_keys(0x8001), wire::status::kBadAttribute);
  is(kH2, "unanswered", "P_KeyTable");
  EXPECT_EQ(set_keys(0x8001), kNoAnswer);
  EXPECT_EQ(model.traits(kH2).size(), 2U);
}

TEST_F(Device, LosesEveryNthSmp) {
  is(kH2, "loses_every", "3");
  std::vector<bool> answered;
  answered.reserve(6);
  for (int i = 0; i < 6; ++i)
    answered.push_back(hand.directed(Hops{1, 3, 1}, Method::Get, attr::kNodeInfo).has_value());
  EXPECT_EQ(answered, (std::vector{true, true, false, true, true, false}));
}

TEST_F(Device, ShowsAStateThatOthersDoNot) {
  is(kS1, "shows_state", "5", 4);
  EXPECT_EQ(static_cast<int>(hand.port_info({1}, 4).port_state), 5);
  EXPECT_EQ(hand.port_info({1}, 3).port_state, wire::PortState::Active);
  is(kS1, "shows_state", "none", 4);
  EXPECT_EQ(hand.port_info({1}, 4).port_state, wire::PortState::Active);
  EXPECT_EQ(refusal(kS1, "shows_state", "16", 4),
            "shows_state: expected what PortInfo:PortState says, 0 to 15, or none, got '16'");
}

TEST_F(Device, ItsOwnTrapsComeWithoutALid) {
  is(kH1, "traps_without_lid", "1");
  hand.unasked.clear();
  model.set_is_sm(hand.now(), {kH1, 1}, true);
  hand.run_for(std::chrono::milliseconds(1));
  ASSERT_FALSE(hand.unasked.empty());
  EXPECT_EQ(hand.unasked.front().packet.mad.method(), Method::Trap);
  EXPECT_EQ(hand.unasked.front().packet.address.lid.value, 0);
}

TEST_F(Device, ASwitchSaysWhatIsBuiltInBehindAPort) {
  is(kS2, "special", "gateway", 2);
  const auto info = hand.get<wire::MlnxSpecialPort>({1, 3}, attr::kMlnxExtendedPortInfo, 2);
  EXPECT_TRUE(info.is_special);
  EXPECT_EQ(info.type, 3);
  EXPECT_FALSE(hand.get<wire::MlnxSpecialPort>({1, 3}, attr::kMlnxExtendedPortInfo, 1).is_special);
  EXPECT_EQ(refusal(kS2, "special", "dungeon"),
            "special: expected none, aggregation_node, router or gateway, got 'dungeon'");
}

TEST_F(Device, SaysWhichFecRunsOnItsLinksWhereItHasPortInfoExtended) {
  EXPECT_EQ(hand.directed({1}, Method::Get, attr::kPortInfoExtended, 3)->mad.status(),
            wire::status::kBadAttribute);
  is(kS1, "fec", "rs", 3);
  EXPECT_NE(hand.port_info({1}, 0).capability_mask2 & wire::port_cap2::kPortInfoExtended, 0);
  const auto info = hand.get<wire::PortInfoExtended>({1}, attr::kPortInfoExtended, 3);
  EXPECT_EQ(info.capability_mask, wire::kIsFecModeSupported);
  EXPECT_EQ(info.fec_mode_active, 2);
  EXPECT_EQ(hand.get<wire::PortInfoExtended>({1}, attr::kPortInfoExtended, 4).fec_mode_active, 0);
  EXPECT_EQ(refusal(kS1, "fec", "prayer"),
            "fec: expected none, firecode, rs or low_latency_rs, got 'prayer'");
}

TEST_F(Device, ASwitchHasATableOfPortStatesWhereItSaysSo) {
  EXPECT_EQ(hand.directed({1}, Method::Get, attr::kSwitchPortStateTable)->mad.status(),
            wire::status::kBadAttribute);
  is(kS1, "port_state_table", "1");
  is(kS1, "shows_state", "5", 4);
  EXPECT_NE(hand.port_info({1}, 0).capability_mask2 & wire::port_cap2::kSwitchPortStateTable, 0);
  const auto table = hand.get<wire::SwitchPortStateTable>({1}, attr::kSwitchPortStateTable);
  for (unsigned p = 0; p <= 36; ++p)
    EXPECT_EQ(table.state[p], static_cast<unsigned>(hand.port_info({1}, p).port_state)) << p;
  EXPECT_EQ(table.state[4], 5);
  EXPECT_EQ(hand.directed({1}, Method::Get, attr::kSwitchPortStateTable, 1)->mad.status(),
            wire::status::kBadValue);
}

TEST_F(Device, ALinkRunsAtAnotherSpeedWithoutGoingDown) {
  is(kS1, "runs_at", "QDR", 3);
  for (const auto& info : {hand.port_info({1}, 3), hand.port_info({1, 3}, 3)}) {
    EXPECT_EQ(wire::active_speed(info), LinkSpeed::Qdr);
    EXPECT_EQ(info.port_state, wire::PortState::Active);
  }
  EXPECT_EQ(wire::active_speed(hand.port_info({1}, 4)), LinkSpeed::Edr);
}

TEST_F(Device, APortForgetsWhatItWasToldOfSpeedsWhenItsLinkTrains) {
  for (const auto& [forgets, speed] : {std::pair{"1", LinkSpeed::Edr}, {"0", LinkSpeed::Fdr}}) {
    is(kS1, "forgets_speeds", forgets, 3);
    auto info = hand.port_info({1}, 3);
    info.port_state = wire::PortState::NoChange;
    info.port_physical_state = wire::PhysState::NoChange;
    info.link_speed_ext_enabled = 1;
    hand.set({1}, attr::kPortInfo, 3 | wire::kPortInfoSmSupportsExtendedSpeeds, info);
    EXPECT_EQ(hand.port_info({1}, 3).link_speed_ext_enabled, 1);
    ASSERT_TRUE(model.link_down(hand.now(), {kS1, 3}));
    ASSERT_TRUE(model.link_up(hand.now(), {kS1, 3}));
    hand.run_for(std::chrono::seconds(1));
    EXPECT_EQ(wire::active_speed(hand.port_info({1}, 3)), speed);
  }
}

TEST_F(Device, PlanesOfOnePortHaveOneGuid) {
  EXPECT_EQ(hand.get<wire::NodeInfo>({1, 2}, attr::kNodeInfo).port_guid, Guid{0x32});
  is(kH1, "planes", "1");
  EXPECT_EQ(hand.get<wire::NodeInfo>({1, 2}, attr::kNodeInfo).port_guid, Guid{0x31});
  EXPECT_EQ(hand.get<wire::NodeInfo>({1, 1}, attr::kNodeInfo).port_guid, Guid{0x31});
  is(kH1, "planes", "0");
  EXPECT_EQ(hand.get<wire::NodeInfo>({1, 2}, attr::kNodeInfo).port_guid, Guid{0x32});
}

TEST_F(Device, AnOldPmaHasNoExtendedCounters) {
  const Lid lid = model.port_info({kH2, 1}).lid;
  constexpr std::uint16_t kExtended = 0x0200;
  const auto status = [&](std::uint16_t attribute) {
    const auto reply = hand.gmp(lid, Method::Get, attribute);
    return reply ? reply->mad.status() : kNoAnswer;
  };
  is(kH2, "old_counters", "1");
  const auto info = hand.gmp(lid, Method::Get, attr::kClassPortInfo);
  ASSERT_TRUE(info);
  EXPECT_EQ(wire::body<wire::ClassPortInfo>(info->mad).capability_mask & kExtended, 0);
  EXPECT_EQ(status(attr::kPortCountersExtended), wire::status::kBadAttribute);
  is(kH2, "old_counters", "0");
  EXPECT_NE(status(attr::kPortCountersExtended), wire::status::kBadAttribute);
}

TEST_F(Device, APmaMayHaveErrorsInItsExtendedCounters) {
  const Lid lid = model.port_info({kH2, 1}).lid;
  constexpr std::uint32_t kErrorsExtended = 2;
  const auto symbol_errors = [&] {
    auto mad = wire::make_mad(wire::MgmtClass::Perf, Method::Get, attr::kPortCountersExtended);
    wire::PortCountersExtended asked;
    asked.port_select = PortNum{1};
    wire::set_body(mad, asked);
    const auto reply = hand.exchange(false, mad::gsi_address(lid), mad);
    return reply ? wire::body<wire::PortErrorsExtended>(reply->mad).symbol_error_counter
                 : kNoAnswer;
  };
  const auto capabilities = [&] {
    const auto reply = hand.gmp(lid, Method::Get, attr::kClassPortInfo);
    return reply ? wire::body<wire::ClassPortInfo>(reply->mad).capability_mask2 : kNoAnswer;
  };
  ASSERT_TRUE(model.set_counter(hand.now(), {kH2, 1}, "SymbolErrorCounter", 70'000));
  EXPECT_EQ(symbol_errors(), 0U);
  EXPECT_EQ(capabilities(), 0U);
  is(kH2, "wide_errors", "1");
  EXPECT_EQ(symbol_errors(), 70'000U);
  EXPECT_EQ(capabilities(), kErrorsExtended);
}

TEST_F(Device, APmaMayBeElsewhere) {
  const Lid lid = model.port_info({kH2, 1}).lid, other = model.port_info({kH3, 1}).lid;
  is(kH2, "pma_at", std::to_string(other.value));
  const auto reply = hand.gmp(lid, Method::Get, attr::kPortCounters);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->mad.status(), wire::status::kRedirect);
  EXPECT_EQ(wire::body<wire::ClassPortInfo>(reply->mad).redirect_lid, other);
  is(kH2, "pma_at", std::to_string(lid.value));
  EXPECT_EQ(hand.gmp(lid, Method::Get, attr::kClassPortInfo)->mad.status(), 0) << "that is itself";
}

TEST_F(Device, AHostThatGetsItsNameLateSaysThatNothingElseChanged) {
  hand.unasked.clear();
  model.set_description(hand.now(), kH3, "host3 mlx5_0");
  hand.run_for(std::chrono::milliseconds(1));
  ASSERT_FALSE(hand.unasked.empty());
  const auto notice = wire::body<wire::Notice>(hand.unasked.front().packet.mad);
  EXPECT_EQ(notice.trap_number, wire::trap::kCapabilityChange);
  EXPECT_EQ(notice.details[5] & 1, 1) << "OtherLocalChanges";
  EXPECT_EQ(notice.details[11], 1) << "NodeDescriptionChange, and nothing else";
  const auto text = hand.get<wire::NodeDescription>({1, 3, 2}, attr::kNodeDescription).text;
  EXPECT_STREQ(std::string(text.begin(), text.end()).c_str(), "host3 mlx5_0");
}

TEST_F(Device, SaysWhatItDoesNotUnderstand) {
  EXPECT_THAT(refusal(kH1, "colour", "red"), HasSubstr("unknown trait 'colour'; those that there "
                                                       "are: vl_cap, mtu_cap"));
  EXPECT_EQ(refusal(kH1, "vl_cap", "3"), "vl_cap: expected 1, 2, 4, 8 or 15 VLs, got '3'");
  EXPECT_EQ(refusal(kH1, "vl_arb_cap", "65"),
            "vl_arb_cap: expected entries of each arbitration table, 0 to 64, got '65'");
  EXPECT_EQ(refusal(kH1, "refuse", "Love"),
            "refuse: expected an attribute of subnet management, such as PortInfo or 0xFF90, or "
            "none, got 'Love'");
  EXPECT_EQ(refusal(kH1, "vl_cap", "4", 9), "no such port");
  EXPECT_TRUE(model.traits(kH1).empty());
}

TEST_F(Device, WhatIsOfSwitchesOrOfCasAloneIsRefusedOfOthers) {
  for (const auto& [name, value] : {std::pair{"special", "router"},
                                    {"port_state_table", "1"},
                                    {"optimized_sl2vl", "2"},
                                    {"adaptive_routing", "4"}})
    EXPECT_EQ(refusal(kH1, name, value),
              std::string(name) + ": expected a switch, got a channel adapter");
  for (const auto& [name, value] : {std::pair{"planes", "1"}, {"vports", "2"}})
    EXPECT_EQ(refusal(kS1, name, value),
              std::string(name) + ": expected a channel adapter, got a switch");
  EXPECT_TRUE(model.traits(kH1).empty());
  EXPECT_TRUE(model.traits(kS1).empty());
}

TEST_F(Device, ATraitIsCheckedWithoutBeingGiven) {
  EXPECT_TRUE(model.check_trait(kS1, 3, "vl_cap", "2"));
  EXPECT_FALSE(model.check_trait(kS1, 3, "vl_cap", "3"));
  EXPECT_FALSE(model.check_trait(kS1, 99, "vl_cap", "2"));
  EXPECT_FALSE(model.check_trait(kS1, 3, "colour", "red"));
  EXPECT_TRUE(model.traits(kS1).empty());
}

}  // namespace
}  // namespace ib::sim::test
