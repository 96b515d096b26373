// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Packets on data VLs: who may send, keys at the receiver, counters, multicast, forwarding
// faults.
#include "libdiag/wire/gmp_attributes.h"
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;

wire::Mad counters_request(Method method, std::uint8_t port,
                           std::uint16_t attribute = attr::kPortCounters) {
  auto mad = wire::make_mad(MgmtClass::Perf, method, attribute);
  wire::PortCounters body;
  body.port_select = PortNum{port};
  body.counter_select = 0xFFFF;
  wire::set_body(mad, body);
  return mad;
}

class Gmp : public ::testing::Test {
 protected:
  explicit Gmp(const ModelOptions& options = {}) : model(small_fabric(), options) {
    bring_up(hand);
  }

  wire::PortCounters counters(Lid lid, std::uint8_t port) {
    const auto reply =
        hand.exchange(false, mad::gsi_address(lid), counters_request(Method::Get, port));
    EXPECT_TRUE(reply);
    return reply ? wire::body<wire::PortCounters>(reply->mad) : wire::PortCounters{};
  }
  /// One-way MAD of a class nobody but software takes.
  void shoot(Lid lid, std::uint16_t p_key_index = 0, std::uint32_t q_key = wire::kQp1QKey) {
    mad::Address to = mad::gsi_address(lid);
    to.p_key_index = p_key_index;
    to.q_key = q_key;
    auto mad = wire::make_mad(MgmtClass::VendorPing, Method::Send, attr::kPing);
    model.send(hand.now(), {kH1, 1}, false, {to, mad, {}});
    hand.run_for(std::chrono::microseconds(100));
  }
  std::vector<Delivery> arrived_at(PortRef port) {
    std::vector<Delivery> out;
    for (const Delivery& d : hand.unasked)
      if (d.port == port) out.push_back(d);
    return out;
  }

  /// How many packets of a limited member reach a full one through a switch port that holds the
  /// limited key and enforces it.
  std::size_t through_limited_port() {
    const auto keys = [](std::uint16_t second) {
      wire::PKeyTable t;
      t.p_keys[0] = kDefaultPKey;
      t.p_keys[1] = PKey{second};
      return t;
    };
    hand.set({}, attr::kPKeyTable, 0, keys(0x0001));
    hand.set({1, 3, 1}, attr::kPKeyTable, 0, keys(0x8001));
    hand.set({1, 3}, attr::kPKeyTable, 1U << 16, keys(0x0001));
    hand.set_port({1, 3}, 1, [](wire::PortInfo& i) { i.partition_enforcement_outbound = true; });
    shoot(Lid{7}, 1);
    return arrived_at({kH2, 1}).size();
  }

  Model model;
  Hand hand{model};
};

class StrictGmp : public Gmp {
 protected:
  StrictGmp() : Gmp(strict()) {}
  static ModelOptions strict() {
    ModelOptions options;
    options.strict_enforcement = true;
    return options;
  }
};

TEST_F(Gmp, ASwitchPortComparesTheLowBitsOfPKeysAlone) { EXPECT_EQ(through_limited_port(), 1U); }
TEST_F(StrictGmp, AStrictSwitchPortComparesMembershipToo) { EXPECT_EQ(through_limited_port(), 0U); }

TEST_F(Gmp, ArrivesWithItsSourceAndGoesNowhereElse) {
  shoot(Lid{7});
  ASSERT_EQ(hand.unasked.size(), 1U);
  const Delivery& d = hand.unasked[0];
  EXPECT_EQ(d.port, (PortRef{kH2, 1}));
  EXPECT_FALSE(d.smi);
  EXPECT_EQ(d.packet.address.lid, Lid{5});
  EXPECT_EQ(d.packet.address.qpn, 1U);
  EXPECT_EQ(d.dlid, Lid{7});
}

// IBA 7.2.7: data leaves an Active port only; subnet management needs Initialize.
TEST_F(Gmp, DataNeedsActiveLinksSubnetManagementDoesNot) {
  ASSERT_TRUE(model.link_down(hand.now(), {kS1, 3}));
  ASSERT_TRUE(model.link_up(hand.now(), {kS1, 3}));
  hand.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(model.port_info({kS1, 3}).port_state, wire::PortState::Initialize);
  EXPECT_TRUE(hand.by_lid(Lid{7}, Method::Get, attr::kNodeInfo));
  shoot(Lid{7});
  EXPECT_TRUE(arrived_at({kH2, 1}).empty());
  EXPECT_EQ(counters(Lid{1}, 3).port_xmit_discards, 1);
}

