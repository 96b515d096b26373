// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Speeds and widths that the operator forces upon links of switches.
#include <gtest/gtest.h>

#include <algorithm>

#include "libdiag/wire/rates.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace sm::test {
namespace {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::LinkSpeed;
using ib::wire::LinkWidth;

class LinkForce : public testing::Test {
 protected:
  void bring_up(const plan::LinkForce& force) {
    core::Options options;
    options.plan.link_force = force;
    run.boot_as(options);
    ASSERT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  }
  /// Every link, as both its ends have it.
  void expect_links(LinkSpeed speed, LinkWidth width) {
    const auto& fabric = run.model().topology();
    for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
      for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
        const PortRef port{n, static_cast<std::uint8_t>(p)};
        if (!fabric.port(port).peer) continue;
        const auto info = run.model().port_info(port);
        EXPECT_EQ(ib::wire::active_speed(info), speed);
        EXPECT_EQ(ib::wire::active_width(info), width);
        EXPECT_EQ(info.port_state, ib::wire::PortState::Active);
      }
  }
  void expect_no_set() {
    run.sm().sweep_now(run.now(), core::Reason::Operator);
    const auto before = run.reports();
    ASSERT_TRUE(run.run_until_reports(before + 1));
    EXPECT_EQ(run.last().sets, 0U);
  }

  SmOnModel run{small_tree()};
};

TEST_F(LinkForce, LinksTrainToWhatIsForcedAndStayThere) {
  bring_up({});
  expect_links(LinkSpeed::Edr, LinkWidth::W4x);
  bring_up({std::nullopt, std::uint8_t{1}, std::nullopt, {}});
  expect_links(LinkSpeed::Fdr, LinkWidth::W4x);
  expect_no_set();
  bring_up({std::nullopt, std::uint8_t{30}, std::uint8_t{1}, {}});
  expect_links(LinkSpeed::Qdr, LinkWidth::W1x);
  expect_no_set();
  bring_up({std::uint8_t{3}, std::uint8_t{0}, std::uint8_t{0}, {}});
  expect_links(LinkSpeed::Ddr, LinkWidth::W1x);
  expect_no_set();
}

TEST_F(LinkForce, WhatIsSupportedIsNoReasonToTakeLinksDown) {
  bring_up({});
  bring_up({std::uint8_t{15}, std::uint8_t{31}, std::uint8_t{255}, {}});
  EXPECT_EQ(run.last().sets, 0U);
  expect_links(LinkSpeed::Edr, LinkWidth::W4x);
}

TEST_F(LinkForce, WhatAPortDoesNotSupportStays) {
  bring_up({std::nullopt, std::uint8_t{8}, std::nullopt, {}});  // NDR
  expect_links(LinkSpeed::Edr, LinkWidth::W4x);
  expect_no_set();
}

TEST_F(LinkForce, LinksThatComeUpForTheFirstTimeTrainToIt) {
  core::Options options;
  options.plan.link_force.speed_ext = 1;
  run.boot_as(options);
  run.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  expect_links(LinkSpeed::Fdr, LinkWidth::W4x);
  expect_no_set();
}

TEST_F(LinkForce, SpeedsThatHaveNothingInCommonDoNotCutTheFabric) {
  const plan::LinkForce sdr{std::uint8_t{1}, std::uint8_t{30}, std::nullopt, {}};
  const plan::LinkForce ddr{std::uint8_t{2}, std::uint8_t{30}, std::nullopt, {}};
  for (const auto& [force, speed] : {std::pair{sdr, LinkSpeed::Sdr}, {ddr, LinkSpeed::Ddr}}) {
    core::Options options;
    options.plan.link_force = force;
    run.boot_as(options);
    run.run_for(std::chrono::seconds(20));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    expect_links(speed, LinkWidth::W4x);
  }
  expect_no_set();
}

TEST_F(LinkForce, MoreThanALinkRunsAtCountsWhenItTrainsNext) {
  bring_up({std::nullopt, std::uint8_t{1}, std::nullopt, {}});
  expect_links(LinkSpeed::Fdr, LinkWidth::W4x);
  bring_up({std::nullopt, std::uint8_t{3}, std::nullopt, {}});
  expect_links(LinkSpeed::Fdr, LinkWidth::W4x);
  const PortRef p = run.model().topology().port(run.at()).peer;
  EXPECT_EQ(run.model().port_info(p).link_speed_ext_enabled, 3);
}

/// Another manager, or this one after a crash, finds what the one before had told and no more.
TEST_F(LinkForce, LinksThatWereToldAndNeverTrainedAgainDoSo) {
  bring_up({});
  core::Options options;
  options.plan.link_force.speed_ext = 1;
  const PortRef told = run.model().topology().port(run.at()).peer;
  run.boot_as(options);
  while (run.model().port_info(told).link_speed_ext_enabled != 1)
    run.run_for(std::chrono::microseconds(1));
  EXPECT_EQ(ib::wire::active_speed(run.model().port_info(told)), LinkSpeed::Edr);
  run.boot_as(options);
  run.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  expect_links(LinkSpeed::Fdr, LinkWidth::W4x);
  expect_no_set();
}

TEST_F(LinkForce, ALinkThatForgetsWhatItIsToTrainToIsLeftAloneAndNamedOnce) {
  bring_up({});
  const auto& topology = run.model().topology();
  const PortRef p = topology.port(run.at()).peer;
  for (const PortRef end : {p, run.at()})
    ASSERT_TRUE(run.model().set_trait(run.now(), end.node, end.port, "forgets_speeds", "1"));
  core::Options options;
  options.plan.link_force.speed_ext = 1;
  const auto downs = [&] {
    const auto all = run.model().error_counters(run.now(), p);
    return std::ranges::find(all, std::string_view("LinkDownedCounter"),
                             &std::pair<std::string_view, std::uint32_t>::first)
        ->second;
  };
  const auto before = downs();
  run.boot_as(options);
  for (int i = 0; i < 6; ++i) {
    run.run_for(std::chrono::seconds(10));
    run.sm().sweep_now(run.now(), core::Reason::Operator);
  }
  run.run_for(std::chrono::seconds(10));
  EXPECT_EQ(downs(), before + 2);
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.model().port_info(p).port_state, ib::wire::PortState::Active);
  const std::string name = topology.node(p.node).description;
  EXPECT_EQ(std::ranges::count_if(run.log(),
                                  [&](const std::string& line) {
                                    return line.find(name) != std::string::npos &&
                                           line.find("its link trained again") != std::string::npos;
                                  }),
            1)
      << testing::PrintToString(run.log());
}

}  // namespace
}  // namespace sm::test
