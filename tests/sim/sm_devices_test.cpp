// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Devices as they are and as no simulator would have them (doc/devices.md): what the subnet manager
// makes of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "libdiag/fabric/topology_text.h"
#include "libdiag/wire/rates.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace sm::test {
namespace {

using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::LinkSpeed;
using ib::wire::PortState;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
namespace attr = ib::wire::attr;

class Devices : public testing::Test {
 protected:
  explicit Devices(Fabric fabric = small_tree()) : run(std::move(fabric)) {}

  void is(NodeIndex node, std::string_view trait, std::string_view value,
          std::optional<std::uint8_t> port = {}) {
    const auto result = run.model().set_trait(run.now(), node, port, trait, value);
    ASSERT_TRUE(result) << result.error().message;
  }
  void bring_up(core::Options options = {}) {
    run.boot_as(std::move(options));
    ASSERT_TRUE(run.run_until_reports(1));
  }
  void expect_up() {
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    EXPECT_TRUE(run.not_active().empty());
  }
  void sweep() {
    run.sm().sweep_now(run.now(), core::Reason::Operator);
    const auto before = run.reports();
    ASSERT_TRUE(run.run_until_reports(before + 1));
  }
  NodeIndex node(std::string_view name) const {
    const auto nodes = run.model().topology().nodes();
    for (NodeIndex n = 0; n < nodes.size(); ++n)
      if (nodes[n].description == name) return n;
    ADD_FAILURE() << "no " << name;
    return 0;
  }
  NodeIndex host(unsigned nth = 1) const {
    const auto nodes = run.model().topology().nodes();
    for (NodeIndex n = 0; n < nodes.size(); ++n)
      if (!nodes[n].is_switch() && n != run.at().node && nth-- == 1) return n;
    return 0;
  }

  SmOnModel run;
};

// ---- FDR10

/// Two SwitchX and four ConnectX-3, with cables for FDR10.
Fabric of_fdr10() {
  std::string text;
  const auto link = [](int port, const std::string& peer, int peer_port) {
    return "[" + std::to_string(port) + "] \"" + peer + "\"[" + std::to_string(peer_port) +
           "] # \"\" lid 0 4xFDR10\n";
  };
  for (int sw = 1; sw <= 2; ++sw) {
    const auto n = std::to_string(sw);
    text += "vendid=0x2c9\ndevid=0xc738\nswitchguid=0x10" + n + "(10" + n + ")\nSwitch 8 \"S-" + n +
            "\" # \"switch" + n + "\" base port 0 lid 0 lmc 0\n";
    text += link(1, "H-" + n + "1", 1) + link(2, "H-" + n + "2", 1);
    text += link(8, sw == 1 ? "S-2" : "S-1", 8);
  }
  for (int sw = 1; sw <= 2; ++sw)
    for (int host = 1; host <= 2; ++host) {
      const auto n = std::to_string(sw) + std::to_string(host);
      text += "vendid=0x2c9\ndevid=0x1003\ncaguid=0x20" + n + "\nCa 1 \"H-" + n + "\" # \"host" +
              n + "\"\n" + link(1, "S-" + std::to_string(sw), host);
    }
  return *ib::fabric::read_topology(text, "fdr10");
}

class Fdr10 : public Devices {
 protected:
  Fdr10() : Devices(of_fdr10()) {}
  static core::Options with(std::optional<bool> fdr10) {
    core::Options options;
    options.plan.link_force.fdr10 = fdr10;
    return options;
  }
  /// Of every link, as the subnet manager knows it.
  std::map<LinkSpeed, int> speeds() {
    std::map<LinkSpeed, int> all;
    const auto& fabric = run.sm().snapshot()->observed->fabric;
    for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
      for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p)
        if (fabric.port(n, p).peer) ++all[fabric.port(n, p).speed];
    return all;
  }
  using Speeds = std::map<LinkSpeed, int>;
};

TEST_F(Fdr10, IsTurnedOffAndOnAtBothEndsAndLinksTrainOnceForIt) {
  bring_up(with(std::nullopt));
  expect_up();
  EXPECT_EQ(speeds(), (Speeds{{LinkSpeed::Fdr10, 10}}));
  bring_up(with(false));
  expect_up();
  EXPECT_EQ(speeds(), (Speeds{{LinkSpeed::Qdr, 10}}));
  sweep();
  EXPECT_EQ(run.last().sets, 0U);
  bring_up(with(true));
  expect_up();
  EXPECT_EQ(speeds(), (Speeds{{LinkSpeed::Fdr10, 10}}));
  sweep();
  EXPECT_EQ(run.last().sets, 0U);
}

