// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Nodes that reboot and links that go while the subnet manager works: it tells of them, programs
// the devices again, and leaves nobody out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "libdiag/fabric/generate.h"
#include "tests/sim/bring_up.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"
#include "tests/sim/unconfigured.h"

namespace {

using namespace std::chrono_literals;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using sm::test::expect_every_lid_reached;
using sm::test::expect_up;
using sm::test::is_set;
using sm::test::small_tree;
using sm::test::SmOnModel;
using sm::test::tree_of_radix_8;
using sm::test::unconfigured;
using testing::IsEmpty;

/// What reports told since: GUIDs of nodes, numbers of links.
struct Restarted {
  std::set<ib::Guid> nodes;
  std::size_t links{};
};
Restarted restarts_after(SmOnModel& run, const std::function<void()>& change) {
  Restarted all;
  run.on_report([&](const sm::core::Report& report) {
    if (!report.restarts) return;
    all.nodes.insert(report.restarts->nodes.begin(), report.restarts->nodes.end());
    all.links += report.restarts->links.size();
  });
  change();
  run.run_for(30s);
  run.on_report(nullptr);
  return all;
}

TEST(BringUp, ANodeThatRebootsBetweenTwoSweepsIsTold) {
  const Fabric f = small_tree();
  SmOnModel run(f);
  expect_up(run);
  const PortRef leaf = f.port(SmOnModel::first_host(f)).peer;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (n == run.at().node || n == leaf.node) continue;
    SCOPED_TRACE(f.node(n).description);
    const auto told = restarts_after(run, [&] { EXPECT_TRUE(run.model().reboot(run.now(), n)); });
    EXPECT_THAT(told.nodes, testing::ElementsAre(f.node(n).guid));
    EXPECT_TRUE(run.last().up());
  }
  EXPECT_THAT(restarts_after(run, [] {}).nodes, IsEmpty());
}

TEST(BringUp, ALinkThatIsDownForAMomentIsToldAndNoNode) {
  const Fabric f = small_tree();
  SmOnModel run(f);
  expect_up(run);
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (f.node(n).is_switch() || n == run.at().node) continue;
    const auto told = restarts_after(run, [&] {
      EXPECT_TRUE(run.model().link_down(run.now(), {n, 1}));
      EXPECT_TRUE(run.model().link_up(run.now(), {n, 1}));
    });
    EXPECT_THAT(told.nodes, IsEmpty());
    EXPECT_EQ(told.links, 1U);
    break;
  }
}

TEST(BringUp, SwitchThatRebootsIsProgrammedAgainWithItsLid) {
  const Fabric f = tree_of_radix_8();
  SmOnModel run(f);
  expect_up(run);
  const auto before = run.kept().lids;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (!f.node(n).is_switch() || f.port(run.at()).peer.node == n) continue;
    ASSERT_TRUE(run.model().reboot(run.now(), n));
    break;
  }
  run.run_for(30s);
  EXPECT_GE(run.reports(), 2U);
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_THAT(run.not_active(), IsEmpty());
  EXPECT_EQ(run.kept().lids, before);
}

TEST(BringUp, SwitchThatRebootsWhileTablesAreWrittenLosesNoRoute) {
  sm::core::Options options;
  options.plan.lmc = 3;  // several blocks in a table
  const Fabric f = tree_of_radix_8();
  NodeIndex spine = 0;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (f.node(n).is_switch() && n != f.port(SmOnModel::first_host(f)).peer.node) spine = n;
  for (unsigned moment = 1; moment <= 60; moment += 3) {
    SCOPED_TRACE(moment);
    SmOnModel run(f, {}, options);
    unsigned seen = 0;
    run.watch([&](const ib::mad::Packet& p) {
      if (is_set(p, ib::wire::attr::kLinearForwarding) && ++seen == moment) {
        EXPECT_TRUE(run.model().reboot(run.now(), spine));
      }
      return true;
    });
    run.run_for(30s);
    ASSERT_GE(seen, moment);
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    EXPECT_THAT(run.not_active(), IsEmpty());
    expect_every_lid_reached(run);
  }
}

/// A cable that goes while a sweep asks over it leaves nodes without an answer that are there.
TEST(Sweep, NobodyIsLeftOutForACableThatGoesWhileItIsLookedOver) {
  unsigned cut_short = 0;
  for (unsigned after = 1; after < 120; after += 4) {
    SCOPED_TRACE(after);
    ib::fabric::Grid torus;
    torus.sizes = {4, 4};
    sm::core::Options options;
    options.plan.choice.engines = {"updn"};
    SmOnModel run(unconfigured(torus), {}, options);
    expect_up(run);
    const Fabric& f = run.model().topology();
    const NodeIndex leaf = f.port(run.at()).peer.node;
    const auto uplink = [&](unsigned from) {
      while (!f.port(leaf, from).peer || !f.node(f.port(leaf, from).peer.node).is_switch()) ++from;
      return PortRef{leaf, static_cast<std::uint8_t>(from)};
    };
    const PortRef first = uplink(1), second = uplink(first.port + 1U);
    unsigned asked = 0;
    run.watch([&](const ib::mad::Packet& packet) {
      const bool get = packet.mad.method() == ib::wire::Method::Get && packet.mad.is_directed();
      asked += get ? 1 : 0;
      if (get && asked == after) {
        EXPECT_TRUE(run.model().link_down(run.now(), second).has_value());
      }
      return true;
    });
    ASSERT_TRUE(run.model().link_down(run.now(), first).has_value());
    for (std::size_t n = run.reports() + 1; run.run_until_reports(n, 30s); ++n) {
      EXPECT_EQ(run.last().switches, 16U);
      EXPECT_EQ(run.last().unmanaged, 0U);
    }
    cut_short += std::ranges::any_of(run.log(), [](const std::string& line) {
      return line.find("the fabric changed while it was swept") != line.npos;
    });
    EXPECT_EQ(run.not_active().size(), 4U);  // the ends of two cables
  }
  EXPECT_GT(cut_short, 0U);
}

}  // namespace
