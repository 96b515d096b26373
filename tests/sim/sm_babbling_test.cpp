// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A port that floods traps about its link, under each policy; and how its link comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/core/babbling_ports.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace sm::test {
namespace {

using namespace std::chrono_literals;
using core::BabblingPorts;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PhysState;
using ib::wire::PortState;
using testing::Contains;
using testing::HasSubstr;
namespace trap = ib::wire::trap;

class Babbling : public testing::Test {
 protected:
  explicit Babbling(bool policy = true) : run(small_tree()) {
    core::Options options;
    options.disables_babbling_ports = policy;
    run.boot_as(options);
    EXPECT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up());
    run.run_for(1s);
  }
  /// A host's port that is not the subnet manager's.
  PortRef host() const {
    const auto& f = run.model().topology();
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (!f.node(n).is_switch() && n != run.at().node && f.port(n, 1).peer) return {n, 1};
    return {};
  }
  PortRef peer_of(PortRef at) const { return run.model().topology().port(at).peer; }
  void flood(PortRef at, unsigned traps, ib::Duration apart = 20ms) {
    for (unsigned i = 0; i < traps; ++i) {
      run.model().report_link_errors(run.now(), at, trap::kLocalLinkIntegrity);
      run.run_for(apart);
    }
  }
  PhysState physical_state(PortRef at) const {
    return run.model().port_info(at).port_physical_state;
  }
  bool is_known(PortRef at) const {
    return run.sm()
        .snapshot()
        ->fabric()
        .find_node(run.model().topology().node(at.node).guid)
        .has_value();
  }

  mutable SmOnModel run;
};

TEST_F(Babbling, APortThatFloodsIsDisabledWhereItCanBeEnabledAgain) {
  const PortRef port = host(), leaf = peer_of(port);
  flood(port, BabblingPorts::kFlood - 1);
  EXPECT_EQ(physical_state(leaf), PhysState::LinkUp);
  flood(port, 1);
  run.run_for(1s);
  EXPECT_EQ(physical_state(leaf), PhysState::Disabled) << "at the switch, which is reached";
  EXPECT_NE(physical_state(port), PhysState::Disabled);
  EXPECT_THAT(run.log(), Contains(HasSubstr("sent trap 129 250 times: \"leaf-")));
  EXPECT_FALSE(is_known(port));
  EXPECT_TRUE(run.last().up()) << "and nobody else is disturbed";
  run.sm().sweep_now(run.now(), core::Reason::Operator);
  run.run_for(30s);
  EXPECT_EQ(physical_state(leaf), PhysState::Disabled) << "no sweep enables it";

  EXPECT_TRUE(
      run.sm().enable_port(run.now(), run.model().topology().node(leaf.node).guid, leaf.port));
  run.run_for(2s);
  EXPECT_EQ(run.model().port_info(port).port_state, PortState::Active);
  EXPECT_TRUE(is_known(port));
  EXPECT_TRUE(run.not_active().empty());
}

TEST_F(Babbling, TrapsThatAreFarApartAreNoFlood) {
  const PortRef port = host();
  flood(port, BabblingPorts::kNoisy - 1);
  run.run_for(BabblingPorts::kApart + 1s);
  flood(port, BabblingPorts::kFlood - 1);
  EXPECT_EQ(physical_state(peer_of(port)), PhysState::LinkUp) << "the first ones are forgotten";
  run.run_for(BabblingPorts::kApart + 1s);
  flood(port, 1);
  run.run_for(1s);
  EXPECT_EQ(physical_state(peer_of(port)), PhysState::Disabled)
      << "who is noisy is remembered for a minute";
}

TEST_F(Babbling, OfASwitchPortTheNearerEndIsDisabled) {
  const auto& f = run.model().topology();
  const PortRef own_leaf = peer_of(run.at());
  PortRef far;  // a port of another switch that leads to our leaf
  for (unsigned p = 1; p <= f.node(own_leaf.node).num_ports && !far; ++p)
    if (const PortRef peer = f.port(own_leaf.node, p).peer; peer && f.node(peer.node).is_switch())
      far = peer;
  flood(far, BabblingPorts::kFlood);
  run.run_for(1s);
  EXPECT_EQ(physical_state(peer_of(far)), PhysState::Disabled);
  EXPECT_NE(physical_state(far), PhysState::Disabled);
}

TEST_F(Babbling, TheSubnetManagersOwnLinkStays) {
  for (const PortRef at : {run.at(), peer_of(run.at())}) {
    flood(at, BabblingPorts::kFlood);
    run.run_for(1s);
    EXPECT_EQ(physical_state(run.at()), PhysState::LinkUp);
    EXPECT_EQ(physical_state(peer_of(run.at())), PhysState::LinkUp);
  }
  EXPECT_THAT(run.log(), Contains(HasSubstr("it is the subnet manager's own link, and stays")));
}

TEST_F(Babbling, WhoIsNotDisabledIsLeftAsItIs) {
  const PortRef leaf = peer_of(host());
  const auto guid = run.model().topology().node(leaf.node).guid;
  EXPECT_TRUE(run.sm().enable_port(run.now(), guid, leaf.port));
  run.run_for(1s);
  EXPECT_THAT(run.log(), Contains(HasSubstr("is enabled already")));
  EXPECT_TRUE(run.not_active().empty());
  EXPECT_FALSE(run.sm().enable_port(run.now(), guid, 200));
  EXPECT_FALSE(run.sm().enable_port(run.now(), ib::Guid{1}, 1));
}

TEST_F(Babbling, WhilePausedNothingIsDisabled) {
  const PortRef port = host();
  run.sm().set_paused(run.now(), true);
  flood(port, BabblingPorts::kFlood);
  EXPECT_EQ(physical_state(peer_of(port)), PhysState::LinkUp);
  run.sm().set_paused(run.now(), false);
  run.run_for(1s);
  EXPECT_EQ(physical_state(peer_of(port)), PhysState::Disabled);
}

class BabblingAllowed : public Babbling {
 protected:
  BabblingAllowed() : Babbling(false) {}
};

TEST_F(BabblingAllowed, APortThatFloodsStaysByDefault) {
  flood(host(), 3 * BabblingPorts::kFlood);
  EXPECT_TRUE(run.not_active().empty());
}

}  // namespace
}  // namespace sm::test
