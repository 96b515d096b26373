// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tables of devices are read when the subnet is up and never in its way; what devices hold is
// published as it becomes known.
#include <gtest/gtest.h>

#include <map>

#include "libdiag/fabric/generate.h"
#include "sm/device/tables/kinds.h"
#include "tests/sim/sm_on_model.h"

namespace sm::test {
namespace {

using ib::fabric::NodeIndex;
namespace attr = ib::wire::attr;
using std::chrono::milliseconds;
using std::chrono::seconds;

ib::fabric::Fabric tree_with_lids() {
  ib::fabric::FatTree t;
  t.radix = 8;
  auto fabric = ib::fabric::generate(t);
  EXPECT_TRUE(fabric);
  return *std::move(fabric);
}

/// Gets of tables that only subnet administration tells of, those of the manager's own port aside,
/// which it watches.
struct TableGets {
  explicit TableGets(SmOnModel& run) {
    run.watch([this](const ib::mad::Packet& p) {
      if (p.mad.get<&ib::wire::SmpHeader::hop_count>() == 0) return true;
      if (p.mad.method() != ib::wire::Method::Get) return true;
      const auto a = p.mad.attribute_id();
      if (a == attr::kPKeyTable || a == attr::kGuidInfo || a == attr::kVlArbitration) ++count;
      return true;
    });
  }
  unsigned count{0};
};

TEST(DeviceState, TablesAreReadOnceTheSubnetIsUpAndNotAgain) {
  SmOnModel run(tree_with_lids());
  TableGets gets(run);
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.last().up());
  EXPECT_EQ(gets.count, 0U) << "bring-up sends none of them";
  ASSERT_NE(run.sm().device_state(), nullptr);
  EXPECT_EQ(run.sm().device_state()->tables->nodes_read(), 0U);
  EXPECT_TRUE(run.sm().device_state()->tables_to_come);

  run.run_for(seconds(2));
  EXPECT_GT(gets.count, 0U);
  const auto device_state = run.sm().device_state();
  const auto fabric = run.sm().observed().fabric;  // of the first sweep
  EXPECT_EQ(device_state->tables->nodes_read(), fabric.nodes().size());
  EXPECT_FALSE(device_state->tables_to_come);
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    const std::uint8_t end_port = node.is_switch() ? 0 : 1;
    const auto* tables = device_state->tables->find(node.guid);
    ASSERT_NE(tables, nullptr) << node.description;
    const auto* guids = tables->held(device::kGuidInfo, {end_port, 0, 0});
    ASSERT_NE(guids, nullptr) << node.description;
    EXPECT_EQ(ib::wire::decode<ib::wire::GuidInfo>(guids->data()).guid[0],
              fabric.port(n, end_port).guid);
    const auto* keys = tables->held(device::kPKeyTable, {end_port, 0, 0});
    ASSERT_NE(keys, nullptr) << node.description;
    EXPECT_EQ(ib::wire::decode<ib::wire::PKeyTable>(keys->data()).p_keys[0], ib::kDefaultPKey);
    EXPECT_NE(tables->held(device::kSlToVl, {1, 0, 0}), nullptr);
  }

  const unsigned so_far = gets.count;
  run.sm().sweep_now(run.now(), core::Reason::Trap);
  run.run_for(seconds(2));
  EXPECT_EQ(run.reports(), 2U);
  EXPECT_EQ(gets.count, so_far) << "nothing changed";
  EXPECT_EQ(run.sm().device_state()->tables->nodes_read(), fabric.nodes().size());

  run.sm().sweep_now(run.now(), core::Reason::Operator);
  run.run_for(seconds(2));
  EXPECT_EQ(gets.count, 2 * so_far) << "an operator wants to know again";
}

