// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the console orders of the subnet manager: sweeps now, none at all, routes alone, another
// priority.
#include <gtest/gtest.h>

#include "tests/sim/managers.h"
#include "tests/sim/small_tree.h"
#include "tests/sim/stranger.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::wire::Method;
namespace attr = ib::wire::attr;

struct OrderRun {
  OrderRun() : run(small_tree(), {}, {}) {
    run.watch([this](const ib::mad::Packet& p) {
      gets_of_node_info += p.mad.method() == Method::Get && p.mad.attribute_id() == attr::kNodeInfo;
      return true;
    });
    EXPECT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up());
    run.run_for(1s);
    gets_of_node_info = 0;
  }
  core::SubnetManager& sm() { return run.sm(); }
  ib::fabric::PortRef last_host() { return Stranger::last_host(run.model().topology()); }

  SmOnModel run;
  unsigned gets_of_node_info{0};
};

TEST(ConsoleOrders, ALightSweepNow) {
  OrderRun one;
  one.sm().light_sweep_now(one.run.now());
  one.run.run_for(100ms);
  EXPECT_EQ(one.sm().counters().light_sweeps, 1U);
  EXPECT_EQ(one.sm().counters().full_sweeps, 1U);
}

TEST(ConsoleOrders, RoutesAnewWithoutReadingTheFabric) {
  OrderRun one;
  const auto before = one.sm().snapshot();
  one.sm().reroute_now(one.run.now());
  ASSERT_TRUE(one.run.run_until_reports(2));
  EXPECT_TRUE(one.run.last().up());
  EXPECT_EQ(one.gets_of_node_info, 0U);
  EXPECT_EQ(one.sm().counters().full_sweeps, 1U);
  EXPECT_NE(one.sm().snapshot()->routing, before->routing);
  EXPECT_EQ(one.sm().snapshot()->routing->lfts, before->routing->lfts);
}

TEST(ConsoleOrders, ARerouteWhileASweepIsUnderWayIsPartOfIt) {
  OrderRun one;
  one.sm().sweep_now(one.run.now(), core::Reason::Operator);
  one.sm().reroute_now(one.run.now());
  ASSERT_TRUE(one.run.run_until_reports(2));
  one.run.run_for(1s);
  EXPECT_TRUE(one.run.last().up());
  EXPECT_TRUE(one.sm().idle());
}

TEST(ConsoleOrders, WithSweepingOffNothingIsSweptUntilItIsOnAgain) {
  OrderRun one;
  one.sm().set_sweeping(one.run.now(), false);
  EXPECT_FALSE(one.sm().sweeping());
  ASSERT_TRUE(one.run.model().link_down(one.run.now(), one.last_host()));
  one.run.run_for(60s);
  one.sm().sweep_now(one.run.now(), core::Reason::Operator);
  one.run.run_for(1s);
  EXPECT_EQ(one.gets_of_node_info, 0U);
  EXPECT_EQ(one.sm().counters().full_sweeps, 1U);
  EXPECT_EQ(one.sm().counters().light_sweeps, 0U);
  one.sm().set_sweeping(one.run.now(), true);
  one.run.run_for(1s);
  EXPECT_EQ(one.sm().counters().full_sweeps, 2U);
}

TEST(ConsoleOrders, WithSweepingOffMembershipsAreProgrammed) {
  OrderRun one;
  one.sm().set_sweeping(one.run.now(), false);
  plan::MlidGroup group;
  group.mlid = ib::Lid{0xC001};
  for (const auto at : {one.run.at(), one.last_host()})
    group.receivers.push_back(one.run.model().topology().port(at).guid);
  one.sm().set_groups(one.run.now(), {group});
  one.run.run_for(1s);
  EXPECT_TRUE(one.sm().device_state()->multicast->contains(group.mlid));
}

TEST(ConsoleOrders, ThePriorityIsShownAtOnce) {
  OrderRun one;
  one.sm().set_priority(one.run.now(), 9);
  one.run.run_for(100ms);
  EXPECT_EQ(one.sm().mastership().status().priority, 9);
  EXPECT_EQ(one.sm().device_state()->own_sm.priority, 9);
}

TEST(ConsoleOrders, AStandbyWhosePriorityIsRaisedTakesOver) {
  ib::sim::World world(small_tree());
  const auto& fabric = world.model().topology();
  std::vector<ib::fabric::PortRef> hosts;
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (fabric.node(n).type == ib::wire::NodeType::ChannelAdapter) hosts.push_back({n, 1});
  ManagerHost first(world, hosts.front()), second(world, hosts.back());
  first.start();
  ASSERT_TRUE(world.run_until([&] { return first.is_master() && first.reports() > 0; }, 60s));
  second.start();
  ASSERT_TRUE(world.run_until([&] { return second.state() == ib::wire::SmState::Standby; }, 60s));
  second.sm().set_priority(world.now(), 12);
  EXPECT_TRUE(world.run_until(
      [&] { return second.is_master() && first.state() == ib::wire::SmState::Standby; }, 60s));
}

}  // namespace
}  // namespace sm::test
