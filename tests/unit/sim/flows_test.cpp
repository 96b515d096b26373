// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Flows follow the programmed tables and share links, and the counters of the PMA grow by them.
#include <gmock/gmock.h>

#include "libdiag/sim/flow.h"
#include "libdiag/wire/gmp_attributes.h"
#include "libdiag/wire/performance_attributes.h"
#include "tests/unit/sim/small_fabric.h"

namespace ib::sim::test {
namespace {

namespace attr = wire::attr;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr double kEdr = 100;  // Gb/s of 4x EDR

class ModelFlows : public testing::Test {
 protected:
  ModelFlows() : model(small_fabric()), hand(model) { bring_up(hand); }

  std::uint32_t flow(PortRef source, PortRef target, Sl sl = Sl{0}, double gbit = 0,
                     std::uint32_t size = 4096) {
    const auto ids = model.add_flows(hand.now(), {{source, target, sl, gbit, size}});
    EXPECT_TRUE(ids) << ids.error().message;
    return ids ? ids->front() : 0;
  }
  FlowState state(std::uint32_t id) {
    for (const FlowState& flow : model.flows(hand.now()))
      if (flow.id == id) return flow;
    ADD_FAILURE() << "there is no flow " << id;
    return {};
  }
  double gbit(std::uint32_t id) { return state(id).gbit; }
  template <class T>
  T counters(Lid lid, std::uint8_t port, std::uint16_t attribute, Method method = Method::Get,
             std::uint16_t select = 0, std::uint8_t select2 = 0) {
    T body;
    body.port_select = PortNum{port};
    body.counter_select = select;
    if constexpr (requires { body.counter_select2; }) body.counter_select2 = select2;
    wire::Mad mad = wire::make_mad(MgmtClass::Perf, method, attribute);
    wire::set_body(mad, body);
    const auto answer = hand.exchange(false, mad::gsi_address(lid), mad);
    EXPECT_TRUE(answer && answer->mad.status() == 0);
    return answer ? wire::body<T>(answer->mad) : T{};
  }
  wire::PortCountersExtended extended(Lid lid, std::uint8_t port) {
    return counters<wire::PortCountersExtended>(lid, port, attr::kPortCountersExtended);
  }
  template <class T>
  void program_congestion(Lid lid, std::uint16_t attribute, const T& value,
                          std::uint32_t modifier = 0) {
    auto mad = wire::make_mad(MgmtClass::CongestionControl, Method::Set, attribute, modifier);
    wire::set_body(mad, value);
    const auto reply = hand.exchange(false, mad::gsi_address(lid), mad);
    EXPECT_TRUE(reply && reply->mad.status() == 0);
  }

