// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What an operator says about sweeps, traps, multicast and registrations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/sim/small_tree.h"
#include "tests/sim/stranger.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::wire::Method;
namespace attr = ib::wire::attr;

/// A subnet that is up, with what was sent since.
struct UpRun {
  explicit UpRun(const core::Options& options = {}) : run(small_tree(), {}, options) {
    run.watch([this](const ib::mad::Packet& p) {
      sets_of_multicast +=
          p.mad.method() == Method::Set && p.mad.attribute_id() == attr::kMulticastForwarding;
      if (p.mad.method() == Method::Set && p.mad.attribute_id() == attr::kPortInfo)
        reregistrations += ib::wire::body<ib::wire::PortInfo>(p.mad).client_reregister;
      return true;
    });
    EXPECT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up());
  }
  ib::fabric::PortRef last_host() { return Stranger::last_host(run.model().topology()); }

  SmOnModel run;
  unsigned sets_of_multicast{0}, reregistrations{0};
};

core::Options full_sweeps_only() {
  core::Options options;
  options.full_sweeps_only = true;
  return options;
}

TEST(SweepOptions, FullSweepsComeInsteadOfLightOnes) {
  UpRun usual, full(full_sweeps_only());
  for (UpRun* one : {&usual, &full}) one->run.run_for(60s);
  EXPECT_EQ(usual.run.sm().counters().full_sweeps, 1U);
  EXPECT_GE(usual.run.sm().counters().light_sweeps, 5U);
  EXPECT_GE(full.run.sm().counters().full_sweeps, 6U);
  EXPECT_EQ(full.run.sm().counters().light_sweeps, 0U);
}

TEST(SweepOptions, WithoutSweepsOnTrapsTheNextLightSweepFindsTheChange) {
  for (const bool looks : {true, false}) {
    core::Options options;
    options.act_on_traps = looks;
    UpRun one(options);
    ASSERT_TRUE(one.run.model().link_down(one.run.now(), one.last_host()));
    const auto sweeps = [&] {
      const auto& counters = one.run.sm().counters();
      return counters.full_sweeps + counters.partial_sweeps;
    };
    one.run.run_for(5s);
    EXPECT_EQ(sweeps(), looks ? 2U : 1U);
    one.run.run_for(10s);
    EXPECT_EQ(sweeps(), 2U);
  }
}

TEST(SweepOptions, MulticastTablesAreLeftAlone) {
  for (const bool multicast : {true, false}) {
    core::Options options;
    options.plan.multicast = multicast;
    UpRun one(options);
    plan::MlidGroup group;
    group.mlid = ib::Lid{0xC001};
    const auto& f = one.run.model().topology();
    for (const auto at : {one.run.at(), one.last_host()})
      group.receivers.push_back(f.port(at).guid);
    one.run.sm().set_groups(one.run.now(), {group});
    one.run.run_for(1s);
    EXPECT_EQ(one.sets_of_multicast != 0, multicast);
    one.run.sm().sweep_now(one.run.now(), core::Reason::Operator);
    one.run.run_for(1s);
    EXPECT_EQ(one.sets_of_multicast != 0, multicast);
    EXPECT_TRUE(one.run.last().up());
  }
}

TEST(SweepOptions, NobodyIsAskedToRegisterAgain) {
  for (const bool asks : {true, false}) {
    core::Options options;
    UpRun one(options);
    options.plan.reregister = asks;
    one.reregistrations = 0;
    one.run.boot_as(options);
    one.run.boot_without_memory();
    EXPECT_TRUE(one.run.run_until_reports(1));
    EXPECT_EQ(one.reregistrations != 0, asks);
  }
}

TEST(SweepOptions, TheWholeIsSweptOnceADayWhateverDevicesSay) {
  core::Options options;
  options.sweep_interval = 600s;  // light ones
  UpRun one(options);
  const auto sets = one.run.sm().counters().sets;
  one.run.run_for(23h + 59min);
  EXPECT_EQ(one.run.sm().counters().full_sweeps, 1U);
  one.run.run_for(2min);
  EXPECT_EQ(one.run.sm().counters().full_sweeps, 2U);
  one.run.run_for(24h);
  EXPECT_EQ(one.run.sm().counters().full_sweeps, 3U);
  EXPECT_EQ(one.run.sm().counters().sets, sets) << "nothing was to be set";

  options.full_sweep_every = 0s;
  UpRun never(options);
  never.run.run_for(72h);
  EXPECT_EQ(never.run.sm().counters().full_sweeps, 1U);
}

/// What leaves the subnet manager, but for answers.
struct Heard {
  explicit Heard(SmOnModel& run) {
    run.watch([this](const ib::mad::Packet& p) {
      const auto method = p.mad.method();
      if (method != Method::Get && method != Method::Set) return true;
      ++requests;
      if (method == Method::Set) ++sets[p.mad.attribute_id()];
      return true;
    });
  }
  unsigned requests{0};
  std::map<std::uint16_t, unsigned> sets;
};