TEST_F(Fdr10, WhoDoesNotTakeItKeepsItsLinkAsItIs) {
  bring_up(with(false));
  is(node("host11"), "refuse", "0xFF90");
  is(node("host21"), "unsupported", "0xFF90");
  is(node("host22"), "keep", "0xFF90");
  bring_up(with(true));
  unsigned speeds_set = 0, others_set = 0;
  run.watch([&](const ib::mad::Packet& packet) {
    if (packet.mad.method() == ib::wire::Method::Set)
      ++(packet.mad.attribute_id() == attr::kMlnxExtendedPortInfo ? speeds_set : others_set);
    return true;
  });
  for (int i = 0; i < 4; ++i) sweep();
  run.watch(SmOnModel::Watch{});
  expect_up();
  EXPECT_EQ(speeds_set, 8U) << "the operator has it asked again";
  EXPECT_EQ(others_set, 0U) << "no link is taken down again and again";
  EXPECT_EQ(speeds(), (Speeds{{LinkSpeed::Fdr10, 4}, {LinkSpeed::Qdr, 6}}));
}

TEST_F(Fdr10, IsAskedOnlyWhereALinkMayRunAtIt) {
  std::map<std::uint16_t, int> asked;
  run.watch([&](const ib::mad::Packet& packet) {
    ++asked[packet.mad.attribute_id()];
    return true;
  });
  bring_up(with(true));
  EXPECT_GT(asked[attr::kMlnxExtendedPortInfo], 0);
  asked.clear();
  SmOnModel edr(small_tree());
  edr.watch([&](const ib::mad::Packet& packet) {
    ++asked[packet.mad.attribute_id()];
    return true;
  });
  edr.boot_as(with(true));
  ASSERT_TRUE(edr.run_until_reports(1));
  EXPECT_EQ(asked[attr::kMlnxExtendedPortInfo], 0);
}

// ---- what switches have built in

/// A Quantum with a host, something at its port 41 that a host could be, and an ordinary CA.
Fabric with_something_built_in() {
  return *ib::fabric::read_topology(
      "vendid=0x2c9\ndevid=0xd2f0\nswitchguid=0x101(101)\n"
      "Switch 41 \"S-1\" # \"quantum\" base port 0 lid 0 lmc 0\n"
      "[1] \"H-1\"[1] # \"\" lid 0 4xHDR\n[2] \"H-2\"[1] # \"\" lid 0 4xHDR\n"
      "[41] \"H-3\"[1] # \"\" lid 0 4xHDR\n"
      "vendid=0x2c9\ndevid=0x101b\ncaguid=0x210\nCa 1 \"H-1\" # \"one\"\n[1] \"S-1\"[1] # lid 0 "
      "lmc 0 "
      "\"\" lid 0 4xHDR\n"
      "vendid=0x2c9\ndevid=0x101b\ncaguid=0x220\nCa 1 \"H-2\" # \"two\"\n[1] \"S-1\"[2] # lid 0 "
      "lmc 0 "
      "\"\" lid 0 4xHDR\n"
      "vendid=0x2c9\ndevid=0x101b\ncaguid=0x230\nCa 1 \"H-3\" # \"three\"\n[1] \"S-1\"[41] # lid 0 "
      "lmc "
      "0 \"\" lid 0 4xHDR\n",
      "built in");
}

class BuiltIn : public Devices {
 protected:
  BuiltIn() : Devices(with_something_built_in()) {}
};

TEST_F(BuiltIn, WhatASwitchSaysIsBehindASpecialPortIsNoHost) {
  using ib::discover::SpecialPort;
  constexpr std::pair<const char*, SpecialPort> kTypes[] = {
      {"aggregation_node", SpecialPort::AggregationNode},
      {"router", SpecialPort::Router},
      {"gateway", SpecialPort::Gateway},
      {"none", SpecialPort::None}};
  for (const auto& [name, type] : kTypes) {
    is(node("quantum"), "special", name, std::uint8_t{41});
    bring_up();
    expect_up();
    const auto snapshot = run.sm().snapshot();
    const auto& seen = *snapshot->observed;
    const auto quantum = seen.fabric.find_node(ib::Guid{0x101});
    ASSERT_TRUE(quantum);
    EXPECT_EQ(seen.port({*quantum, 41}).special, type) << name;
    const bool is_host = type == SpecialPort::None;
    EXPECT_EQ(ib::discover::special_nodes(seen),
              is_host ? std::vector<ib::Guid>{} : std::vector{ib::Guid{0x230}});
    EXPECT_EQ(snapshot->routing->graph.attached()[0], is_host ? 3U : 2U)
        << "hosts that count for the balance";
  }
}

