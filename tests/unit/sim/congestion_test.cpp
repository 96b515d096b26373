// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The congestion control agent: what is set is read back, by whom it may be set, and for how long
// a key protects it.
#include "libdiag/wire/gmp_attributes.h"
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;
namespace map = wire::congestion_map;

constexpr Lid kSwitch{1}, kHost{7};

class Congestion : public ::testing::Test {
 protected:
  Congestion() : model(small_fabric()) { bring_up(hand); }

  std::optional<mad::Packet> ask(Lid lid, Method method, std::uint16_t attribute,
                                 std::uint32_t modifier = 0, std::uint64_t key = 0) {
    auto mad = wire::make_mad(MgmtClass::CongestionControl, method, attribute, modifier);
    mad.set<&wire::CongestionHeader::cc_key>(key);
    return hand.exchange(false, mad::gsi_address(lid), mad);
  }
  template <class T>
  T get(Lid lid, std::uint16_t attribute, std::uint32_t modifier = 0, std::uint64_t key = 0) {
    const auto reply = ask(lid, Method::Get, attribute, modifier, key);
    EXPECT_TRUE(reply);
    if (!reply) return {};
    EXPECT_EQ(reply->mad.status(), 0);
    return wire::body<T>(reply->mad);
  }
  template <class T>
  std::uint16_t set(Lid lid, std::uint16_t attribute, const T& value, std::uint32_t modifier = 0,
                    std::uint64_t key = 0) {
    auto mad = wire::make_mad(MgmtClass::CongestionControl, Method::Set, attribute, modifier);
    mad.set<&wire::CongestionHeader::cc_key>(key);
    wire::set_body(mad, value);
    const auto reply = hand.exchange(false, mad::gsi_address(lid), mad);
    return reply ? reply->mad.status() : kNoAnswer;
  }

  Model model;
  Hand hand{model};
};

TEST_F(Congestion, SaysWhatItCanDo) {
  EXPECT_EQ(get<wire::ClassPortInfo>(kHost, attr::kClassPortInfo).class_version, 2);
  EXPECT_EQ(get<wire::CongestionInfo>(kHost, attr::kCongestionInfo).control_table_cap, 2);
  EXPECT_EQ(get<wire::CongestionInfo>(kSwitch, attr::kCongestionInfo).congestion_info,
            wire::kCreditStarvation);
}

TEST_F(Congestion, ASwitchKeepsWhatTheControlMapNames) {
  wire::SwitchCongestionSetting wanted;
  wanted.control_map = map::kThreshold | map::kMarkingRate;
  wanted.threshold = 15;
  wanted.packet_size = 8;
  wanted.marking_rate = 10;
  wanted.victim_mask.fill(0xFF);
  EXPECT_EQ(set(kSwitch, attr::kSwitchCongestionSetting, wanted), 0);
  auto held = get<wire::SwitchCongestionSetting>(kSwitch, attr::kSwitchCongestionSetting);
  EXPECT_EQ(held.threshold, 15);
  EXPECT_EQ(held.packet_size, 8);
  EXPECT_EQ(held.marking_rate, 10);
  EXPECT_EQ(held.victim_mask, wire::CongestionPortMask{}) << "its bit was not set";
  EXPECT_EQ(model.congestion({kS1, 0}).of_switch, held);

  wanted.control_map = map::kVictimMask;
  wanted.threshold = 3;
  EXPECT_EQ(set(kSwitch, attr::kSwitchCongestionSetting, wanted), 0);
  held = get<wire::SwitchCongestionSetting>(kSwitch, attr::kSwitchCongestionSetting);
  EXPECT_EQ(held.threshold, 15);
  EXPECT_EQ(held.victim_mask, wanted.victim_mask);
}

TEST_F(Congestion, PortsOfASwitchHaveSettingsOfTheirOwn) {
  wire::SwitchPortCongestionSetting wanted;
  wanted.ports[36] = {true, false, 7, 4, 99};
  wanted.ports[37] = {true, false, 7, 4, 99};  // a port it does not have
  EXPECT_EQ(set(kSwitch, attr::kSwitchPortCongestionSetting, wanted), 0);
  const auto held =
      get<wire::SwitchPortCongestionSetting>(kSwitch, attr::kSwitchPortCongestionSetting);
  EXPECT_EQ(held.ports[36], wanted.ports[36]);
  EXPECT_EQ(held.ports[37], wire::SwitchPortCongestion{});
  EXPECT_EQ(set(kSwitch, attr::kSwitchPortCongestionSetting, wanted, 1), wire::status::kBadValue);
}

TEST_F(Congestion, ACaKeepsTheSlsThatTheControlMapNamesAndItsTable) {
  wire::CaCongestionSetting wanted;
  wanted.port_control = 1;
  wanted.control_map = 0x0005;
  wanted.entries.fill({150, 1, 2, 3});
  EXPECT_EQ(set(kHost, attr::kCaCongestionSetting, wanted), 0);
  const auto held = get<wire::CaCongestionSetting>(kHost, attr::kCaCongestionSetting);
  EXPECT_EQ(held.port_control, 1);
  EXPECT_EQ(held.entries[0], wanted.entries[0]);
  EXPECT_EQ(held.entries[1], wire::CaCongestionEntry{});
  EXPECT_EQ(held.entries[2], wanted.entries[2]);

  wire::CongestionControlTable block;
  block.ccti_limit = 127;
  block.entries[63] = {3, 16383};
  EXPECT_EQ(set(kHost, attr::kCongestionControlTable, block, 1), 0);
  EXPECT_EQ(get<wire::CongestionControlTable>(kHost, attr::kCongestionControlTable, 1), block);
  EXPECT_EQ(get<wire::CongestionControlTable>(kHost, attr::kCongestionControlTable, 0).ccti_limit,
            127);
  EXPECT_EQ(set(kHost, attr::kCongestionControlTable, block, 2), wire::status::kBadValue);
  block.ccti_limit = 128;
  EXPECT_EQ(set(kHost, attr::kCongestionControlTable, block, 1), wire::status::kBadValue);
}

