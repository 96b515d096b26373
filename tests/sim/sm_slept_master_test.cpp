// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A master whose process is stopped while another one takes over, and goes on: it sets nothing by
// what it knew, and mastership goes where it belongs.
#include <gtest/gtest.h>

#include "tests/sim/managers.h"
#include "tests/sim/small_tree.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::fabric::NodeIndex;
using ib::wire::SmState;

core::Options with_priority(unsigned priority) {
  core::Options options;
  options.mastership.priority = static_cast<std::uint8_t>(priority);
  return options;
}

std::vector<std::unique_ptr<ManagerHost>> hosts_of(ib::sim::World& world) {
  std::vector<std::unique_ptr<ManagerHost>> hosts;
  const auto& f = world.model().topology();
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch())
      hosts.push_back(
          std::make_unique<ManagerHost>(world, ib::fabric::PortRef{n, std::uint8_t{1}}));
  return hosts;
}

class SleptMaster : public testing::Test {
 protected:
  /// It is the only master, and has said that all is up.
  bool manages(const ManagerHost& host, const ManagerHost& other) {
    return world_.run_until(
        [&] {
          return host.is_master() && !other.is_master() && host.reports() > 0 && host.last().up();
        },
        60s);
  }

  ib::sim::World world_{small_tree()};
  std::vector<std::unique_ptr<ManagerHost>> hosts_{hosts_of(world_)};
  ManagerHost& sleeper_{*hosts_.at(0)};
  ManagerHost& other_{*hosts_.at(2)};
};

TEST_F(SleptMaster, InTheMiddleOfItsWorkSetsNothingBeforeItKnowsWhoIsMaster) {
  for (int i = 0; i < 20; ++i) {
    sleeper_.start(with_priority(2));
    world_.run_for(i * 20us);
    sleeper_.stop();
    other_.start(with_priority(9));
    world_.run_for(30s);
    ASSERT_TRUE(other_.is_master()) << i;
    const auto sets = sleeper_.sets();
    sleeper_.go_on();
    world_.run_for(30s);
    EXPECT_EQ(sleeper_.sets(), sets) << i;
    EXPECT_EQ(sleeper_.state(), SmState::Standby) << i;
    sleeper_.kill();
    other_.kill();
    for (NodeIndex n = 0; n < world_.model().topology().nodes().size(); ++n)
      ASSERT_TRUE(world_.model().reboot(world_.now(), n));
    world_.run_for(20ms);
  }
}

/// It did not sleep for long enough to know, MasterSMLID of its port is what it was, and switches
/// have told the other one that they were rebooted.
TEST_F(SleptMaster, WhoseOwnLidAnotherOneHadFindsThatByTheLidThatItGot) {
  sleeper_.start(with_priority(9));
  ASSERT_TRUE(manages(sleeper_, other_));
  other_.kept() = sleeper_.kept();
  std::vector<ib::Lid*> swapped;
  for (auto& claim : other_.kept().lids)
    if (claim.port_guid == sleeper_.guid() || claim.port_guid == other_.guid())
      swapped.push_back(&claim.lid);
  ASSERT_EQ(swapped.size(), 2U);
  std::swap(*swapped[0], *swapped[1]);

  sleeper_.stop();
  for (NodeIndex n = 0; n < world_.model().topology().nodes().size(); ++n)
    ASSERT_TRUE(world_.model().reboot(world_.now(), n));
  world_.run_for(20ms);
  other_.start(with_priority(9));
  ASSERT_TRUE(world_.run_until([&] { return other_.is_master() && other_.reports() > 0; }, 8s));
  const ib::Lid taken = world_.model().port_info(other_.at()).lid;
  other_.kill();
  sleeper_.go_on();
  world_.run_for(15s);
  EXPECT_TRUE(sleeper_.is_master());
  EXPECT_EQ(world_.model().port_info(sleeper_.at()).lid, taken);
  EXPECT_NE(world_.model().port_info(other_.at()).lid, taken);
  EXPECT_TRUE(sleeper_.last().up());
}

TEST_F(SleptMaster, TakesMastershipBackFromOneThatGaveOtherLids) {
  sleeper_.start(with_priority(9));
  ASSERT_TRUE(manages(sleeper_, other_));
  // By the other's store two ports have each other's LIDs, one of them its own.
  other_.kept() = sleeper_.kept();
  std::vector<ib::Lid*> swapped;
  for (auto& claim : other_.kept().lids)
    if (claim.port_guid == hosts_.at(1)->guid() || claim.port_guid == other_.guid())
      swapped.push_back(&claim.lid);
  ASSERT_EQ(swapped.size(), 2U);
  std::swap(*swapped[0], *swapped[1]);
  auto options = with_priority(1);
  options.honor_stored_lids = true;
  other_.start(options);
  world_.run_for(5s);
  sleeper_.stop();
  world_.run_for(30s);
  ASSERT_TRUE(other_.is_master());
  sleeper_.go_on();
  EXPECT_TRUE(manages(sleeper_, other_));
  world_.run_for(30s);
  EXPECT_TRUE(sleeper_.is_master());
  EXPECT_EQ(other_.state(), SmState::Standby);
}

/// Who starts beside one that hangs takes it for dead sooner than who polls it, and clears what
/// switches tell.
TEST_F(SleptMaster, WhoCameLateToATrapSweepsTheWhole) {
  sleeper_.start(with_priority(2));
  ASSERT_TRUE(manages(sleeper_, other_));
  world_.run_for(5s);
  for (const ib::Duration nap : {500ms, 1500ms}) {
    sleeper_.forget_log();
    ASSERT_TRUE(world_.model().reboot(world_.now(), hosts_.at(1)->at().node));
    world_.run_for(50ms);  // the sweep is due in another 50 ms
    sleeper_.stop();
    world_.run_for(nap);
    sleeper_.go_on();
    world_.run_for(5s);
    EXPECT_EQ(
        std::ranges::count_if(
            sleeper_.log(), [](const std::string& line) { return line.starts_with("full sweep"); }),
        nap > 1s ? 1 : 0);
    EXPECT_TRUE(sleeper_.last().up());
  }
}

}  // namespace
}  // namespace sm::test
