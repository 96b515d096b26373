// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Virtual ports on the model: brought up where the operator wants it, with the P_Keys and rate
// limits of their GUIDs, and what the subnet manager knows of them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/wire/virtualization_attributes.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"
#include "tests/unit/sm/policy/policy_of.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::Guid;
using ib::PKey;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::Method;
using ib::wire::PortState;
using policy::test::policy_of;
using testing::Contains;
using testing::HasSubstr;
namespace attr = ib::wire::attr;
using Mode = core::VPortOptions::Mode;

constexpr std::uint16_t kVirtualizing = 4123;

ib::fabric::Fabric tree_of_connect_x() {
  ib::fabric::Fabric f = small_tree();
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (f.node(n).is_switch()) continue;
    f.node(n).vendor_id = 0x2c9;
    f.node(n).device_id = kVirtualizing;
  }
  return f;
}
core::Options in_mode(Mode mode) {
  core::Options options;
  options.vports.mode = mode;
  options.plan.p_keys.awaits_virtual_ports = mode == Mode::Enable;
  return options;
}
bool is_of_vports(std::uint16_t attribute) {
  return attribute >= attr::kVirtualizationInfo && attribute <= attr::kVPortPKeyTable;
}
constexpr const char* kAllMembers = "Default=0x7fff : ALL, SELF=full;\n";

/// The last two hosts have three virtual ports each.
class VPortsRun {
 public:
  explicit VPortsRun(core::Options options, bool has_vports = true)
      : run(tree_of_connect_x(), {}, std::move(options)) {
    const auto& f = run.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (!f.node(n).is_switch()) hosts.push_back({n, 1});
    for (const std::size_t host : {kFirst, kSecond})
      if (has_vports) {
        EXPECT_TRUE(run.model().set_trait(run.now(), at(host).node, std::nullopt, "vports", "3"));
      }
    run.watch([this](const ib::mad::Packet& p) {
      const std::uint16_t attribute = p.mad.attribute_id();
      asked += is_of_vports(attribute);
      sets += is_of_vports(attribute) && p.mad.method() == Method::Set;
      rate_sets += attribute == attr::kMlnxQosConfigSl && p.mad.method() == Method::Set &&
                   (p.mad.attribute_modifier() & ib::wire::kQosConfigSlOfVPort) != 0;
      return true;
    });
    EXPECT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    run.run_for(2s);
  }
  static constexpr std::size_t kFirst = 2, kSecond = 3;
  PortRef at(std::size_t host) const { return hosts.at(host); }
  Guid guid(std::size_t host) { return run.model().topology().port(at(host)).guid; }
  std::vector<ib::sim::VPortState> vports(std::size_t host) { return run.model().vports(at(host)); }
  std::vector<PKey> keys(std::size_t host, std::size_t index) {
    auto keys = vports(host).at(index - 1).p_keys;
    while (!keys.empty() && keys.back() == PKey{0}) keys.pop_back();
    return keys;
  }
  std::vector<PKey> keys_behind(std::size_t host) {
    auto keys = run.model().p_keys(run.model().topology().port(at(host)).peer);
    while (!keys.empty() && keys.back() == PKey{0}) keys.pop_back();
    return keys;
  }
  void change(std::size_t host, unsigned index, const ib::sim::VPortChange& what) {
    ASSERT_TRUE(run.model().change_vport(run.now(), at(host), index, what));
    run.run_for(2s);
  }
  const PortVirtualization* known(std::size_t host) {
    const auto& all = run.sm().snapshot()->virtual_ports;
    if (!all || !all->contains(guid(host))) return nullptr;
    return &all->at(guid(host));
  }
  void sweep() {
    run.sm().sweep_now(run.now(), core::Reason::ChangeSeen);
    run.run_for(5s);
  }

  std::vector<PortRef> hosts;
  unsigned asked{0}, sets{0}, rate_sets{0};
  SmOnModel run;
};

TEST(VPorts, ComeUpWhereTheyAreEnabled) {
  VPortsRun r(in_mode(Mode::Enable));
  for (const std::size_t host : {r.kFirst, r.kSecond}) {
    for (const auto& v : r.vports(host)) EXPECT_EQ(v.state, PortState::Active) << v.index;
    const auto* known = r.known(host);
    ASSERT_NE(known, nullptr);
    EXPECT_TRUE(known->enabled);
    EXPECT_EQ(known->top_index, 3);
    ASSERT_EQ(known->ports.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(known->ports[i].guid, r.vports(host)[i].guid);
      EXPECT_EQ(known->ports[i].node_guid, r.vports(host)[i].node_guid);
      EXPECT_TRUE(known->ports[i].is_reached());
    }
  }
  EXPECT_EQ(r.known(0), nullptr) << "it says nothing of virtual ports";
  // VirtualizationInfo, and Active of three, of two hosts.
  EXPECT_EQ(r.sets, 2U * (1 + 3));
}

