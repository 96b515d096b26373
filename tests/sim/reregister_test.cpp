// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Who is asked to register again (PortInfo:ClientReregister), and that each is asked once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "libdiag/wire/smp_attributes.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace {

using namespace std::chrono_literals;
using ib::Guid;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::Method;
using sm::test::small_tree;
using sm::test::SmOnModel;

struct Leaf {
  std::vector<PortRef> uplinks;  // all its cables to switches
  unsigned hosts{0};
};
/// One that the subnet manager does not hang from.
Leaf far_leaf(SmOnModel& run) {
  const auto& f = run.model().topology();
  const NodeIndex own_leaf = f.port(run.at()).peer.node;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (!f.node(n).is_switch() || n == own_leaf) continue;
    Leaf leaf;
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const auto far = f.port(at).peer;
      if (!far) continue;
      if (f.node(far.node).is_switch()) {
        leaf.uplinks.push_back(at);
      } else {
        ++leaf.hosts;
      }
    }
    if (leaf.hosts != 0) return leaf;
  }
  return {};
}

/// A port cut off behind a cable between switches keeps its own link, so nothing but the subnet
/// manager can tell it that its memberships and subscriptions are gone.
TEST(Reregister, HostsBehindACutCableAreAskedOnceWhenTheyAreBack) {
  SmOnModel run(small_tree());
  unsigned asked = 0;
  run.watch([&](const ib::mad::Packet& packet) {
    const auto& mad = packet.mad;
    if (mad.attribute_id() == ib::wire::attr::kPortInfo && mad.method() == Method::Set)
      asked += ib::wire::body<ib::wire::PortInfo>(mad).client_reregister;
    return true;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.last().up());

  const auto [uplinks, hosts] = far_leaf(run);
  ASSERT_FALSE(uplinks.empty());
  asked = 0;
  for (const PortRef at : uplinks) ASSERT_TRUE(run.model().link_down(run.now(), at));
  run.run_for(30s);
  EXPECT_EQ(asked, 0U);
  for (const PortRef at : uplinks) ASSERT_TRUE(run.model().link_up(run.now(), at));
  run.run_for(60s);
  ASSERT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(asked, hosts);

  // What follows is about trees, and nobody is asked again.
  std::vector<Guid> members;
  for (const auto& claim : run.kept().lids) members.push_back(claim.port_guid);
  run.sm().set_groups(run.now(), {{ib::kLidMulticastMin, members, {}}});
  run.run_for(5s);
  EXPECT_EQ(asked, hosts);
}

/// As when a cable on the way flaps: what was asked is lost, and the next sweep finds all as it
/// was.
TEST(Reregister, WhoDidNotHearItIsAskedAgain) {
  SmOnModel run(small_tree());
  bool lost = true;
  unsigned asked = 0, swallowed = 0;
  run.watch([&](const ib::mad::Packet& packet) {
    const auto& mad = packet.mad;
    if (mad.attribute_id() != ib::wire::attr::kPortInfo || mad.method() != Method::Set ||
        !ib::wire::body<ib::wire::PortInfo>(mad).client_reregister)
      return true;
    ++(lost ? swallowed : asked);
    return !lost;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  const auto [uplinks, hosts] = far_leaf(run);
  ASSERT_FALSE(uplinks.empty());
  for (const PortRef at : uplinks) ASSERT_TRUE(run.model().link_down(run.now(), at));
  run.run_for(30s);
  for (const PortRef at : uplinks) ASSERT_TRUE(run.model().link_up(run.now(), at));
  while (swallowed == 0) run.run_for(100ms);
  run.run_for(20s);
  EXPECT_EQ(asked, 0U);
  lost = false;
  run.run_for(60s);
  ASSERT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(asked, hosts);
}

}  // namespace
