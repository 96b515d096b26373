// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Cables that are moved while nodes are told by directed routes what to hold: what reached another
// node than it was meant for is found and made up for.
#include "sm/core/strays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "tests/sim/fresh_sweep.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"
#include "tests/unit/sm/policy/policy_of.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using testing::IsEmpty;

/// Six leaves, three spines, and ports to spare.
Fabric sparse_tree() {
  ib::fabric::FatTree kind;
  kind.radix = 8;
  kind.leaves = 6;
  kind.spines = 3;
  kind.hosts_per_leaf = 5;
  return unconfigured(kind);
}

core::Options in_one_partition() {
  core::Options options;
  options.plan.partitions = policy::test::policy_of("Default=0x7fff : ALL=full;\n");
  return options;
}

class MovedCables : public testing::Test {
 protected:
  MovedCables() {
    EXPECT_TRUE(run_.run_until_reports(1));
    for (NodeIndex n = 0; n < f().nodes().size(); ++n)
      if (is_leaf(n) && f().port(run_.at()).peer.node != n) leaves_.push_back(n);
  }
  const Fabric& f() const { return run_.model().topology(); }
  ib::Guid guid(NodeIndex n) const { return f().node(n).guid; }
  bool is_leaf(NodeIndex n) const {
    if (!f().node(n).is_switch()) return false;
    for (unsigned p = 1; p <= f().node(n).num_ports; ++p)
      if (const PortRef q = f().port(n, p).peer; q && !f().node(q.node).is_switch()) return true;
    return false;
  }
  /// The spine's port that the directed route to this leaf leaves by last.
  PortRef last_hop(NodeIndex leaf) { return last_hop(run_.sm().observed(), leaf); }
  PortRef last_hop(const ib::discover::Observed& seen, NodeIndex leaf) const {
    const auto n = *seen.fabric.find_node(guid(leaf));
    const PortRef entry{n, seen.nodes[n].info.local_port_num.value};
    const PortRef near = seen.fabric.port(entry).peer;
    return {*f().find_node(seen.fabric.node(near.node).guid), near.port};
  }
  /// The node that hangs at the one port hangs at the other then.
  void swap(PortRef a, PortRef b) {
    auto& model = run_.model();
    PortRef spare{a.node, 1};
    while (f().port(spare).peer) ++spare.port;
    ASSERT_TRUE(model.move_cable(run_.now(), a, spare));
    ASSERT_TRUE(model.move_cable(run_.now(), b, a));
    ASSERT_TRUE(model.move_cable(run_.now(), spare, b));
  }
  /// Switches that forward some LID otherwise than they were to be told.
  std::vector<std::string> wrong_tables() {
    std::vector<std::string> wrong;
    const auto& routing = *run_.sm().snapshot()->routing;
    for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s) {
      const NodeIndex n = *f().find_node(routing.graph.guid(s));
      for (std::size_t i = 1; i < routing.lfts.lid_count(); ++i) {
        const ib::Lid lid{static_cast<std::uint16_t>(i)};
        const auto wanted = routing.lfts.at(s, lid);
        if (wanted == ib::tables::kNoPort || run_.model().lft(n, lid) == wanted) continue;
        wrong.push_back(f().node(n).description);
        break;
      }
    }
    return wrong;
  }
  /// The first host of a leaf.
  PortRef host_at(NodeIndex leaf) const {
    PortRef at{leaf, 1};
    while (!f().port(at).peer || f().node(f().port(at).peer.node).is_switch()) ++at.port;
    return f().port(at).peer;
  }
  bool is_red(PortRef host) {
    return std::ranges::count(run_.model().p_keys(host), ib::PKey{0x8001}) > 0;
  }
  std::uint64_t full() { return run_.sm().counters().full_sweeps; }

  SmOnModel run_{sparse_tree(), {}, in_one_partition()};
  std::vector<NodeIndex> leaves_;  // but our own
};

