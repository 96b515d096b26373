// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What an operator says about sweeps, traps, multicast and registrations.
#include <gtest/gtest.h>

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
    options.look_at_traps = looks;
    UpRun one(options);
    ASSERT_TRUE(one.run.model().link_down(one.run.now(), one.last_host()));
    one.run.run_for(5s);
    EXPECT_EQ(one.run.sm().counters().full_sweeps, looks ? 2U : 1U);
    one.run.run_for(10s);
    EXPECT_EQ(one.run.sm().counters().full_sweeps, 2U);
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

}  // namespace
}  // namespace sm::test