TEST(VPorts, CostNothingWhereNobodyHasThem) {
  VPortsRun r(in_mode(Mode::Enable), false);
  r.sweep();
  EXPECT_EQ(r.asked, 0U);
  EXPECT_EQ(r.run.sm().snapshot()->virtual_ports, nullptr);
}

TEST(VPorts, AreLeftAloneByDefaultAndDisabledWhenAskedTo) {
  VPortsRun alone(in_mode(Mode::Leave));
  EXPECT_EQ(alone.asked, 0U);
  VPortsRun r(in_mode(Mode::Enable));
  core::Options disabled = in_mode(Mode::Disable);
  r.run.sm().set_options(disabled);
  r.sweep();
  for (const auto& v : r.vports(r.kFirst)) EXPECT_EQ(v.state, PortState::Down);
  ASSERT_NE(r.known(r.kFirst), nullptr);
  EXPECT_FALSE(r.known(r.kFirst)->enabled);
}

TEST(VPorts, AFurtherSweepSetsNothingAndAsksLittle) {
  VPortsRun r(in_mode(Mode::Enable));
  r.sets = r.asked = 0;
  r.sweep();
  EXPECT_EQ(r.sets, 0U);
  EXPECT_EQ(r.asked, 2U * 2) << "VirtualizationInfo and one block of states each";
}

TEST(VPorts, AreFollowedByTheirTraps) {
  VPortsRun r(in_mode(Mode::Enable));
  r.change(r.kFirst, 2, {.is_up = false});
  EXPECT_EQ(r.known(r.kFirst)->ports.at(1).state, PortState::Down);
  EXPECT_EQ(r.known(r.kFirst)->ports.at(0).state, PortState::Active);
  r.change(r.kFirst, 2, {.is_up = true, .guid = Guid{0x0102030405060708}});
  EXPECT_EQ(r.known(r.kFirst)->ports.at(1).state, PortState::Active);
  EXPECT_EQ(r.known(r.kFirst)->ports.at(1).guid, Guid{0x0102030405060708});
  EXPECT_THAT(r.run.log(), Contains(HasSubstr("a virtual port changed its state")));
}

TEST(VPorts, AHostThatRestartedHasThemEnabledAgain) {
  VPortsRun r(in_mode(Mode::Enable));
  ASSERT_TRUE(r.run.model().reboot(r.run.now(), r.at(r.kFirst).node));
  r.run.run_for(60s);
  for (const auto& v : r.vports(r.kFirst)) EXPECT_EQ(v.state, PortState::Active) << v.index;
  ASSERT_TRUE(r.run.model().link_down(r.run.now(), r.at(r.kSecond)));
  r.run.run_for(5s);
  EXPECT_EQ(r.vports(r.kSecond)[0].state, PortState::Down);
  ASSERT_TRUE(r.run.model().link_up(r.run.now(), r.at(r.kSecond)));
  r.run.run_for(60s);
  for (const auto& v : r.vports(r.kSecond)) EXPECT_EQ(v.state, PortState::Active) << v.index;
}

TEST(VPorts, AHostThatIsGoneTakesItsVirtualPortsWithIt) {
  VPortsRun r(in_mode(Mode::Enable));
  ASSERT_TRUE(r.run.model().remove(r.run.now(), r.at(r.kFirst).node));
  r.run.run_for(30s);
  EXPECT_EQ(r.known(r.kFirst), nullptr);
  EXPECT_NE(r.known(r.kSecond), nullptr);
}

TEST(VPorts, OneGuidIsOneVirtualPortUntilTheOtherGivesItUp) {
  VPortsRun r(in_mode(Mode::Enable));
  const Guid wanted = r.vports(r.kFirst)[0].guid;
  r.change(r.kSecond, 1, {.guid = wanted});
  EXPECT_EQ(r.vports(r.kSecond)[0].state, PortState::Initialize);
  EXPECT_THAT(r.run.log(), Contains(HasSubstr(to_string(wanted) + " of another port")));
  r.change(r.kFirst, 1, {.is_up = false});
  EXPECT_EQ(r.vports(r.kSecond)[0].state, PortState::Active) << "the machine has moved";
}

TEST(VPorts, ThoseThatRequireALidAreNamedAndLeft) {
  VPortsRun r(in_mode(Mode::Enable));
  r.change(r.kFirst, 3, {.lid_required = true});
  EXPECT_EQ(r.vports(r.kFirst)[2].state, PortState::Initialize);
  EXPECT_FALSE(r.known(r.kFirst)->ports.at(2).is_reached());
  EXPECT_THAT(r.run.log(), Contains(HasSubstr("requires a LID of its own")));
}