/// Every switch was asked by its own cables whether it changed; hosts behind them were not.
TEST_F(MovedCables, TablesThatTheyBroughtToAnotherHostAreReadAndSetAgain) {
  run_.run_for(12s);
  const PortRef meant = host_at(leaves_[0]), other = host_at(leaves_[1]);
  run_.hold_plans();
  run_.sm().set_partitions(policy::test::policy_of(fmt::format(
      "Default=0x7fff : ALL=full;\nred=0x1 : {}=full;\n", to_string(f().port(meant).guid))));
  run_.sm().sweep_now(run_.now(), core::Reason::Operator);
  while (!run_.is_planning()) run_.run_for(1ms);
  swap(last_hop(leaves_[0]), last_hop(leaves_[1]));
  run_.run_for(20ms);
  run_.make_held_plan();
  run_.run_for(50ms);
  ASSERT_TRUE(is_red(other)) << "what is tested happens";
  run_.run_for(30s);
  EXPECT_TRUE(run_.last().up());
  EXPECT_TRUE(is_red(meant));
  EXPECT_FALSE(is_red(other));
  EXPECT_THAT(wrong_tables(), IsEmpty());
  EXPECT_THAT(KnownAgainstFound(run_.sm().observed(), sweep_afresh(run_)).differences(), IsEmpty());
}

TEST_F(MovedCables, AfterALightSweepThatFoundNothingCostNoWholeSweep) {
  run_.run_for(12s);
  const auto before = full();
  swap(last_hop(leaves_[0]), last_hop(leaves_[1]));
  run_.run_for(30s);
  EXPECT_EQ(full(), before);
  EXPECT_TRUE(run_.last().up());
  EXPECT_THAT(wrong_tables(), IsEmpty());
}

TEST_F(MovedCables, MakeThoseAloneDoubtfulThatWereAskedAcrossThem) {
  const NodeIndex one = leaves_[0], other = leaves_[1], third = leaves_[2];
  const auto before = sweep_afresh(run_);
  const PortRef a = last_hop(before, one), b = last_hop(before, other);
  core::Strays strays;
  strays.on_asked(guid(third));
  swap(a, b);
  run_.run_for(20ms);
  const auto swapped = sweep_afresh(run_);
  EXPECT_THAT(strays.between(before, swapped), IsEmpty());
  strays.on_asked(guid(one));
  EXPECT_THAT(strays.between(before, swapped), testing::IsSupersetOf({guid(one), guid(other)}));
  EXPECT_THAT(strays.between(before, swapped), testing::Not(testing::Contains(guid(third))));
  strays.forget();
  EXPECT_THAT(strays.between(before, swapped), IsEmpty());
}

/// Sweeps and light sweeps in between find nobody but ourselves.
TEST_F(MovedCables, AreFoundWhenOurOwnIsBackHoweverLongItWasOut) {
  const NodeIndex one = leaves_[0], other = leaves_[1];
  const auto before = std::make_shared<ib::discover::Observed>(sweep_afresh(run_));
  core::Strays strays;
  strays.on_asked(guid(one));
  const PortRef a = last_hop(*before, one), b = last_hop(*before, other);
  const PortRef own = f().port(run_.at()).peer;
  ASSERT_TRUE(run_.model().link_down(run_.now(), own));
  const auto alone = std::make_shared<ib::discover::Observed>(sweep_afresh(run_));
  ASSERT_EQ(alone->nodes.size(), 1U);
  EXPECT_THAT(strays.between(*before, *alone), IsEmpty());
  strays.on_swept(before, *alone);
  strays.on_unchanged(*alone);
  swap(a, b);
  ASSERT_TRUE(run_.model().link_up(run_.now(), own));
  run_.run_for(20ms);
  const auto again = sweep_afresh(run_);
  EXPECT_THAT(strays.between(*alone, again), testing::IsSupersetOf({guid(one), guid(other)}));
  strays.on_swept(alone, again);
  EXPECT_THAT(strays.between(*alone, again), IsEmpty());
}

TEST_F(MovedCables, AreNotSuspectedWhereACableIsPulledAndPlugged) {
  const auto before = sweep_afresh(run_);
  core::Strays strays;
  for (const auto& node : f().nodes()) strays.on_asked(node.guid);
  const PortRef cable = last_hop(leaves_[0]);
  ASSERT_TRUE(run_.model().link_down(run_.now(), cable));
  EXPECT_THAT(strays.between(before, sweep_afresh(run_)), IsEmpty());
  ASSERT_TRUE(run_.model().link_up(run_.now(), cable));
  run_.run_for(20ms);
  EXPECT_THAT(strays.between(before, sweep_afresh(run_)), IsEmpty());
}

}  // namespace
}  // namespace sm::test
