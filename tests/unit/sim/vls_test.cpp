// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Packets take the VL that SL2VL of each hop says, are counted there, and are discarded where it
// says VL 15 or a VL that the link does not operate.
#include "libdiag/wire/performance_attributes.h"
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;

constexpr std::uint64_t kMadWords = 72;

class DataVls : public testing::Test {
 protected:
  DataVls() : model(small_fabric()), hand(model) { bring_up(hand); }

  /// VLs of SL 0 on of packets from `in` to `out` of a switch or host; what is not said is VL 0.
  void map(const Hops& hops, unsigned in, unsigned out, std::initializer_list<std::uint8_t> vls) {
    wire::SlToVlTable table;
    std::ranges::copy(vls, table.vl.begin());
    ASSERT_EQ(hand.set(hops, attr::kSlToVl, in << 8 | out, table), 0);
  }
  /// So many GMPs from H1 that nobody answers.
  void send(Lid to, Sl sl, unsigned count = 1) {
    for (unsigned i = 0; i < count; ++i) {
      mad::Packet packet;
      packet.address = mad::gsi_address(to);
      packet.address.sl = sl;
      packet.mad = wire::make_mad(MgmtClass::SubnAdm, Method::Get, attr::kClassPortInfo);
      model.send(hand.now(), {kH1, 1}, false, packet);
      hand.run_for(std::chrono::microseconds(10));
    }
  }
  /// What was received on each VL since the fabric came up.
  std::vector<std::uint64_t> received(PortRef port) {
    const VlCounters all = model.vl_counters(port);
    return {all.rcv_pkts.begin(), all.rcv_pkts.end()};
  }
  static std::vector<std::uint64_t> only(std::size_t vl, std::uint64_t count) {
    std::vector<std::uint64_t> all(15);
    all[vl] = count;
    return all;
  }
  template <class T>
  T counters(Lid lid, std::uint8_t port, std::uint16_t attribute, Method method = Method::Get,
             std::uint16_t select = 0) {
    T body;
    body.port_select = PortNum{port};
    body.counter_select = select;
    wire::Mad mad = wire::make_mad(MgmtClass::Perf, method, attribute);
    wire::set_body(mad, body);
    const auto answer = hand.exchange(false, mad::gsi_address(lid), mad);
    EXPECT_TRUE(answer && answer->mad.status() == 0);
    return answer ? wire::body<T>(answer->mad) : T{};
  }

  Model model;
  Hand hand;
};

TEST_F(DataVls, EachHopHasItsOwn) {
  map({}, 0, 0, {0, 0, 0, 1});
  map({1}, 1, 3, {0, 0, 0, 4});
  map({1, 3}, 3, 1, {0, 0, 0, 6});
  send(kLidH2, Sl{3}, 5);
  EXPECT_EQ(received({kS1, 1}), only(1, 5));
  EXPECT_EQ(received({kS2, 3}), only(4, 5));
  EXPECT_EQ(received({kH2, 1}), only(6, 5));
  const VlCounters between = model.vl_counters({kS1, 3});
  EXPECT_EQ(between.xmit_pkts[4], 5U);
  EXPECT_EQ(between.xmit_data_of_sl[3], 5 * kMadWords);
  EXPECT_EQ(model.vl_counters({kS2, 3}).rcv_data_of_sl[3], 5 * kMadWords);
  EXPECT_EQ(hand.unasked.size(), 5U);
}

TEST_F(DataVls, TheInputPortCounts) {
  map({1}, 1, 3, {5});
  map({1}, 2, 3, {6});
  send(kLidH2, Sl{0});
  EXPECT_EQ(received({kS2, 3}), only(5, 1));
}

TEST_F(DataVls, VL15OnTheWayDiscardsAndIsCountedWhereThePacketCameIn) {
  map({1}, 1, 3, {0, 0, 15});
  send(kLidH2, Sl{2}, 3);
  send(kLidH2, Sl{1});
  EXPECT_EQ(hand.unasked.size(), 1U);
  EXPECT_EQ(model.counters().dropped_vl, 3U);
  EXPECT_EQ(received({kS2, 3}), only(0, 1));
  const auto details = counters<wire::PortRcvErrorDetails>(kLidS1, 1, attr::kPortRcvErrorDetails);
  EXPECT_EQ(details.vl_mapping_errors, 3U);
  EXPECT_EQ(details.dlid_mapping_errors, 0U);
  EXPECT_EQ(
      counters<wire::PortCounters>(kLidS1, 1, attr::kPortCounters).port_rcv_switch_relay_errors,
      3U);
  counters<wire::PortRcvErrorDetails>(kLidS1, 1, attr::kPortRcvErrorDetails, Method::Set, 1U << 4);
  EXPECT_EQ(
      counters<wire::PortRcvErrorDetails>(kLidS1, 1, attr::kPortRcvErrorDetails).vl_mapping_errors,
      0U);
}