TEST_F(BuiltIn, OnlyPortsBeyondTheCagesAreAsked) {
  std::vector<std::uint32_t> ports;
  run.watch([&](const ib::mad::Packet& packet) {
    if (packet.mad.attribute_id() == attr::kMlnxExtendedPortInfo)
      ports.push_back(packet.mad.attribute_modifier());
    return true;
  });
  bring_up();
  EXPECT_THAT(ports, testing::ElementsAre(41U));
}

// ---- planes

/// Two hosts with two planes each: every plane has a switch of its own, and a cable joins these.
Fabric of_planes() {
  std::string text;
  for (int sw = 1; sw <= 2; ++sw) {
    const auto n = std::to_string(sw);
    text += "vendid=0x2c9\ndevid=0xd2f4\nswitchguid=0x10" + n + "(10" + n + ")\nSwitch 8 \"S-" + n +
            "\" # \"plane" + n + "\" base port 0 lid 0 lmc 0\n[1] \"H-1\"[" + n +
            "] # \"\" lid 0 4xXDR\n[2] \"H-2\"[" + n + "] # \"\" lid 0 4xXDR\n[8] \"S-" +
            (sw == 1 ? "2" : "1") + "\"[8] # \"\" lid 0 4xXDR\n";
  }
  for (int host = 1; host <= 2; ++host) {
    const auto n = std::to_string(host);
    text += "vendid=0x2c9\ndevid=0x1023\ncaguid=0x20" + n + "0\nCa 2 \"H-" + n + "\" # \"host" + n +
            "\"\n";
    for (int plane = 1; plane <= 2; ++plane)
      text += "[" + std::to_string(plane) + "] \"S-" + std::to_string(plane) + "\"[" + n +
              "] # lid 0 lmc 0 \"\" lid 0 4xXDR\n";
  }
  return *ib::fabric::read_topology(text, "planes");
}

class Planes : public Devices {
 protected:
  Planes() : Devices(of_planes()) {}
};

TEST_F(Planes, AreOneEndPortAndNoDuplicate) {
  is(node("host1"), "planes", "1");
  is(node("host2"), "planes", "1");
  bring_up();
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.last().duplicate_guids, 0U);
  EXPECT_EQ(run.last().lids, 4U) << "two switches, two hosts";
  const NodeIndex other = node(run.at().node == node("host1") ? "host2" : "host1");
  EXPECT_TRUE(run.model().port_info({other, 1}).lid.is_unicast());
  EXPECT_EQ(run.model().port_info({other, 1}).port_state, PortState::Active);
  EXPECT_FALSE(run.model().port_info({other, 2}).lid.is_unicast());
  EXPECT_EQ(run.model().port_info({other, 2}).port_state, PortState::Initialize);
  EXPECT_THAT(run.log(), Contains(HasSubstr("further planes of multi-plane HCAs")));
  sweep();
  EXPECT_EQ(run.last().sets, 0U);
}

TEST_F(Planes, PortsWithGuidsOfTheirOwnAreEndPortsAsEver) {
  bring_up();
  expect_up();
  EXPECT_EQ(run.last().lids, 6U);
}

// ---- a port that shows what cannot be

TEST_F(Devices, AStrangePortOfASwitchIsNamedInTheReport) {
  const PortRef at = run.model().topology().port(host(), 1).peer;
  is(at.node, "shows_state", "5", at.port);
  bring_up();
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.not_active().size(), 2U);
  EXPECT_EQ(run.last().unmanaged, 1U);
  EXPECT_THAT(run.last().lines,
              testing::ElementsAre(HasSubstr("PortState is 5; the port is left alone")));
}

