// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Adaptive routing on a fat tree: on after a bring-up, off while tables change, and never on where
// what switches may choose is not proved for the tables that stand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::fabric::NodeIndex;
using ib::wire::Method;
using ib::wire::MlnxArInfo;
using Settings = policy::AdaptiveSettings;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
namespace attr = ib::wire::attr;

core::Options adaptive_options(Settings settings, const char* engine = "updn") {
  core::Options options;
  options.plan.choice.engines = {engine};
  options.plan.adaptive = std::make_shared<const Settings>(std::move(settings));
  return options;
}
Settings tree_settings() {
  Settings settings;
  settings.algorithm = Settings::Algorithm::Tree;
  return settings;
}

template <class Kind>
ib::fabric::Fabric of_switch_ib(const Kind& kind) {
  auto f = unconfigured(kind);
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    f.node(n).vendor_id = 0x2c9;
    f.node(n).device_id = f.node(n).is_switch() ? 0xcb20 : 4123;
  }
  return f;
}
ib::fabric::Fabric tree_of_switch_ib() {
  ib::fabric::FatTree kind;
  kind.radix = 8;
  return of_switch_ib(kind);
}

/// Every switch can, but for those that are `without`.
class AdaptiveRun {
 public:
  explicit AdaptiveRun(core::Options options, ib::fabric::Fabric f = tree_of_switch_ib(),
                       const char* groups = "64", std::size_t without = 0)
      : run(std::move(f), {}, std::move(options)) {
    for (const NodeIndex n : switches())
      if (without > 0)
        --without;
      else
        EXPECT_TRUE(run.model().set_trait(run.now(), n, std::nullopt, "adaptive_routing", groups));
    run.watch([this](const ib::mad::Packet& p) {
      if (p.mad.method() != Method::Set) return true;
      ++sets;
      const auto id = p.mad.attribute_id();
      lft_sets += id == attr::kLinearForwarding;
      ar_sets += id == attr::kMlnxArInfo || id == attr::kMlnxArGroupTable || id == attr::kMlnxArLft;
      check_order(p.mad);
      return true;
    });
    EXPECT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    run.run_for(1s);
  }

  std::vector<NodeIndex> switches() const {
    std::vector<NodeIndex> out;
    const auto& f = run.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (f.node(n).is_switch()) out.push_back(n);
    return out;
  }
  MlnxArInfo info(NodeIndex n) const { return run.model().adaptive_routing(n); }
  std::size_t on() const {
    std::size_t count = 0;
    for (const NodeIndex n : switches()) count += info(n).enabled;
    return count;
  }
  bool has_hosts(NodeIndex n) const {
    const auto& f = run.model().topology();
    for (const auto& port : f.ports(n))
      if (port.peer && !f.node(port.peer.node).is_switch()) return true;
    return false;
  }
  NodeIndex leaf(std::size_t number) const {
    for (const NodeIndex n : switches())
      if (has_hosts(n) && number-- == 0) return n;
    return 0;
  }
  ib::fabric::PortRef uplink(NodeIndex n) const {
    const auto& f = run.model().topology();
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p)
      if (const auto peer = f.port(n, p).peer; peer && f.node(peer.node).is_switch())
        return {n, static_cast<std::uint8_t>(p)};
    return {};
  }
  /// The LID of the first host at another leaf.
  ib::Lid far_host(NodeIndex from) const {
    const auto& f = run.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (!f.node(n).is_switch() && f.port(n, 1).peer && f.port(n, 1).peer.node != from)
        return run.model().port_info({n, 1}).lid;
    return {};
  }
  void sweep(core::Reason reason = core::Reason::ChangeSeen) {
    run.sm().sweep_now(run.now(), reason);
    run.run_for(5s);
  }
  std::string log() const { return fmt::format("{}", fmt::join(run.log(), "\n")); }

  unsigned sets{0}, lft_sets{0}, ar_sets{0};
  SmOnModel run;

 private:
  /// A table is changed while nobody chooses; nobody is told to choose while tables change.
  void check_order(const ib::wire::Mad& mad) {
    EXPECT_TRUE(mad.attribute_id() != attr::kLinearForwarding || on() == 0)
        << "LFTs change while a switch has adaptive routing on";
  }
};

TEST(AdaptiveRouting, IsOnInAllSwitchesAfterABringUp) {
  AdaptiveRun r(adaptive_options(tree_settings()));
  EXPECT_EQ(r.on(), r.switches().size());
  EXPECT_THAT(r.log(), HasSubstr("adaptive routing: 12 switches, 1 group at most, algorithm TREE"));
  const NodeIndex leaf = r.leaf(0);
  EXPECT_EQ(r.run.model().choices(leaf, r.far_host(leaf)).size(), 4U) << "all links up";
  EXPECT_TRUE(r.info(leaf).fr_enabled);
  EXPECT_EQ(r.info(leaf).sub_groups_active, 2);
  EXPECT_EQ(r.info(leaf).ageing_time, 30U);
}

TEST(AdaptiveRouting, ASweepWithoutAChangeSetsNothing) {
  AdaptiveRun r(adaptive_options(tree_settings()));
  r.sweep();
  const unsigned before = r.sets;
  r.sweep();
  r.sweep(core::Reason::Operator);
  EXPECT_EQ(r.sets, before);
}

TEST(AdaptiveRouting, ARestartSetsNothing) {
  AdaptiveRun r(adaptive_options(tree_settings()));
  r.sweep();
  const unsigned before = r.sets;
  r.run.boot();
  ASSERT_TRUE(r.run.run_until_reports(1));
  r.run.run_for(5s);
  EXPECT_EQ(r.sets, before);
  EXPECT_EQ(r.on(), r.switches().size());
}