/// Everything known of the forwarding tables of switches is what these hold.
void expect_forwarding_of_devices(SmOnModel& run) {
  const auto& snapshot = *run.sm().snapshot();
  const auto& graph = snapshot.routing->graph;
  for (ib::fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto* held = run.sm().device_state()->tables->forwarding(graph.guid(s));
    ASSERT_NE(held, nullptr);
    const NodeIndex device = run.model().topology().find_node(graph.guid(s)).value();
    for (unsigned lid = 0; lid <= graph.max_lid().value; ++lid) {
      ASSERT_TRUE(held->knows_lft_block(lid / 64));
      ASSERT_EQ(held->lft[lid], run.model().lft(device, ib::Lid{static_cast<std::uint16_t>(lid)}));
    }
  }
}

TEST(DeviceState, ForwardingTablesAreWhatSwitchesAnswered) {
  SmOnModel run(tree_with_lids());
  ASSERT_TRUE(run.run_until_reports(1));
  expect_forwarding_of_devices(run);
  const auto before = run.sm().device_state();
  const auto guid = run.sm().snapshot()->routing->graph.guid(0);
  const auto lft = before->tables->forwarding(guid)->lft;
  // A restart reads what stands.
  run.boot();
  ASSERT_TRUE(run.run_until_reports(1));
  expect_forwarding_of_devices(run);
  // Other routes: what was published before stays as it was.
  core::Options options;
  options.plan.choice.engines = {"dfsssp"};
  options.plan.lmc = 1;
  const auto published = run.sm().device_state();
  run.boot_as(options);
  ASSERT_TRUE(run.run_until_reports(1));
  expect_forwarding_of_devices(run);
  EXPECT_EQ(published->tables->forwarding(guid)->lft, lft);
  EXPECT_NE(run.sm().device_state()->tables->forwarding(guid)->lft, lft);
}