TEST_F(Planes, AStrangePortOfAHostIsNamedInTheReport) {
  const NodeIndex other = node(run.at().node == node("host1") ? "host2" : "host1");
  for (const std::uint8_t port : {std::uint8_t{1}, std::uint8_t{2}})
    is(other, "shows_state", "5", port);
  bring_up();
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.not_active().size(), 4U);
  EXPECT_EQ(run.last().unmanaged, 2U);
  EXPECT_THAT(run.last().lines, testing::ElementsAre(HasSubstr("port 1: PortState is 5"),
                                                     HasSubstr("port 2: PortState is 5")));
  ASSERT_TRUE(run.model().link_down(run.now(), {other, 2}));
  run.run_for(seconds(30));
  EXPECT_THAT(run.last().lines, testing::ElementsAre(HasSubstr("port 1: PortState is 5")));
}

// ---- traps about multicast packets

TEST_F(Devices, TrapsAboutPKeysOfMulticastPacketsAreSuppressedWherePortsCan) {
  core::Options options;
  options.plan.suppress_multicast_p_key_traps = true;
  bring_up(options);
  expect_up();
  const PortRef port{host(), 1};
  EXPECT_EQ(run.model().port_info(port).multicast_p_key_trap_suppression, 1);
  sweep();
  EXPECT_EQ(run.last().sets, 0U);
  options.plan.suppress_multicast_p_key_traps = false;
  bring_up(options);
  EXPECT_EQ(run.model().port_info(port).multicast_p_key_trap_suppression, 0);
  EXPECT_EQ(run.model().port_info({node("leaf-001"), 0}).multicast_p_key_trap_suppression, 0)
      << "which does not say that it can";
}

// ---- a host that is silent, and whose link is up

class SilentHost : public Devices {
 protected:
  void fall_silent() { run.model().set_behaviour(host(), ib::sim::Behaviour::Silent); }
  bool has_routes(unsigned nth = 1) const {
    const PortRef at = run.model().topology().port(host(nth), 1).peer;
    return run.model().lft(at.node, run.model().port_info({host(nth), 1}).lid) == at.port;
  }
};

TEST_F(SilentHost, KeepsItsRoutesForThreeSweeps) {
  bring_up();
  fall_silent();
  for (int i = 0; i < 3; ++i) {
    sweep();
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    EXPECT_EQ(run.last().silent, 1U);
    EXPECT_EQ(run.last().sets, 0U);
    EXPECT_TRUE(has_routes());
  }
  EXPECT_THAT(run.log(), Contains(HasSubstr("it stays as it was for 3 more sweeps or 600 s")));
  sweep();
  EXPECT_FALSE(has_routes());
  EXPECT_EQ(run.last().silent, 0U);
  EXPECT_EQ(run.last().unmanaged, 1U);
}

TEST_F(SilentHost, ThatAnswersTheNextSweepIsAsItWas) {
  bring_up();
  fall_silent();
  sweep();
  run.model().set_behaviour(host(), ib::sim::Behaviour::Normal);
  sweep();
  EXPECT_EQ(run.last().silent, 0U);
  EXPECT_EQ(run.last().sets, 0U);
  fall_silent();
  for (int i = 0; i < 3; ++i) sweep();
  EXPECT_TRUE(has_routes()) << "it is counted again";
}

TEST_F(SilentHost, KeepsItsRoutesForTenMinutesWhereNothingIsSwept) {
  bring_up();
  fall_silent();
  sweep();
  run.run_for(std::chrono::minutes(9));
  EXPECT_TRUE(has_routes());
  run.run_for(std::chrono::minutes(2));
  EXPECT_FALSE(has_routes());
}

TEST_F(SilentHost, DoesNotMakeWholeSweepsOfChangesElsewhere) {
  bring_up();
  fall_silent();
  sweep();
  const auto before = run.sm().counters();
  ASSERT_TRUE(run.model().remove(run.now(), host(3)));
  run.run_for(std::chrono::seconds(30));
  EXPECT_EQ(run.sm().counters().full_sweeps, before.full_sweeps);
  EXPECT_GT(run.sm().counters().partial_sweeps, before.partial_sweeps);
  EXPECT_EQ(run.last().silent, 1U);
  EXPECT_EQ(run.last().missing, 0U) << testing::PrintToString(run.last().lines);
  EXPECT_TRUE(has_routes());
  run.run_for(std::chrono::minutes(11));
  EXPECT_FALSE(has_routes()) << "it is not kept for ever";
  EXPECT_EQ(run.last().silent, 0U);
}