TEST(AdaptiveRouting, ALostLinkLeavesTheGroupAndAllAreOnAgain) {
  AdaptiveRun r(adaptive_options(tree_settings()));
  const NodeIndex leaf = r.leaf(0);
  const auto link = r.uplink(leaf);
  ASSERT_TRUE(r.run.model().link_down(r.run.now(), link));
  r.run.run_for(10s);
  EXPECT_EQ(r.on(), r.switches().size());
  const auto choices = r.run.model().choices(leaf, r.far_host(leaf));
  EXPECT_EQ(choices.size(), 3U);
  EXPECT_THAT(choices, Not(Contains(link.port)));
  ASSERT_TRUE(r.run.model().link_up(r.run.now(), link));
  r.run.run_for(10s);
  EXPECT_EQ(r.on(), r.switches().size());
  EXPECT_EQ(r.run.model().choices(leaf, r.far_host(leaf)).size(), 4U);
}

TEST(AdaptiveRouting, ARebootedSwitchHasItAgain) {
  AdaptiveRun r(adaptive_options(tree_settings()));
  const NodeIndex leaf = r.leaf(1);
  ASSERT_TRUE(r.run.model().reboot(r.run.now(), leaf));
  r.run.run_for(20s);
  EXPECT_EQ(r.on(), r.switches().size());
  EXPECT_EQ(r.run.model().choices(leaf, r.far_host(leaf)).size(), 4U);
}

TEST(AdaptiveRouting, ByThePlugInsFileItIsTurnedOffWhereItIsOn) {
  AdaptiveRun r(adaptive_options(tree_settings()));
  Settings off = tree_settings();
  off.enable = false;
  r.run.sm().set_adaptive_routing(std::make_shared<const Settings>(off));
  r.sweep();
  EXPECT_EQ(r.on(), 0U);
  for (const NodeIndex n : r.switches()) EXPECT_FALSE(r.info(n).fr_enabled);
  r.run.sm().set_adaptive_routing(std::make_shared<const Settings>(tree_settings()));
  r.sweep();
  EXPECT_EQ(r.on(), r.switches().size());
  r.run.sm().set_adaptive_routing(nullptr);
  const unsigned before = r.sets;
  r.sweep();
  EXPECT_EQ(r.sets, before) << "nobody speaks of it: it stays as it is";
}

TEST(AdaptiveRouting, OneSwitchMayBeWithoutIt) {
  const auto f = tree_of_switch_ib();
  Settings settings = tree_settings();
  NodeIndex leaf = 0;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (f.node(n).is_switch()) leaf = n;
  settings.switches[f.node(leaf).guid] = {false, std::nullopt};
  settings.fast_recovery = false;
  AdaptiveRun r(adaptive_options(settings));
  EXPECT_EQ(r.on(), r.switches().size() - 1);
  EXPECT_FALSE(r.info(leaf).enabled);
  for (const NodeIndex n : r.switches()) EXPECT_FALSE(r.info(n).fr_enabled);
}

TEST(AdaptiveRouting, SwitchesThatDoNotKnowItAreNamedAndAskedOnce) {
  AdaptiveRun r(adaptive_options(tree_settings()), tree_of_switch_ib(), "64", 2);
  EXPECT_EQ(r.on(), r.switches().size() - 2);
  EXPECT_THAT(r.log(), HasSubstr("adaptive routing: 2 switches without it"));
}

TEST(AdaptiveRouting, WithTooFewGroupsTheOthersGoByTheLft) {
  Settings settings;
  AdaptiveRun r(
      adaptive_options(settings, "dor"),
      [] {
        ib::fabric::Grid mesh{{3, 3}, false};
        mesh.cables = 2;
        return of_switch_ib(mesh);
      }(),
      "3");
  EXPECT_EQ(r.on(), r.switches().size());
  EXPECT_THAT(r.log(), HasSubstr("2 groups at most, algorithm LAG"));
  EXPECT_THAT(r.log(), HasSubstr("with too few groups, where LIDs are left to the LFT"));
  for (const NodeIndex n : r.switches()) EXPECT_LE(r.info(n).group_top, 2);
}

TEST(AdaptiveRouting, WhatIsNotProvedStaysOff) {
  AdaptiveRun r(adaptive_options(tree_settings(), "dor"),
                of_switch_ib(ib::fabric::Grid{{3, 3}, false}));
  EXPECT_EQ(r.on(), 0U);
  EXPECT_THAT(r.log(), HasSubstr("adaptive routing is off: routing engine dor has no tree"));
  EXPECT_EQ(r.ar_sets, 0U);
}

TEST(AdaptiveRouting, WhenASetOfAnLftIsLostNobodyChoosesUntilItIsThere) {
  AdaptiveRun r(adaptive_options(tree_settings()));
  const NodeIndex leaf = r.leaf(0);
  const auto link = r.uplink(leaf);
  bool loses = true;
  unsigned on_while_lost = 0;
  r.run.watch([&](const ib::mad::Packet& p) {
    if (p.mad.method() == Method::Set && p.mad.attribute_id() == attr::kMlnxArInfo && loses)
      on_while_lost += ib::wire::body<MlnxArInfo>(p.mad).enabled;
    const bool lft =
        p.mad.method() == Method::Set && p.mad.attribute_id() == attr::kLinearForwarding;
    return !(lft && loses);
  });
  ASSERT_TRUE(r.run.model().link_down(r.run.now(), link));
  r.run.run_for(5s);
  EXPECT_EQ(on_while_lost, 0U);
  loses = false;
  r.run.run_for(60s);
  EXPECT_EQ(r.on(), r.switches().size());
}

}  // namespace
}  // namespace sm::test
