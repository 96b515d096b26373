// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// An incast and a victim: 40 hosts send to one, and a flow that only shares a link with some of
// them on its way. Figures are in doc/congestion.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "sm/managers/congestion/congestion_manager.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"

namespace sm::test {
namespace {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::sim::FlowLimit;
using ib::sim::FlowState;
using managers::CongestionManager;

constexpr unsigned kSenders = 40;
constexpr double kLink = 100;  // Gb/s of 4x EDR

ib::fabric::Fabric tree_of_162() {
  ib::fabric::FatTree tree;
  tree.radix = 18;
  return unconfigured(tree);
}

class Incast : public testing::Test {
 protected:
  void bring_up(bool with_congestion_control) {
    run.boot();
    auto channel = std::make_unique<managers::ClientChannel>();
    if (with_congestion_control)
      channel->add(std::make_unique<CongestionManager>(policy::CongestionSettings{}));
    run.run_beside(std::move(channel));
    ASSERT_TRUE(run.run_until_reports(1));
    ASSERT_TRUE(run.run_until_managers_are_idle());
    ASSERT_TRUE(run.last().up());
    const auto& fabric = run.model().topology();
    hosts.clear();
    for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
      if (!fabric.node(n).is_switch()) hosts.push_back({n, 1});
    ASSERT_EQ(hosts.size(), 162U);
  }
  std::uint32_t add(PortRef from, PortRef to) {
    return run.model().add_flows(run.now(), {{from, to, ib::Sl{0}, 0, 4096}})->front();
  }
  FlowState state(std::uint32_t id) {
    for (const FlowState& flow : run.model().flows(run.now()))
      if (flow.id == id) return flow;
    return {};
  }
  /// Every fourth host but those at its own leaf sends to the first; a host beside one of them
  /// sends elsewhere by a link on which packets of the incast wait.
  void start() {
    run.model().remove_flows(run.now());
    for (unsigned i = 0; i < kSenders; ++i)
      senders.push_back(add(hosts[9 + i * 153 / kSenders], hosts[0]));
    if (target == 0) {
      for (std::size_t to = 18; to < hosts.size() && target == 0; ++to) {
        const auto id = add(hosts[kVictim], hosts[to]);
        if (state(id).limit == FlowLimit::Behind) target = to;
        ASSERT_TRUE(run.model().remove_flow(run.now(), id));
      }
      ASSERT_NE(target, 0U);
    }
    victim = add(hosts[kVictim], hosts[target]);
  }

  static constexpr std::size_t kVictim = 10;  // host 9, at the same leaf, is a sender
  SmOnModel run{tree_of_162()};
  std::vector<PortRef> hosts;
  std::vector<std::uint32_t> senders;
  std::uint32_t victim{};
  std::size_t target{};
};

TEST_F(Incast, AVictimIsTwiceAsFastWithCongestionControlAtLeast) {
  bring_up(false);
  start();
  const double without = state(victim).gbit;
  EXPECT_NEAR(without, kLink / kSenders, 1e-6);
  EXPECT_EQ(state(victim).limit, FlowLimit::Behind);

  senders.clear();
  bring_up(true);
  start();
  const double with = state(victim).gbit;
  RecordProperty("victim_gbit_without", std::to_string(without));
  RecordProperty("victim_gbit_with", std::to_string(with));
  EXPECT_GE(with, 2 * without);
  EXPECT_NEAR(with, kLink * (1 - 1.0 / kSenders * 4), 10);
  for (const auto id : senders) {
    EXPECT_NEAR(state(id).gbit, kLink / kSenders, 1e-6);
    EXPECT_EQ(state(id).limit, FlowLimit::Congestion);
  }
}

}  // namespace
}  // namespace sm::test