TEST_F(Gmp, AnArmedPortReceivesAndBecomesActive) {
  ASSERT_TRUE(model.link_down(hand.now(), {kS1, 3}));
  ASSERT_TRUE(model.link_up(hand.now(), {kS1, 3}));
  hand.run_for(std::chrono::milliseconds(50));
  hand.activate({1}, 3);
  EXPECT_EQ(hand.set_state({1, 3}, 3, wire::PortState::Armed), 0);
  shoot(Lid{7});
  EXPECT_EQ(arrived_at({kH2, 1}).size(), 1U);
  EXPECT_EQ(model.port_info({kS2, 3}).port_state, wire::PortState::Active);
}

// IBA 10.9.3: the key must be in the receiver's table, and not both be limited members.
TEST_F(Gmp, PKeysAreCheckedAtTheReceiver) {
  const auto give = [&](const Hops& hops, std::uint16_t second) {
    wire::PKeyTable t;
    t.p_keys[0] = kDefaultPKey;
    t.p_keys[1] = PKey{second};
    EXPECT_EQ(hand.set(hops, attr::kPKeyTable, 0, t), 0);
  };
  give({}, 0x0001);
  give({1, 3, 1}, 0x0001);
  shoot(Lid{7}, 1);
  EXPECT_TRUE(arrived_at({kH2, 1}).empty());  // limited and limited
  EXPECT_EQ(model.port_info({kH2, 1}).p_key_violations, 1);
  give({1, 3, 1}, 0x8001);
  shoot(Lid{7}, 1);
  ASSERT_EQ(arrived_at({kH2, 1}).size(), 1U);
  EXPECT_EQ(arrived_at({kH2, 1})[0].packet.address.p_key_index, 1);
  const auto dropped = model.counters().dropped_key;
  shoot(Lid{7}, 5);  // an empty entry: the sender has no such key
  EXPECT_EQ(model.counters().dropped_key, dropped + 1);
}

TEST_F(Gmp, AWrongQKeyIsCountedAndDropped) {
  shoot(Lid{7}, 0, 0x1234);
  EXPECT_TRUE(arrived_at({kH2, 1}).empty());
  EXPECT_EQ(model.port_info({kH2, 1}).q_key_violations, 1);
}

TEST_F(Gmp, ASwitchPortEnforcesPartitionsWhereToldTo) {
  EXPECT_EQ(
      hand.set_port({1, 3}, 1, [](wire::PortInfo& i) { i.partition_enforcement_outbound = true; }),
      0);
  shoot(Lid{7});
  EXPECT_TRUE(arrived_at({kH2, 1}).empty());
  wire::PKeyTable t;
  t.p_keys[0] = PKey{0x7FFF};
  EXPECT_EQ(hand.set({1, 3}, attr::kPKeyTable, 1U << 16, t), 0);
  shoot(Lid{7});
  EXPECT_EQ(arrived_at({kH2, 1}).size(), 1U);
}

// IBA 16.1.3.5: every VL counts, data in words of 4 bytes without the framing.
TEST_F(Gmp, CountersCountThePacketsThatCross) {
  const auto before = counters(Lid{2}, 1);
  for (int i = 0; i < 10; ++i) shoot(Lid{7});
  const auto after = counters(Lid{2}, 1);
  EXPECT_EQ(after.port_xmit_pkts - before.port_xmit_pkts, 10U);
  EXPECT_EQ(after.port_xmit_data - before.port_xmit_data, 720U);
  EXPECT_EQ(after.port_rcv_pkts, before.port_rcv_pkts);
  EXPECT_TRUE(hand.directed({1, 3, 1}, Method::Get, attr::kNodeInfo));
  EXPECT_EQ(counters(Lid{2}, 1).port_xmit_pkts, after.port_xmit_pkts + 1);
}

TEST_F(Gmp, CountersAreClearedBySelectionAndSummedForAllPorts) {
  for (int i = 0; i < 3; ++i) shoot(Lid{7});
  auto clear = counters_request(Method::Set, 1);
  wire::PortCounters body;
  body.port_select = PortNum{1};
  body.counter_select = 1U << 14;  // PortXmitPkts only
  wire::set_body(clear, body);
  const auto reply = hand.exchange(false, mad::gsi_address(Lid{2}), clear);
  ASSERT_TRUE(reply);
  const auto now = wire::body<wire::PortCounters>(reply->mad);
  EXPECT_EQ(now.port_xmit_pkts, 0U);
  EXPECT_GT(now.port_xmit_data, 0U);
  EXPECT_GT(counters(Lid{2}, 255).port_xmit_pkts, 0U);
  const auto bad =
      hand.exchange(false, mad::gsi_address(Lid{2}), counters_request(Method::Get, 99));
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->mad.status(), wire::status::kBadValue);
}