TEST_F(DataVls, VL15AtTheSenderDiscards) {
  map({}, 0, 0, {0, 15});
  send(kLidH2, Sl{1});
  EXPECT_TRUE(hand.unasked.empty());
  EXPECT_EQ(model.counters().dropped_vl, 1U);
  EXPECT_EQ(received({kS1, 1}), std::vector<std::uint64_t>(15));
}

TEST_F(DataVls, AVlThatTheLinkDoesNotOperateDiscards) {
  map({1}, 1, 3, {0, 3});
  ASSERT_EQ(hand.set_port({1}, 3, [](wire::PortInfo& i) { i.operational_vls = 3; }), 0);
  send(kLidH2, Sl{1});
  EXPECT_EQ(received({kS2, 3}), only(3, 1)) << "VL0 to 3";
  ASSERT_EQ(hand.set_port({1}, 3, [](wire::PortInfo& i) { i.operational_vls = 2; }), 0);
  send(kLidH2, Sl{1});
  EXPECT_EQ(received({kS2, 3}), only(3, 1)) << "VL0 and 1";
  EXPECT_EQ(model.counters().dropped_vl, 1U);
}

TEST_F(DataVls, WhatNoRouteTakesIsNoMappingError) {
  send(Lid{3}, Sl{0}, 2);
  const auto details = counters<wire::PortRcvErrorDetails>(kLidS1, 1, attr::kPortRcvErrorDetails);
  EXPECT_EQ(details.dlid_mapping_errors, 2U);
  EXPECT_EQ(details.vl_mapping_errors, 0U);
}

TEST_F(DataVls, ThePmaTellsThemByVlAndBySl) {
  map({1}, 1, 3, {0, 0, 0, 0, 2});
  send(kLidH2, Sl{4}, 7);
  const Lid s2{2};
  const auto packets = counters<wire::PortVlOpPackets>(s2, 3, attr::kPortVlOpPackets);
  EXPECT_EQ(packets.packets[2], 7U);
  EXPECT_GT(packets.packets[15], 0U) << "subnet management";
  EXPECT_EQ(packets.op_code, wire::kUdSendOnly);
  EXPECT_EQ(counters<wire::PortVlOpData>(s2, 3, attr::kPortVlOpData).data[2], 7 * kMadWords);
  EXPECT_EQ(counters<wire::PortRcvDataSl>(s2, 3, attr::kPortRcvDataSl).data[4], 7 * kMadWords);
  EXPECT_EQ(counters<wire::PortXmitDataSl>(kLidS1, 3, attr::kPortXmitDataSl).data[4],
            7 * kMadWords);
  constexpr std::uint8_t kAllPorts = 255;
  EXPECT_EQ(counters<wire::PortVlOpPackets>(s2, kAllPorts, attr::kPortVlOpPackets).packets[2], 7U);

  counters<wire::PortVlOpPackets>(s2, 3, attr::kPortVlOpPackets, Method::Set, 1U << 2);
  const auto after = counters<wire::PortVlOpPackets>(s2, 3, attr::kPortVlOpPackets);
  EXPECT_EQ(after.packets[2], 0U);
  EXPECT_GT(after.packets[0], 0U) << "requests like these";
  EXPECT_EQ(counters<wire::PortVlOpData>(s2, 3, attr::kPortVlOpData).data[2], 7 * kMadWords);
}

TEST_F(DataVls, AMulticastPacketTakesTheVlOfEachOfItsPorts) {
  map({1}, 1, 2, {0, 2});
  map({1}, 1, 3, {0, 3});
  wire::MulticastForwardingTable table;
  table.port_mask[0] = 1U << 2 | 1U << 3;
  ASSERT_EQ(hand.set({1}, attr::kMulticastForwarding, 0, table), 0);
  send(Lid{0xC000}, Sl{1});
  EXPECT_EQ(received({kH1, 2}), only(2, 1));
  EXPECT_EQ(received({kS2, 3}), only(3, 1));
}

}  // namespace
}  // namespace ib::sim::test