  Model model;
  Hand hand;
};

TEST_F(ModelFlows, OneTakesAllOfALinkAndCountersGrow) {
  const auto before = extended(kLidS1, 3);
  const auto id = flow({kH1, 1}, {kH2, 1});
  EXPECT_DOUBLE_EQ(gbit(id), kEdr);
  EXPECT_EQ(state(id).limit, FlowLimit::Link);
  EXPECT_EQ(state(id).port, (PortRef{kH1, 1}));
  hand.run_for(1s);
  const auto after = extended(kLidS1, 3);
  constexpr double kBytes = 12.5e9, kPacket = 4096 + 24;
  const auto about = [](double value) {
    return testing::AllOf(testing::Ge(value - 1), testing::Le(value * 1.00001));
  };
  EXPECT_THAT(static_cast<double>(after.port_xmit_data - before.port_xmit_data), about(kBytes / 4));
  EXPECT_THAT(static_cast<double>(after.port_unicast_xmit_pkts - before.port_unicast_xmit_pkts),
              about(kBytes / kPacket));
  EXPECT_THAT(static_cast<double>(extended(kLidS2, 3).port_rcv_data), about(kBytes / 4));
  EXPECT_THAT(static_cast<double>(extended(kLidH2, 1).port_rcv_data), about(kBytes / 4));
  // What 32 bits cannot hold stays at their end.
  hand.run_for(1s);
  EXPECT_EQ(counters<wire::PortCounters>(kLidS1, 3, attr::kPortCounters).port_xmit_data,
            0xFFFFFFFFU);
  ASSERT_TRUE(model.remove_flow(hand.now(), id));
  const auto ended = extended(kLidH2, 1).port_rcv_data;
  hand.run_for(1s);
  EXPECT_LT(extended(kLidH2, 1).port_rcv_data - ended, 1000U);
}

TEST_F(ModelFlows, OneSendsNoMoreThanItWantsTo) {
  const auto id = flow({kH1, 1}, {kH2, 1}, Sl{0}, 10);
  EXPECT_DOUBLE_EQ(gbit(id), 10);
  EXPECT_EQ(state(id).limit, FlowLimit::Demand);
}

TEST_F(ModelFlows, CountersStartAgainWhereThePmaIsSetTo) {
  flow({kH1, 1}, {kH2, 1}, Sl{0}, 8);
  hand.run_for(1s);
  counters<wire::PortCountersExtended>(kLidS1, 3, attr::kPortCountersExtended, Method::Set, 0xFF);
  hand.run_for(1s);
  EXPECT_NEAR(static_cast<double>(extended(kLidS1, 3).port_xmit_data), 0.25e9, 1e5);
}

TEST_F(ModelFlows, SmallMessagesAreMorePackets) {
  const auto before = extended(kLidS1, 3).port_xmit_pkts;
  flow({kH1, 1}, {kH2, 1}, Sl{0}, 1, 101);
  hand.run_for(1s);
  EXPECT_NEAR(static_cast<double>(extended(kLidS1, 3).port_xmit_pkts - before), 1e6, 20);
}

TEST_F(ModelFlows, TheyTravelByVlAndAreCountedBySl) {
  wire::SlToVlTable table;
  table.vl[3] = 5;
  ASSERT_EQ(hand.set(Hops{1}, attr::kSlToVl, 1 << 8 | 3, table), 0);
  flow({kH1, 1}, {kH2, 1}, Sl{3}, 8);
  hand.run_for(1s);
  const VlCounters sent = model.vl_counters({kS1, 3});
  EXPECT_NEAR(static_cast<double>(sent.xmit_data_of_sl[3]), 0.25e9, 100);
  EXPECT_GT(sent.xmit_pkts[5], 200'000U);
  EXPECT_GT(model.vl_counters({kS2, 3}).rcv_pkts[5], 200'000U);
}

TEST_F(ModelFlows, TheyShareAndWhatWaitsIsCounted) {
  // H2's link is full with two from H3; what H1 sends to H2 waits on the link between the switches,
  // and what it sends to H3 from its other port behind that.
  const auto a = flow({kH3, 1}, {kH2, 1}), b = flow({kH3, 1}, {kH2, 1});
  const auto c = flow({kH1, 1}, {kH2, 1}), victim = flow({kH1, 2}, {kH3, 1});
  for (const auto id : {a, b, c, victim}) EXPECT_NEAR(gbit(id), kEdr / 3, 1e-6);
  EXPECT_EQ(state(victim).limit, FlowLimit::Behind);
  EXPECT_EQ(state(victim).port, (PortRef{kS1, 3}));
  hand.run_for(1s);
  // A third of the time packets wait for room: a tick is a word of 4 bytes at 100 Gb/s.
  const auto wait = counters<wire::PortCounters>(kLidS1, 3, attr::kPortCounters).port_xmit_wait;
  EXPECT_NEAR(wait, 12.5e9 / 4 / 3, 1e6);
  EXPECT_EQ(counters<wire::PortCounters>(kLidS2, 1, attr::kPortCounters).port_xmit_wait, 0U);
  EXPECT_NEAR(static_cast<double>(model.vl_counters({kS1, 3}).xmit_wait[0]), wait, 2e6);
  EXPECT_EQ(counters<wire::PortVlXmitWait>(kLidS1, 3, attr::kPortVlXmitWait).ticks[0], 0xFFFF);
  EXPECT_EQ(counters<wire::PortVlXmitWait>(kLidS1, 3, attr::kPortVlXmitWait).ticks[1], 0);
  counters<wire::PortCounters>(kLidS1, 3, attr::kPortCounters, Method::Set, 0, 1);
  EXPECT_LT(counters<wire::PortCounters>(kLidS1, 3, attr::kPortCounters).port_xmit_wait, 200'000U);
}

TEST_F(ModelFlows, CongestionControlSparesTheVictim) {
  flow({kH3, 1}, {kH2, 1}), flow({kH3, 1}, {kH2, 1}), flow({kH1, 1}, {kH2, 1});
  const auto victim = flow({kH1, 2}, {kH3, 1});
  EXPECT_NEAR(gbit(victim), kEdr / 3, 1e-6);
  wire::SwitchCongestionSetting marks;
  marks.control_map = wire::congestion_map::kAll;
  marks.threshold = 15;
  marks.packet_size = 8;
  program_congestion(kLidS2, attr::kSwitchCongestionSetting, marks);
  EXPECT_NEAR(gbit(victim), kEdr / 3, 1e-6) << "nobody slows down yet";
  wire::CaCongestionSetting slows;
  slows.control_map = 0xFFFF;
  for (auto& entry : slows.entries) entry.ccti_increase = 1;
  wire::CongestionControlTable table;
  table.ccti_limit = 10;
  for (std::uint16_t i = 0; i < 64; ++i) table.entries[i] = {0, i};
  for (const Lid lid : {kLidH1, Lid{8}}) {
    program_congestion(lid, attr::kCaCongestionSetting, slows);
    program_congestion(lid, attr::kCongestionControlTable, table);
  }
  EXPECT_NEAR(gbit(victim), kEdr * 2 / 3, 1e-6);
  // The table ends before a third of the rate is reached.
  table.ccti_limit = 1;
  for (const Lid lid : {kLidH1, Lid{8}})
    program_congestion(lid, attr::kCongestionControlTable, table);
  EXPECT_NEAR(gbit(victim), kEdr / 3, 1e-6);
}

TEST_F(ModelFlows, VlsShareAsArbitrationSays) {
  wire::SlToVlTable map;
  map.vl[1] = 1;
  ASSERT_EQ(hand.set(Hops{1}, attr::kSlToVl, 1 << 8 | 3, map), 0);
  ASSERT_EQ(hand.set(Hops{1}, attr::kSlToVl, 2 << 8 | 3, map), 0);
  wire::VlArbitrationTable low;
  low.vl[0] = 0, low.weight[0] = 1;
  low.vl[1] = 1, low.weight[1] = 3;
  ASSERT_EQ(hand.set(Hops{1}, attr::kVlArbitration, 1 << 16 | 3, low), 0);
  const auto slow = flow({kH1, 1}, {kH2, 1}, Sl{0}), fast = flow({kH1, 2}, {kH3, 1}, Sl{1});
  EXPECT_NEAR(gbit(slow), kEdr / 4, 1e-6);
  EXPECT_NEAR(gbit(fast), kEdr * 3 / 4, 1e-6);
}

TEST_F(ModelFlows, ARateLimitBySlHoldsAndIsCounted) {
  wire::MlnxQosConfigSl rates;
  rates.sl[2] = 20'000;
  ASSERT_EQ(hand.set(Hops{}, 0xFF82, 1, rates), 0);
  const auto limited = flow({kH1, 1}, {kH2, 1}, Sl{2}), other = flow({kH1, 1}, {kH2, 1}, Sl{0});
  EXPECT_NEAR(gbit(limited), 20, 1e-6);
  EXPECT_EQ(state(limited).limit, FlowLimit::SlRate);
  EXPECT_NEAR(gbit(other), 80, 1e-6);
  hand.run_for(1s);
  EXPECT_NEAR(static_cast<double>(model.vl_counters({kH1, 1}).rate_wait_of_sl[2]),
              (12.5e9 - 2.5e9) / 4, 1e5);
  EXPECT_EQ(model.vl_counters({kH1, 1}).rate_wait_of_sl[0], 0U);
}

TEST_F(ModelFlows, TheyFollowTheTablesAndTheLinks) {
  const auto id = flow({kH1, 1}, {kH2, 1});
  ASSERT_TRUE(model.link_down(hand.now(), {kS1, 3}));
  EXPECT_EQ(state(id).limit, FlowLimit::NoRoute);
  EXPECT_THAT(state(id).problem, HasSubstr("the link at port 3 of \"S1\" is not ACTIVE"));
  const auto stopped = model.vl_counters({kS1, 1}).rcv_data[0];
  hand.run_for(100ms);
  EXPECT_EQ(model.vl_counters({kS1, 1}).rcv_data[0], stopped);
  EXPECT_EQ(hand.set_lft(Hops{1}, {{1, 0}, {2, 4}, {5, 1}, {6, 2}, {7, 4}, {8, 4}}), 0);
  hand.run_for(20ms);  // nobody asks: it follows by itself
  const auto before = model.vl_counters({kS1, 4}).xmit_pkts[0];
  hand.run_for(10ms);
  EXPECT_GT(model.vl_counters({kS1, 4}).xmit_pkts[0], before + 10'000);
  EXPECT_DOUBLE_EQ(gbit(id), kEdr);
}

TEST_F(ModelFlows, WhatCannotArriveSaysWhy) {
  const auto id = flow({kH1, 1}, {kH2, 1}, Sl{4});
  wire::SlToVlTable map;
  map.vl[4] = 15;
  ASSERT_EQ(hand.set(Hops{1}, attr::kSlToVl, 1 << 8 | 3, map), 0);
  EXPECT_THAT(state(id).problem, HasSubstr("SL 4 has no VL at port 3 of \"S1\""));
  EXPECT_EQ(gbit(id), 0);
  const auto bad = model.add_flows(hand.now(), {{{kS1, 3}, {kH2, 1}, Sl{0}, 0, 4096}});
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("port 3 of \"S1\" is no end port"));
  const auto self = model.add_flows(hand.now(), {{{kH1, 1}, {kH1, 1}, Sl{0}, 0, 4096}});
  ASSERT_FALSE(self);
  EXPECT_THAT(self.error().message, HasSubstr("to another one"));
  EXPECT_FALSE(model.remove_flow(hand.now(), 99));
  EXPECT_EQ(model.flows(hand.now()).size(), 1U);
  model.remove_flows(hand.now());
  EXPECT_TRUE(model.flows(hand.now()).empty());
}

TEST_F(ModelFlows, ErrorCountersAreSetAndGrow) {
  ASSERT_TRUE(model.set_counter(hand.now(), {kS1, 3}, "SymbolErrorCounter", 70'000));
  ASSERT_TRUE(model.grow_counter(hand.now(), {kS1, 3}, "PortRcvErrors", 2.5));
  hand.run_for(10s);
  auto read = counters<wire::PortCounters>(kLidS1, 3, attr::kPortCounters);
  EXPECT_EQ(read.symbol_error_counter, 0xFFFF);
  EXPECT_EQ(read.port_rcv_errors, 25);
  ASSERT_TRUE(model.grow_counter(hand.now(), {kS1, 3}, "PortRcvErrors", 0));
  hand.run_for(10s);
  read = counters<wire::PortCounters>(kLidS1, 3, attr::kPortCounters);
  EXPECT_EQ(read.port_rcv_errors, 25);
  const auto unknown = model.set_counter(hand.now(), {kS1, 3}, "RcvErrors", 1);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("PortRcvErrors"));
}

}  // namespace
}  // namespace ib::sim::test