TEST_F(Gmp, ExtendedCountersTellUnicastFromMulticast) {
  shoot(Lid{7});
  const auto reply = hand.exchange(false, mad::gsi_address(Lid{7}),
                                   counters_request(Method::Get, 1, attr::kPortCountersExtended));
  ASSERT_TRUE(reply);
  const auto c = wire::body<wire::PortCountersExtended>(reply->mad);
  EXPECT_EQ(c.port_unicast_rcv_pkts, c.port_rcv_pkts);
  EXPECT_EQ(c.port_multicast_rcv_pkts, 0U);
  const auto info = hand.gmp(Lid{7}, Method::Get, attr::kClassPortInfo);
  ASSERT_TRUE(info);
  EXPECT_NE(wire::body<wire::ClassPortInfo>(info->mad).capability_mask & 0x0300, 0);
  const auto unknown = hand.gmp(Lid{7}, Method::Get, 0x0099);
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->mad.status(), wire::status::kBadAttribute);
}

TEST_F(Gmp, MulticastReachesEveryPortOfItsMask) {
  wire::MulticastForwardingTable s1, s2;
  s1.port_mask[0] = (1U << 1) | (1U << 2) | (1U << 3);
  s2.port_mask[0] = (1U << 1) | (1U << 2) | (1U << 3);
  EXPECT_EQ(hand.set({1}, attr::kMulticastForwarding, 0, s1), 0);
  EXPECT_EQ(hand.set({1, 3}, attr::kMulticastForwarding, 0, s2), 0);
  shoot(Lid{0xC000});
  EXPECT_EQ(hand.unasked.size(), 3U);
  EXPECT_EQ(arrived_at({kH1, 1}).size(), 0U);
  for (const PortRef port : {PortRef{kH1, 2}, PortRef{kH2, 1}, PortRef{kH3, 1}})
    EXPECT_EQ(arrived_at(port).size(), 1U);
  shoot(Lid{0xC001});  // not in any table
  EXPECT_EQ(hand.unasked.size(), 3U);
}

TEST_F(Gmp, ALoopInTheTablesEndsAndIsCounted) {
  // LID 9 goes round: out by 3, back by 4.
  wire::SwitchInfo info = hand.get<wire::SwitchInfo>({1}, attr::kSwitchInfo);
  info.linear_fdb_top = 9;
  EXPECT_EQ(hand.set({1}, attr::kSwitchInfo, 0, info), 0);
  EXPECT_EQ(hand.set({1, 3}, attr::kSwitchInfo, 0, info), 0);
  EXPECT_EQ(hand.set_lft({1}, {{1, 0}, {2, 3}, {5, 1}, {7, 3}, {9, 3}}), 0);
  EXPECT_EQ(hand.set_lft({1, 3}, {{1, 3}, {2, 0}, {5, 3}, {7, 1}, {9, 4}}), 0);
  shoot(Lid{9});
  EXPECT_TRUE(hand.unasked.empty());
  EXPECT_EQ(model.next_event(), kNever);
  EXPECT_GT(counters(Lid{1}, 255).port_xmit_discards + counters(Lid{2}, 255).port_xmit_discards, 0);
  // Back by the port it came in is refused at once (PortRcvSwitchRelayErrors).
  EXPECT_EQ(hand.set_lft({1, 3}, {{1, 3}, {2, 0}, {5, 3}, {7, 1}, {9, 3}}), 0);
  const auto before = counters(Lid{2}, 3).port_rcv_switch_relay_errors;
  shoot(Lid{9});
  EXPECT_EQ(counters(Lid{2}, 3).port_rcv_switch_relay_errors, before + 1);
}

TEST_F(Gmp, AnOwnLidLoopsBackInsideTheHca) {
  shoot(Lid{5});
  EXPECT_EQ(arrived_at({kH1, 1}).size(), 1U);
}

TEST_F(Gmp, EveryLidOfTheLmcRangeArrivesWithItsPathBits) {
  EXPECT_EQ(hand.set_port({1, 3, 1}, 1,
                          [](wire::PortInfo& i) {
                            i.lid = Lid{4};
                            i.lmc = 2;
                          }),
            0);
  EXPECT_EQ(hand.set_lft({1}, {{1, 0}, {2, 3}, {5, 1}, {7, 3}}), 0);
  EXPECT_EQ(hand.set_lft({1, 3}, {{1, 3}, {2, 0}, {5, 3}, {7, 1}}), 0);
  shoot(Lid{7});
  ASSERT_EQ(arrived_at({kH2, 1}).size(), 1U);
  EXPECT_EQ(arrived_at({kH2, 1})[0].packet.address.path_bits, 3);
}

}  // namespace
}  // namespace ib::sim::test