TEST_F(SilentHost, IsBackWhenItAnswersALightSweep) {
  bring_up();
  run.model().set_behaviour(host(2), ib::sim::Behaviour::Silent);
  sweep();
  ASSERT_EQ(run.last().silent, 1U);
  const auto& topology = run.model().topology();
  ASSERT_EQ(topology.port(host(2), 1).peer.node, topology.port(host(3), 1).peer.node);
  ASSERT_TRUE(run.model().remove(run.now(), host(3)));
  run.run_for(std::chrono::seconds(30));
  EXPECT_EQ(run.last().silent, 1U) << "a change beside it, at the same switch";
  EXPECT_TRUE(has_routes(2));
  run.model().set_behaviour(host(2), ib::sim::Behaviour::Normal);
  const auto before = run.sm().counters();
  run.run_for(std::chrono::seconds(30));
  EXPECT_EQ(run.sm().counters().full_sweeps, before.full_sweeps);
  EXPECT_EQ(run.last().silent, 0U);
  EXPECT_TRUE(has_routes(2));
}

TEST_F(SilentHost, IsLeftOutAtOnceWhereTheOperatorSaysSoOrItsLinkIsDown) {
  core::Options options;
  options.silent_hosts.sweeps = 0;
  bring_up(options);
  fall_silent();
  sweep();
  EXPECT_FALSE(has_routes());
  run.model().set_behaviour(host(), ib::sim::Behaviour::Normal);
  bring_up();
  ASSERT_TRUE(has_routes());
  ASSERT_TRUE(run.model().remove(run.now(), host()));
  sweep();
  EXPECT_FALSE(has_routes());
}

// ---- other manners

TEST_F(Devices, ALinkThatRunsSlowerWithoutGoingDownIsSeenByAFullSweep) {
  bring_up();
  const PortRef port = run.model().topology().port(host(), 1).peer;
  is(port.node, "runs_at", "QDR", port.port);
  sweep();
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  const auto& fabric = run.sm().snapshot()->observed->fabric;
  const auto n = fabric.find_node(run.model().topology().node(port.node).guid);
  EXPECT_EQ(fabric.port(*n, port.port).speed, LinkSpeed::Qdr);
  EXPECT_EQ(run.last().degraded, 1U);
}

TEST_F(Devices, LidsThatNoPortCanHaveAreNoLids) {
  ib::sim::ModelOptions out_of_the_box;
  out_of_the_box.no_lid_of_cas = ib::Lid{0xFFFF};
  SmOnModel other(small_tree(), out_of_the_box);
  ASSERT_TRUE(other.run_until_reports(1));
  EXPECT_TRUE(other.last().up()) << testing::PrintToString(other.last().lines);
  EXPECT_TRUE(other.not_active().empty());
}

TEST_F(Devices, LidsThatAnotherSubnetManagerLeftAndNoPortCanHaveAreReplaced) {
  bring_up();
  is(host(), "lid", "0xC001");
  is(run.model().topology().port({host(), 1}).peer.node, "lid", "0xFFFF");
  run.boot_as({});
  ASSERT_TRUE(run.run_until_reports(1));
  expect_up();
  EXPECT_TRUE(run.model().port_info({host(), 1}).lid.is_unicast());
}

TEST_F(Devices, AHostThatLosesEverySeventhSmpIsManaged) {
  is(host(), "loses_every", "7");
  bring_up();
  expect_up();
}

TEST_F(Devices, AnAdapterWithOneGuidAndOnePKeyIsManaged) {
  is(host(), "guid_cap", "0");
  is(host(), "p_keys", "1");
  bring_up();
  expect_up();
}

TEST_F(Devices, AnEnforcementCapabilityThatLiesIsNotBelieved) {
  // IBM's eHCA is a switch with a host behind it (vendor 0x5076).
  Fabric fabric = small_tree();
  NodeIndex leaf = 0;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (fabric.node(n).description == "leaf-001") leaf = n;
  fabric.node(leaf).vendor_id = 0x5076;
  SmOnModel other(fabric);
  std::vector<std::uint32_t> told;
  const ib::Guid guid = fabric.node(leaf).guid;
  ASSERT_TRUE(other.run_until_reports(1));
  const auto& seen = *other.sm().snapshot()->observed;
  const auto n = seen.fabric.find_node(guid);
  ASSERT_TRUE(n);
  EXPECT_EQ(seen.nodes[*n].switch_info->partition_enforcement_cap, 0);
  for (unsigned p = 1; p <= fabric.node(leaf).num_ports; ++p)
    EXPECT_FALSE(other.model()
                     .port_info({leaf, static_cast<std::uint8_t>(p)})
                     .partition_enforcement_outbound);
}

}  // namespace
}  // namespace sm::test