TEST(Pause, NothingIsAskedAndNothingSetAndAfterwardsWhatHappenedIsKnown) {
  UpRun one;
  one.run.run_for(15s);
  Heard heard(one.run);
  one.run.sm().set_paused(one.run.now(), true);
  EXPECT_TRUE(one.run.sm().paused());
  plan::MlidGroup group;
  group.mlid = ib::Lid{0xC001};
  const auto& f = one.run.model().topology();
  for (const auto at : {one.run.at(), one.last_host()}) group.receivers.push_back(f.port(at).guid);
  one.run.sm().set_groups(one.run.now(), {group});
  const auto gone = one.last_host();
  const ib::Guid guid = f.node(gone.node).guid;
  ASSERT_TRUE(one.run.model().link_down(one.run.now(), gone));
  one.run.sm().sweep_now(one.run.now(), core::Reason::Operator);
  one.run.run_for(60s);
  EXPECT_EQ(heard.requests, 0U);
  EXPECT_TRUE(one.run.sm().observed().fabric.find_node(guid));
  EXPECT_GT(one.run.sm().counters().traps, 0U);

  one.run.sm().set_paused(one.run.now(), false);
  one.run.run_for(3s);
  EXPECT_FALSE(one.run.sm().observed().fabric.find_node(guid));
  EXPECT_GT(heard.sets[attr::kMulticastForwarding], 0U);
  EXPECT_TRUE(one.run.last().up());
}

TEST(Pause, WhatIsUnderWayIsFinished) {
  SmOnModel run(small_tree());
  ASSERT_FALSE(run.sm().idle());
  run.sm().set_paused(run.now(), true);
  EXPECT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  Heard heard(run);
  run.run_for(60s);
  EXPECT_EQ(heard.requests, 0U);
}

TEST(Pause, ARewriteWaitsForItsEndAndTheLogSaysSo) {
  UpRun one;
  one.run.run_for(15s);
  one.run.sm().set_paused(one.run.now(), true);
  Heard heard(one.run);
  one.run.sm().rewrite_now(one.run.now());
  one.run.run_for(5s);
  EXPECT_THAT(one.run.log(), testing::Contains(testing::HasSubstr(
                                 "all that devices are to hold is sent again after `ibsm ctl")));
  EXPECT_EQ(heard.requests, 0U);
  one.run.sm().set_paused(one.run.now(), false);
  one.run.run_for(3s);
  EXPECT_GT(heard.sets[attr::kLinearForwarding], 0U);
}

TEST(Rewrite, OfANodeThatIsKeptThoughItIsSilentNothingIsMissing) {
  UpRun one;
  one.run.run_for(15s);
  one.run.model().set_behaviour(one.last_host().node, ib::sim::Behaviour::Silent);
  const auto reports = one.run.reports();
  one.run.sm().rewrite_now(one.run.now());
  ASSERT_TRUE(one.run.run_until_reports(reports + 1));
  EXPECT_EQ(one.run.last().silent, 1U);
  EXPECT_TRUE(one.run.last().up()) << testing::PrintToString(one.run.last().lines);
}

/// A switch whose table another host spoiled, and that says it holds what it was told.
TEST(Rewrite, SendsAllThatDevicesAreToHoldWhateverTheySay) {
  UpRun one;
  one.run.run_for(15s);
  auto& model = one.run.model();
  const auto& f = model.topology();
  const auto sw = f.port(one.run.at()).peer.node;
  const ib::Lid lid = model.port_info(one.last_host()).lid;
  const std::uint8_t port = model.lft(sw, lid);
  Stranger stranger(one.run, one.last_host());
  ib::wire::LinearForwardingTable bad;
  bad.port.fill(ib::tables::kNoPort);
  stranger.set(model.port_info({sw, 0}).lid, attr::kLinearForwarding, 0, bad);
  one.run.run_for(1s);
  ASSERT_NE(model.lft(sw, lid), port);
  const auto good = one.run.sm().snapshot()->routing;
  one.run.listen([&](ib::mad::Packet& p) {
    if (p.mad.method() != Method::GetResp || p.mad.attribute_id() != attr::kLinearForwarding)
      return;
    auto said = ib::wire::body<ib::wire::LinearForwardingTable>(p.mad);
    if (said.port != bad.port) return;
    for (std::uint16_t i = 0; i < good->lfts.lid_count() && i < said.port.size(); ++i)
      said.port[i] = good->lfts.at(good->graph.switch_of(sw), ib::Lid{i});
    ib::wire::set_body(p.mad, said);
  });
  one.run.sm().sweep_now(one.run.now(), core::Reason::Operator);
  one.run.run_for(2s);
  EXPECT_NE(model.lft(sw, lid), port) << "it says that it holds what it is to";

  Heard heard(one.run);
  one.reregistrations = 0;
  one.run.sm().rewrite_now(one.run.now());
  one.run.run_for(2s);
  EXPECT_EQ(model.lft(sw, lid), port);
  const auto switches = static_cast<unsigned>(f.count(ib::wire::NodeType::Switch));
  EXPECT_EQ(heard.sets[attr::kLinearForwarding], switches) << "each block once";
  EXPECT_GE(heard.sets[attr::kPortInfo], f.nodes().size());
  EXPECT_EQ(one.reregistrations, 0U);
  EXPECT_TRUE(one.run.not_active().empty()) << "no link went down";
  EXPECT_TRUE(one.run.last().up());

  heard.sets.clear();
  one.run.sm().sweep_now(one.run.now(), core::Reason::Operator);
  one.run.run_for(15s);
  EXPECT_TRUE(heard.sets.empty()) << "once";
}

}  // namespace
}  // namespace sm::test
