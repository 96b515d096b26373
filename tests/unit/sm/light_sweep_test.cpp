// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/light_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "libdiag/fabric/generate.h"

namespace sm::core {
namespace {

using ib::discover::Observed;
using ib::discover::Trouble;
namespace attr = ib::wire::attr;

const Flapping kNothingHeld;

/// One switch, and somebody silent behind its port 3.
Observed observed(std::uint16_t attribute, std::uint8_t port) {
  ib::fabric::FatTree kind;
  kind.radix = 4;
  Observed seen;
  seen.fabric = *ib::fabric::generate(kind);
  seen.nodes.resize(seen.fabric.nodes().size());
  seen.ports.resize(seen.fabric.port_count());
  for (ib::fabric::NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    seen.nodes[n].info.node_type = seen.fabric.node(n).is_switch()
                                       ? ib::wire::NodeType::Switch
                                       : ib::wire::NodeType::ChannelAdapter;
    seen.nodes[n].info.node_guid = seen.fabric.node(n).guid;
  }
  Trouble silent;
  silent.kind = Trouble::Kind::Silent;
  for (ib::fabric::NodeIndex n = 0; n < seen.nodes.size(); ++n)
    if (seen.fabric.node(n).is_switch()) silent.behind = {n, 3};
  silent.attribute = attribute;
  silent.port = port;
  silent.route.hops = {1, 3};
  seen.troubles = {silent};
  return seen;
}

ib::wire::NodeInfo node_info() {
  ib::wire::NodeInfo info;
  info.node_type = ib::wire::NodeType::ChannelAdapter;
  info.num_ports = 1;
  info.node_guid = ib::Guid{0x99};
  info.port_guid = ib::Guid{0x9A};
  info.local_port_num = ib::PortNum{1};
  return info;
}

/// What the light sweep makes of this answer of somebody whose NodeInfo was in trouble.
std::size_t changes_by(Trouble::Kind kind, const ib::wire::NodeInfo& info, std::uint16_t status) {
  Observed seen = observed(attr::kNodeInfo, 0);
  seen.troubles.front().kind = kind;
  PortStates states;
  LightSweep sweep(seen, std::vector<bool>(seen.nodes.size(), true), {}, {}, kNothingHeld, states,
                   0);
  for (const auto& request : sweep.take_requests()) {
    if (request.mad.attribute_id() != attr::kNodeInfo) continue;
    ib::mad::Packet packet;
    packet.mad = request.mad;
    packet.mad.set<&ib::wire::MadHeader::method>(ib::wire::Method::GetResp);
    packet.mad.set<&ib::wire::MadHeader::status>(status);
    ib::wire::set_body(packet.mad, info);
    ib::mad::Completion answer;
    answer.cookie = request.cookie;
    answer.reply = packet;
    sweep.on_completion({}, answer);
  }
  return sweep.changes().size();
}

/// The light sweep's question to the silent one, and what an answer to it calls for.
void expect_asks(std::uint16_t attribute, std::uint8_t port) {
  const Observed seen = observed(attribute, port);
  PortStates states;
  LightSweep sweep(seen, std::vector<bool>(seen.nodes.size(), true), {}, {}, kNothingHeld, states,
                   0);
  const auto requests = sweep.take_requests();
  const auto expected = ib::mad::smp_request(0, 0, seen.troubles.front().route,
                                             ib::wire::Method::Get, attribute, port);
  std::vector<ib::mad::Request> to_silent;
  for (const auto& r : requests)
    if (r.mad.bytes == expected.mad.bytes) to_silent.push_back(r);
  ASSERT_EQ(to_silent.size(), 1U);
  EXPECT_TRUE(sweep.in_flight().contains(to_silent[0].cookie));

  ib::mad::Completion answer;
  answer.cookie = to_silent[0].cookie;
  ib::mad::Packet packet;
  packet.mad = to_silent[0].mad;
  packet.mad.set<&ib::wire::MadHeader::method>(ib::wire::Method::GetResp);
  if (attribute == attr::kNodeInfo) ib::wire::set_body(packet.mad, node_info());
  if (attribute == attr::kSwitchInfo) {
    ib::wire::SwitchInfo info;
    info.linear_fdb_cap = 49152;
    ib::wire::set_body(packet.mad, info);
  }
  answer.reply = packet;
  sweep.on_completion({}, answer);
  ASSERT_EQ(sweep.changes().size(), 1U);
  EXPECT_TRUE(sweep.changes()[0].ends_with(" answers now")) << sweep.changes()[0];
}

TEST(LightSweep, AsksTheSilentWhatTheyDidNotAnswer) {
  expect_asks(attr::kNodeInfo, 0);
  expect_asks(attr::kSwitchInfo, 0);
  expect_asks(attr::kPortInfo, 2);
}

TEST(LightSweep, NonsenseAndRefusalsAreLookedAtUntilTheAnswerIsInOrder) {
  for (const auto kind : {Trouble::Kind::Garbage, Trouble::Kind::Refused, Trouble::Kind::Silent}) {
    EXPECT_EQ(changes_by(kind, node_info(), 0), 1U);
    EXPECT_EQ(changes_by(kind, node_info(), 0x001C), 0U);
    auto nonsense = node_info();
    nonsense.num_ports = 0;
    EXPECT_EQ(changes_by(kind, nonsense, 0), 0U);
  }
  EXPECT_EQ(changes_by(Trouble::Kind::DuplicateGuid, node_info(), 0), 0U);
}

/// A node that answered nonsense for a while may be known by a GUID, and asked about a port, that
/// it does not have.
TEST(LightSweep, WhoRefusesStillAndIsAnotherNodeThanItSaidIsSweptFor) {
  for (const ib::Guid said : {ib::Guid{0x99}, ib::Guid{0x98}}) {
    Observed seen = observed(attr::kPortInfo, 48);
    seen.troubles.front().kind = Trouble::Kind::Refused;
    seen.troubles.front().node_guid = said;
    PortStates states;
    LightSweep sweep(seen, std::vector<bool>(seen.nodes.size(), true), {}, {}, kNothingHeld, states,
                     0);
    const auto answer = [&](std::uint16_t attribute, std::uint16_t status) {
      for (const auto& request : sweep.take_requests()) {
        if (request.mad.attribute_id() != attribute) continue;
        ib::mad::Packet packet;
        packet.mad = request.mad;
        packet.mad.set<&ib::wire::MadHeader::method>(ib::wire::Method::GetResp);
        packet.mad.set<&ib::wire::MadHeader::status>(status);
        if (status == 0) ib::wire::set_body(packet.mad, node_info());
        sweep.on_completion({}, {request.cookie, packet});
      }
    };
    answer(attr::kPortInfo, 0x001C);
    EXPECT_TRUE(sweep.changes().empty());
    answer(attr::kNodeInfo, 0);
    EXPECT_EQ(sweep.changes().size(), said == node_info().node_guid ? 0U : 1U);
  }
}

/// Another master may have cleared it by the time of the sweep.
TEST(LightSweep, PortsOfASwitchThatSaysAChangeAreReadWhateverItSaysLater) {
  const Observed seen = observed(attr::kNodeInfo, 0);
  PortStates states;
  LightSweep sweep(seen, std::vector<bool>(seen.nodes.size(), true), {}, {}, kNothingHeld, states,
                   0);
  for (const auto& request : sweep.take_requests()) {
    if (request.mad.attribute_id() != attr::kSwitchInfo) continue;
    ib::mad::Packet packet;
    packet.mad = request.mad;
    ib::wire::SwitchInfo info;
    info.port_state_change = true;
    ib::wire::set_body(packet.mad, info);
    sweep.on_completion({}, {request.cookie, packet});
  }
  const auto places = sweep.places();
  ASSERT_FALSE(places.empty());
  for (const auto& place : places) EXPECT_TRUE(place.read_ports);
}

/// A switch that can tell the states of its ports, and what it is said to tell now.
class StateTables : public testing::Test {
 protected:
  StateTables() {
    for (ib::fabric::NodeIndex n = 0; n < seen_.nodes.size(); ++n)
      if (seen_.fabric.node(n).is_switch()) switch_ = n;
    for (std::uint8_t p = 0; p <= seen_.fabric.node(switch_).num_ports; ++p) {
      ib::wire::PortInfo info;
      info.port_state = ib::wire::PortState::Active;
      info.capability_mask = ib::wire::port_cap::kCapabilityMask2;
      info.capability_mask2 = ib::wire::port_cap2::kSwitchPortStateTable;
      ib::wire::Mad mad;
      ib::wire::set_body(mad, info);
      seen_.update_port({switch_, p}, mad.data(), info);
      seen_.port({switch_, p}).known = true;
      told_.state[p] = 4;
    }
    seen_.troubles.clear();
  }
  /// The lines of a light sweep.
  std::vector<std::string> look(std::uint16_t status = 0) {
    LightSweep sweep(seen_, std::vector<bool>(seen_.nodes.size(), true), {}, {}, flapping_, states_,
                     0);
    unsigned tables = 0;
    for (const auto& request : sweep.take_requests()) {
      ib::mad::Packet packet;
      packet.mad = request.mad;
      packet.mad.set<&ib::wire::MadHeader::method>(ib::wire::Method::GetResp);
      if (request.mad.attribute_id() == attr::kSwitchPortStateTable) {
        ++tables;
        packet.mad.set<&ib::wire::MadHeader::status>(status);
        ib::wire::set_body(packet.mad, told_);
      }
      sweep.on_completion({}, {request.cookie, packet});
    }
    EXPECT_EQ(tables, 1U) << "of the switch that has one";
    EXPECT_EQ(sweep.places().size(), sweep.changes().size());
    const ib::Guid guid = seen_.nodes[switch_].info.node_guid;
    EXPECT_EQ(std::ranges::count(sweep.unchanged(), guid), sweep.changes().empty() ? 1 : 0);
    return sweep.changes();
  }