/// A Set whose answer is lost leaves its block unknown, until it is read or written again.
TEST(DeviceState, ALftBlockWithoutAnAnswerIsNotKnown) {
  SmOnModel run(tree_with_lids());
  run.watch([&](const ib::mad::Packet& p) {
    return p.mad.method() != ib::wire::Method::Set ||
           p.mad.attribute_id() != attr::kLinearForwarding ||
           p.mad.get<&ib::wire::SmpHeader::hop_count>() > 1;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_FALSE(run.last().up());
  // The switch next to us is one hop away.
  const auto& fabric = run.sm().observed().fabric;
  const auto near = fabric.port(run.sm().observed().local_port).peer.node;
  const auto* held = run.sm().device_state()->tables->forwarding(fabric.node(near).guid);
  ASSERT_NE(held, nullptr);
  EXPECT_FALSE(held->knows_lft_block(0));
  run.watch(SmOnModel::Watch{});
  ASSERT_TRUE(run.run_until_reports(2));
  expect_forwarding_of_devices(run);
}

TEST(DeviceState, ASweepInterruptsTheReadingAndItGoesOn) {
  SmOnModel run(tree_with_lids());
  unsigned nodes_read = 0;
  bool swept = false;
  ASSERT_TRUE(run.run_until_reports(1));
  run.watch([&](const ib::mad::Packet& p) {
    if (p.mad.attribute_id() == attr::kPKeyTable) ++nodes_read;
    return true;
  });
  // Halfway through the reading.
  while (nodes_read < 20 && !swept) run.run_for(std::chrono::microseconds(50));
  EXPECT_EQ(run.sm().device_state()->tables->nodes_read(), 0U) << "published when it is done";
  run.sm().sweep_now(run.now(), core::Reason::Trap);
  ASSERT_TRUE(run.run_until_reports(2));
  EXPECT_TRUE(run.last().up());
  run.run_for(seconds(2));
  EXPECT_EQ(run.sm().device_state()->tables->nodes_read(),
            run.sm().observed().fabric.nodes().size());
}

/// Where a directed route from the host leads, and the switch port it leaves by last.
struct Way {
  ib::fabric::PortRef last_exit;
  NodeIndex node;
};
Way follow(const ib::fabric::Fabric& fabric, NodeIndex from,
           const std::vector<std::uint8_t>& hops) {
  Way way{{}, from};
  for (const std::uint8_t hop : hops) {
    way.last_exit = {way.node, hop};
    way.node = fabric.port(way.last_exit).peer.node;
  }
  return way;
}

/// What was asked over a cable that went stays unanswered. The sweep that follows asks the same
/// nodes by other ways, and waits for none of it.
TEST(DeviceState, ACableThatGoesWhileTablesAreReadTakesNobodyWithIt) {
  const auto fabric = tree_with_lids();
  const auto nodes = fabric.nodes().size();
  // Every leaf but the host's own: the cable that its route ends with, and when it is asked.
  std::size_t cuts = 0;
  for (NodeIndex leaf = 0; leaf < nodes; ++leaf) {
    if (!fabric.node(leaf).is_switch()) continue;
    SmOnModel run(fabric);
    ASSERT_TRUE(run.run_until_reports(1));
    bool cut = false;
    run.watch([&](const ib::mad::Packet& p) {
      if (cut || p.mad.attribute_id() != attr::kPKeyTable) return true;
      const auto path = p.mad.get<&ib::wire::SmpHeader::initial_path>();
      const unsigned count = p.mad.get<&ib::wire::SmpHeader::hop_count>();
      const auto way = follow(run.model().topology(), run.at().node,
                              {path.begin() + 1, path.begin() + 1 + count});
      if (way.node != leaf || count != 3) return true;
      cut = true;
      EXPECT_TRUE(run.model().link_down(run.now(), way.last_exit));
      return true;
    });
    const bool swept = run.run_until_reports(2, seconds(20));
    if (!cut) continue;
    ++cuts;
    ASSERT_TRUE(swept);
    EXPECT_TRUE(run.last().up());
    EXPECT_LT(run.last().took, milliseconds(500)) << run.last().headline();
    for (const auto& line : run.last().lines) ADD_FAILURE() << line;
    EXPECT_EQ(run.sm().observed().fabric.nodes().size(), nodes);
    EXPECT_EQ(run.sm().counters().full_sweeps + run.sm().counters().partial_sweeps, 2U);
    run.run_for(seconds(2));
    EXPECT_EQ(run.sm().device_state()->tables->nodes_read(), nodes) << "and then they are read";
  }
  EXPECT_GE(cuts, 3U);
}

TEST(DeviceState, MulticastTablesFollowMembership) {
  SmOnModel run(tree_with_lids());
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_NE(run.sm().device_state()->multicast, nullptr);
  EXPECT_TRUE(run.sm().device_state()->multicast->empty());
  const auto& fabric = run.sm().observed().fabric;
  std::vector<ib::Guid> members;
  for (NodeIndex n = 0; n < fabric.nodes().size() && members.size() < 3; ++n)
    if (!fabric.node(n).is_switch()) members.push_back(fabric.port(n, 1).guid);
  run.sm().set_groups(run.now(), {{ib::kLidMulticastMin, members, {}, 1}});
  run.run_for(seconds(1));
  const auto device_state = run.sm().device_state();
  ASSERT_TRUE(device_state->multicast->contains(ib::kLidMulticastMin));
  for (const ib::Guid guid : members) {
    const auto port = fabric.find_port_guid(guid);
    const auto leaf = fabric.port(*port).peer;
    const auto s = device_state->graph->switch_of(leaf.node);
    EXPECT_TRUE(device_state->multicast->at(ib::kLidMulticastMin).at(s).test(leaf.port));
  }
}

TEST(DeviceState, ThisSubnetManagerIsInThem) {
  core::Options options;
  options.mastership.priority = 9;
  SmOnModel run(tree_with_lids(), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  const auto device_state = run.sm().device_state();
  EXPECT_EQ(device_state->own_sm.guid, run.sm().snapshot()->sm_port_guid);
  EXPECT_EQ(device_state->own_sm.priority, 9);
  EXPECT_EQ(device_state->own_sm.sm_state, ib::wire::SmState::Master);
  EXPECT_EQ(device_state->own_sm.sm_key, 0U);
  EXPECT_TRUE(device_state->other_sms.empty());
}

}  // namespace
}  // namespace sm::test