TEST_F(Congestion, WhatIsOfTheOtherKindOfNodeIsRefused) {
  EXPECT_EQ(ask(kSwitch, Method::Get, attr::kCaCongestionSetting)->mad.status(),
            wire::status::kBadAttribute);
  EXPECT_EQ(ask(kHost, Method::Get, attr::kSwitchCongestionSetting)->mad.status(),
            wire::status::kBadAttribute);
  EXPECT_EQ(ask(kHost, Method::Set, attr::kCongestionInfo)->mad.status(),
            wire::status::kBadAttribute);
}

TEST_F(Congestion, LogsAreEmptyAndSayWhatTimeItIs) {
  hand.run_for(std::chrono::seconds(1));
  const auto reply = ask(kSwitch, Method::Get, attr::kCongestionLog);
  ASSERT_TRUE(reply);
  const auto log =
      wire::decode<wire::SwitchCongestionLog>(reply->mad.bytes.data() + wire::kCongestionLogOffset);
  EXPECT_EQ(log.log_type, wire::kCongestionLogSwitch);
  EXPECT_EQ(log.log_events_counter, 0);
  const auto now = get<wire::CongestionTimeStamp>(kHost, attr::kTimeStamp).timestamp;
  EXPECT_GE(now, log.current_timestamp);
  EXPECT_GE(log.current_timestamp, 1'000'000'000U / 1024);
  EXPECT_EQ(static_cast<std::uint8_t>(ask(kHost, Method::Get, attr::kCongestionLog)->mad.bytes[32]),
            wire::kCongestionLogCa);
}

TEST_F(Congestion, AKeyGuardsSetsAndIsHiddenWhereItIsProtected) {
  const wire::CongestionKeyInfo key{0xABCD, false, 60, 1};
  EXPECT_EQ(set(kHost, attr::kCongestionKeyInfo, key), 0);
  EXPECT_EQ(get<wire::CongestionKeyInfo>(kHost, attr::kCongestionKeyInfo).cc_key, 0xABCDU);

  wire::CaCongestionSetting wanted;
  wanted.port_control = 1;
  EXPECT_EQ(set(kHost, attr::kCaCongestionSetting, wanted, 0, 0x1234), kNoAnswer);
  EXPECT_EQ(model.congestion({kH2, 1}).of_ca.port_control, 0);
  EXPECT_EQ(get<wire::CongestionKeyInfo>(kHost, attr::kCongestionKeyInfo).violations, 1);
  EXPECT_EQ(set(kHost, attr::kCaCongestionSetting, wanted, 0, 0xABCD), 0);
  EXPECT_EQ(model.congestion({kH2, 1}).of_ca.port_control, 1);

  const wire::CongestionKeyInfo hidden{0xABCD, true, 60, 1};
  EXPECT_EQ(set(kHost, attr::kCongestionKeyInfo, hidden, 0, 0xABCD), 0);
  EXPECT_EQ(get<wire::CongestionKeyInfo>(kHost, attr::kCongestionKeyInfo).cc_key, 0U);
  EXPECT_EQ(get<wire::CongestionKeyInfo>(kHost, attr::kCongestionKeyInfo, 0, 0xABCD).cc_key,
            0xABCDU);
}

TEST_F(Congestion, TheLeaseOfAKeyRunsOutAfterAViolationUnlessTheOwnerComesBack) {
  const wire::CongestionKeyInfo key{0xABCD, true, 10, 1};
  EXPECT_EQ(set(kHost, attr::kCongestionKeyInfo, key), 0);
  const auto violate = [&] {
    EXPECT_EQ(set(kHost, attr::kCaCongestionSetting, wire::CaCongestionSetting{}, 0, 1), kNoAnswer);
  };
  violate();
  hand.run_for(std::chrono::seconds(6));
  EXPECT_EQ(get<wire::CongestionKeyInfo>(kHost, attr::kCongestionKeyInfo, 0, 0xABCD).cc_key,
            0xABCDU);
  hand.run_for(std::chrono::seconds(30));
  EXPECT_TRUE(model.congestion({kH2, 1}).key.protect);

  violate();
  hand.run_for(std::chrono::seconds(11));
  EXPECT_FALSE(model.congestion({kH2, 1}).key.protect);
  EXPECT_EQ(get<wire::CongestionKeyInfo>(kHost, attr::kCongestionKeyInfo).cc_key, 0xABCDU);
}

TEST_F(Congestion, PowerOffForgetsAllOfIt) {
  EXPECT_EQ(set(kHost, attr::kCongestionKeyInfo, wire::CongestionKeyInfo{1, true, 0, 1}), 0);
  ASSERT_TRUE(model.reboot(hand.now(), kH2));
  EXPECT_EQ(model.congestion({kH2, 1}), CongestionState{});
}

}  // namespace
}  // namespace ib::sim::test