TEST(VPorts, HoldTheKeysOfTheFileAndTheirSwitchLetsThemPass) {
  VPortsRun probe(in_mode(Mode::Leave));
  const auto guid = [&](std::size_t host, std::size_t index) {
    return to_string(probe.vports(host)[index - 1].guid);
  };
  core::Options options = in_mode(Mode::Enable);
  options.plan.partitions =
      policy_of(std::string(kAllMembers) + "tenant=0x22 : " + guid(VPortsRun::kFirst, 1) +
                "=full, " + guid(VPortsRun::kSecond, 2) + ";\nguests=0x33 : ALL_VCAS;\n");
  VPortsRun r(options);
  EXPECT_THAT(r.keys(r.kFirst, 1), testing::ElementsAre(PKey{0x7FFF}, PKey{0x8022}, PKey{0x0033}));
  EXPECT_THAT(r.keys(r.kFirst, 2), testing::ElementsAre(PKey{0x7FFF}, PKey{0x0033}));
  EXPECT_THAT(r.keys(r.kSecond, 2), testing::ElementsAre(PKey{0x7FFF}, PKey{0x0022}, PKey{0x0033}));
  EXPECT_THAT(r.keys_behind(r.kFirst), Contains(PKey{0x8022}));
  EXPECT_THAT(r.keys_behind(r.kFirst), Contains(PKey{0x0033}));
  EXPECT_THAT(r.keys_behind(0), testing::Not(Contains(PKey{0x0033})));
  auto own = r.run.model().p_keys(r.at(r.kFirst));
  EXPECT_THAT(own, testing::Not(Contains(PKey{0x8022}))) << "the host itself is no member";
  // A restart finds all as it is to be.
  r.sets = 0;
  unsigned key_sets = 0;
  r.run.watch([&](const ib::mad::Packet& p) {
    key_sets += p.mad.method() == Method::Set && (p.mad.attribute_id() == attr::kPKeyTable ||
                                                  p.mad.attribute_id() == attr::kVPortPKeyTable);
    return true;
  });
  r.run.boot();
  ASSERT_TRUE(r.run.run_until_reports(1));
  r.run.run_for(5s);
  EXPECT_EQ(key_sets, 0U);
}

TEST(VPorts, HaveTheRateLimitsOfTheirGuids) {
  VPortsRun probe(in_mode(Mode::Leave));
  const Guid one = probe.vports(VPortsRun::kFirst)[1].guid;
  const auto rates = [&](const std::string& text) {
    policy::RatePolicy policy;
    policy.file = policy::read_rate_file(text, "r");
    EXPECT_FALSE(ib::has_errors(policy.file.diagnostics));
    return std::make_shared<const policy::RatePolicy>(std::move(policy));
  };
  core::Options options = in_mode(Mode::Enable);
  const std::string names = "BW_NAMES bw1 = 50 bw2 = 100\nBW_RULES\n";
  options.plan.rates = rates(names + to_string(one) + " = 5:bw2, 7:bw1\n");
  VPortsRun r(options);
  EXPECT_EQ(r.vports(r.kFirst)[1].rates.sl[5], 100U);
  EXPECT_EQ(r.vports(r.kFirst)[1].rates.sl[7], 50U);
  EXPECT_EQ(r.vports(r.kFirst)[0].rates.sl[5], 0U);
  EXPECT_EQ(r.rate_sets, 1U);
  r.sweep();
  EXPECT_EQ(r.rate_sets, 1U) << "once";
  r.run.sm().set_rates(rates(names + "default = 1:bw1\n"));
  r.sweep();
  EXPECT_EQ(r.vports(r.kFirst)[1].rates.sl[5], 0U);
  for (const std::size_t host : {r.kFirst, r.kSecond})
    for (const auto& v : r.vports(host)) EXPECT_EQ(v.rates.sl[1], 50U) << v.index;
}

TEST(VPorts, DevicesThatRefuseDisturbNobody) {
  VPortsRun r(in_mode(Mode::Leave));
  ASSERT_TRUE(r.run.model().set_trait(r.run.now(), r.at(r.kFirst).node, std::nullopt, "unsupported",
                                      "0xFFB0"));
  r.run.boot_as(in_mode(Mode::Enable));
  ASSERT_TRUE(r.run.run_until_reports(1));
  r.run.run_for(30s);
  EXPECT_TRUE(r.run.last().up());
  EXPECT_EQ(r.vports(r.kFirst)[0].state, PortState::Down);
  EXPECT_EQ(r.vports(r.kSecond)[0].state, PortState::Active);
  EXPECT_THAT(r.run.log(), Contains(HasSubstr("Get(VirtualizationInfo)")));
}

TEST(VPorts, WhatIsLostOnTheWayIsAskedForAgain) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    VPortsRun r(in_mode(Mode::Leave));
    ib::sim::Faults faults;
    faults.loss_percent = 20;
    r.run.model().reseed(seed);
    r.run.model().set_faults(faults);
    r.run.boot_as(in_mode(Mode::Enable));
    r.run.run_for(120s);
    r.run.model().set_faults({});
    r.run.run_for(60s);
    for (const std::size_t host : {r.kFirst, r.kSecond})
      for (const auto& v : r.vports(host)) EXPECT_EQ(v.state, PortState::Active) << seed;
  }
}

}  // namespace
}  // namespace sm::test