  Observed seen_ = observed(attr::kNodeInfo, 0);
  ib::fabric::NodeIndex switch_{0};
  ib::wire::SwitchPortStateTable told_;
  Flapping flapping_;
  PortStates states_;
};

TEST_F(StateTables, APortInAnotherStateCallsForASweepThoughTheSwitchSaysNothing) {
  EXPECT_TRUE(look().empty());
  told_.state[2] = 5;  // ActiveDefer
  EXPECT_TRUE(look().empty());
  told_.state[3] = 2;
  const auto lines = look();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].ends_with(": port 3 is in another state than it was")) << lines[0];
  EXPECT_TRUE(look(0x000C).empty()) << "a refusal says nothing";
}

TEST_F(StateTables, WhatPortsDoNotConfirmCallsForFewSweeps) {
  told_.state[3] = 2;
  std::size_t sweeps = 0;
  for (int i = 0; i < 10; ++i) sweeps += look().size();
  EXPECT_EQ(sweeps, 3U);
  told_.state[2] = 1;
  EXPECT_EQ(look().size(), 1U) << "another difference";
  told_.state[2] = told_.state[3] = 4;
  EXPECT_TRUE(look().empty());
  told_.state[3] = 2;
  EXPECT_EQ(look().size(), 1U) << "it agreed between";
}

TEST(LightSweep, ACableBackToItsOwnPortStaysWhatItIs) {
  const Observed seen = observed(attr::kNodeInfo, 0);
  auto own = node_info();
  own.num_ports = 4;
  own.node_guid = seen.nodes[seen.troubles.front().behind.node].info.node_guid;
  own.local_port_num = ib::PortNum{3};
  EXPECT_EQ(changes_by(Trouble::Kind::Garbage, own, 0), 0U);
  own.local_port_num = ib::PortNum{4};
  EXPECT_EQ(changes_by(Trouble::Kind::Garbage, own, 0), 1U);
}

}  // namespace
}  // namespace sm::core
