// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What `ibsm --dry-run` works by: a sweep, a plan, and the Sets that bring one to the other, none
// of which is sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "libdiag/fabric/generate.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace {

using sm::test::small_tree;
using sm::test::SmOnModel;
using testing::ElementsAre;

sm::core::Options rehearsing() {
  sm::core::Options options;
  options.rehearse = true;
  options.rounds = 1;
  return options;
}

/// "TABLE SLOT" of what differs; fails the test when a Set is sent.
std::vector<std::string> rehearse(SmOnModel& run, const sm::core::Options& options = rehearsing()) {
  run.watch([](const ib::mad::Packet& packet) {
    EXPECT_NE(packet.mad.method(), ib::wire::Method::Set);
    return true;
  });
  run.boot_as(options);
  EXPECT_TRUE(run.run_until_reports(1));
  EXPECT_EQ(run.last().sets, 0U);
  EXPECT_EQ(run.last().missing, 0U) << run.last().headline();
  std::vector<std::string> differences;
  for (const auto& d : run.last().differences)
    differences.push_back(std::string(d.table) + ' ' + d.slot);
  run.watch(SmOnModel::Watch{});
  return differences;
}

TEST(Rehearsal, AFabricThatWasJustProgrammedHasNoDifference) {
  SmOnModel run(small_tree());
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_THAT(rehearse(run), ElementsAre());
}

TEST(Rehearsal, OfAFabricThatNobodyProgrammedAllDiffersAndNothingIsSet) {
  SmOnModel run(small_tree(), {}, rehearsing());
  const auto differences = rehearse(run);
  std::map<std::string, std::size_t> slots;
  for (const std::string& d : differences) ++slots[d.substr(0, d.find(' '))];
  const auto& fabric = run.model().topology();
  std::size_t switches = 0, ports = 0;
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    switches += fabric.node(n).is_switch() ? 1 : 0;
    ports += fabric.node(n).is_switch() ? 1 : 0;  // port 0
    for (const auto& port : fabric.ports(n)) ports += port.peer ? 1 : 0;
  }
  EXPECT_EQ(slots["PortInfo"], ports);
  EXPECT_EQ(slots["SwitchInfo"], switches);
  EXPECT_EQ(slots["LinearForwardingTable"], switches);
  EXPECT_EQ(run.not_active().size(), ports - switches);
}

TEST(Rehearsal, NamesTheSlotsThatHoldSomethingElse) {
  SmOnModel run(small_tree());
  ASSERT_TRUE(run.run_until_reports(1));
  // As if somebody had changed an entry of every switch.
  run.listen([](ib::mad::Packet& packet) {
    if (packet.mad.attribute_id() == ib::wire::attr::kLinearForwarding)
      packet.mad.data()[1] ^= std::byte{1};
  });
  const auto differences = rehearse(run);
  EXPECT_EQ(differences.size(), run.last().switches);
  EXPECT_THAT(differences, testing::Each("LinearForwardingTable block 0"));
}

TEST(Rehearsal, SpeedsThatAreForcedAreDifferencesEvenWhereNoLinkGoesDown) {
  SmOnModel run(small_tree());
  ASSERT_TRUE(run.run_until_reports(1));
  auto options = rehearsing();
  options.plan.link_force.speed = 3;  // links run at an extended speed
  const auto differences = rehearse(run, options);
  EXPECT_FALSE(differences.empty());
  EXPECT_THAT(differences, testing::Each(testing::StartsWith("PortInfo port ")));
  options.plan.link_force.speed = 15;
  EXPECT_THAT(rehearse(run, options), ElementsAre());
}

}  // namespace
