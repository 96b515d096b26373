// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Bring-up beside nodes that are silent, talk nonsense, or have another's GUID or a LID that nobody
// can have: they are named and left out, and cost the others nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "tests/sim/bring_up.h"
#include "tests/sim/sm_on_model.h"

namespace {

using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using sm::test::in_seconds;
using sm::test::SmOnModel;
using sm::test::tree_of_radix_8;
using testing::IsEmpty;

std::vector<NodeIndex> hosts(const Fabric& f) {
  std::vector<NodeIndex> out;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (f.node(n).type == ib::wire::NodeType::ChannelAdapter) out.push_back(n);
  return out;
}

double time_to_report(const Fabric& f, std::size_t silent) {
  SmOnModel run(f);
  const auto all = hosts(f);
  for (std::size_t i = 1; i <= silent; ++i)
    run.model().set_behaviour(all[i * 3], ib::sim::Behaviour::Silent);
  EXPECT_TRUE(run.run_until_reports(1));
  return in_seconds(run.last().took);
}

/// A clean bring-up's time plus 10 per cent plus one full transaction timeout: eight attempts (50,
/// 100 and six times 200 ms), and one pause because everybody asked was silent at once.
double budget(const Fabric& f) { return time_to_report(f, 0) * 1.1 + 1.35 + 0.2; }

TEST(BringUp, APortWithTheLidOfNobodyLostNone) {
  // A ConnectX-4 or later says 0xFFFF until it has a LID.
  ib::sim::ModelOptions fresh;
  fresh.no_lid_of_cas = ib::kPermissiveLid;
  SmOnModel run(tree_of_radix_8(), fresh);
  std::size_t sets = 0;
  run.watch([&](const ib::mad::Packet& packet) {
    if (packet.mad.method() == ib::wire::Method::Set &&
        packet.mad.attribute_id() == ib::wire::attr::kPortInfo) {
      ++sets;
      EXPECT_FALSE(ib::wire::body<ib::wire::PortInfo>(packet.mad).client_reregister);
    }
    return true;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  EXPECT_GT(sets, 0U);
}

TEST(BringUp, SilentNodesCostTheSameHoweverManyTheyAre) {
  const Fabric f = tree_of_radix_8();
  EXPECT_LE(time_to_report(f, 10), time_to_report(f, 2) * 1.05);
}

TEST(BringUp, FiveSilentNodesCostOneTimeOutTogether) {
  const Fabric f = tree_of_radix_8();
  const double limit = budget(f);
  SmOnModel run(f);
  const auto all = hosts(f);
  for (std::size_t i = 1; i <= 5; ++i)
    run.model().set_behaviour(all[i * 3], ib::sim::Behaviour::Silent);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  EXPECT_EQ(run.last().unmanaged, 5U) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.last().lines.size(), 5U) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.last().exit_status(), 3);
  EXPECT_EQ(run.not_active().size(), 10U);  // both ends of five cables
  EXPECT_LE(in_seconds(run.last().took), limit);
}

TEST(BringUp, SilentNodeIsTakenInWhenItAnswers) {
  const Fabric f = tree_of_radix_8();
  SmOnModel run(f);
  const NodeIndex silent = hosts(f)[4];
  run.model().set_behaviour(silent, ib::sim::Behaviour::Silent);
  ASSERT_TRUE(run.run_until_reports(1));
  run.model().set_behaviour(silent, ib::sim::Behaviour::Normal);
  ASSERT_TRUE(run.run_until_reports(2));
  EXPECT_THAT(run.not_active(), IsEmpty());
}

TEST(BringUp, OneNodeThatTalksNonsenseIsNamedAndLeftOut) {
  const Fabric f = tree_of_radix_8();
  const double limit = budget(f);
  SmOnModel run(f);
  run.model().set_behaviour(hosts(f)[7], ib::sim::Behaviour::Garbage);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.last().unmanaged, 1U) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.not_active().size(), 2U);
  EXPECT_LE(in_seconds(run.last().took), limit);
}

TEST(BringUp, OneDuplicatedGuidIsNamedAndTheRestComesUp) {
  Fabric f = tree_of_radix_8();
  const double limit = budget(f);
  const auto all = hosts(f);
  const NodeIndex first = all[3], twin = all[20];
  f.node(twin).guid = f.node(first).guid;
  for (unsigned p = 1; p <= f.node(twin).num_ports; ++p)
    f.port(twin, p).guid = f.port(first, p).guid;
  f.reindex();
  SmOnModel run(f);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.last().unmanaged, 1U) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.last().duplicate_guids, 1U);
  EXPECT_THAT(run.last().lines.at(0), testing::HasSubstr("duplicate GUID"));
  EXPECT_EQ(run.not_active().size(), 2U);  // the duplicate's cable
  EXPECT_LE(in_seconds(run.last().took), limit);
}

/// What opensm takes for one: a port that cables of two others seem to end at.
TEST(BringUp, A12xPortThatTwoCablesSeemToEndAtMayHaveItsLanesReversed) {
  for (const auto width : {ib::wire::LinkWidth::W4x, ib::wire::LinkWidth::W12x}) {
    Fabric f = tree_of_radix_8();
    const auto all = hosts(f);
    const PortRef first{all[3], 1}, twin{all[20], 1};
    for (const PortRef p : {first, twin}) {
      const PortRef at = f.port(p).peer;
      f.disconnect(at);
      f.connect(p, at, width, ib::wire::LinkSpeed::Qdr);
    }
    f.node(twin.node).guid = f.node(first.node).guid;
    f.port(twin).guid = f.port(first).guid;
    f.reindex();
    SmOnModel run(f);
    ASSERT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    EXPECT_EQ(run.last().duplicate_guids, 1U);
    const auto suspicion = testing::AllOf(
        testing::HasSubstr("duplicate GUID"), testing::HasSubstr(". If no two devices"),
        testing::HasSubstr("the lane reversal of the 12x link of "));
    if (width == ib::wire::LinkWidth::W12x)
      EXPECT_THAT(run.last().lines.at(0), suspicion);
    else
      EXPECT_THAT(run.last().lines.at(0), testing::Not(testing::HasSubstr("lane reversal")));
  }
}

TEST(BringUp, WhoBearsAGuidInServiceKeepsItsPlaceWhenATwinComes) {
  Fabric f = tree_of_radix_8();
  const auto all = hosts(f);
  // A sweep meets the one that comes first.
  const NodeIndex comes = all[3], serves = all[20];
  const PortRef spare = f.port(all[7], 1).peer;
  f.disconnect(spare);
  f.node(serves).guid = f.node(comes).guid;
  for (unsigned p = 1; p <= f.node(serves).num_ports; ++p)
    f.port(serves, p).guid = f.port(comes, p).guid;
  f.reindex();
  SmOnModel run(f);
  ASSERT_TRUE(run.model().remove(run.now(), comes));
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.last().unmanaged, 0U);
  const ib::Lid lid = run.model().port_info({serves, 1}).lid;
  ASSERT_TRUE(run.model().bring_back(run.now(), comes));
  run.run_for(std::chrono::seconds(30));
  EXPECT_EQ(run.last().unmanaged, 1U);
  EXPECT_THAT(run.last().lines, testing::Contains(testing::HasSubstr("duplicate GUID")));
  EXPECT_EQ(run.model().port_info({serves, 1}).port_state, ib::wire::PortState::Active);
  EXPECT_EQ(run.model().port_info({serves, 1}).lid, lid);
  EXPECT_EQ(run.model().port_info({comes, 1}).port_state, ib::wire::PortState::Initialize);
  // A host that moves is no twin of itself.
  ASSERT_TRUE(run.model().remove(run.now(), comes));
  ASSERT_TRUE(run.model().move_cable(run.now(), f.port(serves, 1).peer, spare));
  run.run_for(std::chrono::seconds(30));
  EXPECT_EQ(run.last().unmanaged, 0U) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.model().port_info({serves, 1}).port_state, ib::wire::PortState::Active);
  EXPECT_EQ(run.model().port_info({serves, 1}).lid, lid);
}

TEST(BringUp, APortWithALidThatNobodyCanHaveGetsAnother) {
  Fabric f = tree_of_radix_8();
  NodeIndex leaf = 0;
  while (!f.node(leaf).is_switch()) ++leaf;
  const auto all = hosts(f);
  f.port(all[0], 1).lid = ib::Lid{60000};  // the subnet manager's own
  f.port(all[5], 1).lid = ib::Lid{0xC000};
  f.port(leaf, 0).lid = ib::Lid{0xFFFE};
  ib::sim::ModelOptions kept;
  kept.keep_lids = true;
  SmOnModel run(f, kept);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_EQ(run.last().unmanaged, 0U) << testing::PrintToString(run.last().lines);
  EXPECT_THAT(run.not_active(), testing::IsEmpty());
  for (const PortRef p : {PortRef{all[0], 1}, PortRef{all[5], 1}, PortRef{leaf, 0}})
    EXPECT_TRUE(run.model().port_info(p).lid.is_unicast());
}

TEST(BringUp, TwoSwitchesWithOneGuidLeaveTheRestUp) {
  Fabric f = tree_of_radix_8();
  std::vector<NodeIndex> leaves;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (!f.node(n).is_switch()) continue;
    bool leaf = false;
    for (const auto& p : f.ports(n)) leaf |= p.peer && !f.node(p.peer.node).is_switch();
    if (leaf) leaves.push_back(n);
  }
  const NodeIndex twin = leaves.back(), first = leaves[1];
  f.node(twin).guid = f.node(first).guid;
  f.port(twin, 0).guid = f.port(first, 0).guid;
  f.reindex();
  SmOnModel run(f);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_GE(run.last().unmanaged, 1U);
  EXPECT_THAT(run.last().lines, testing::Contains(testing::HasSubstr("duplicate GUID")));
  // Nothing is ACTIVE that is reached by the duplicate only, and all else is.
  for (const PortRef p : run.not_active()) {
    const PortRef q = f.port(p).peer;
    const auto hangs = [&](NodeIndex n) { return n == twin || n == first; };
    EXPECT_TRUE(hangs(p.node) || hangs(q.node)) << f.node(p.node).description;
  }
}

TEST(BringUp, TwoHostsWithOnePortGuidAreNamedByItAndByWhoHasIt) {
  Fabric f = tree_of_radix_8();
  std::vector<NodeIndex> hosts;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) hosts.push_back(n);
  const auto guid = f.port(hosts[1], 1).guid;
  f.port(hosts[3], 1).guid = guid;
  f.reindex();
  SmOnModel run(f);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_EQ(run.last().unmanaged, 1U);
  const auto said = [&](NodeIndex duplicate, NodeIndex first) {
    return testing::HasSubstr("duplicate GUID " + to_string(guid) + ": PortGUID of NodeGUID " +
                              to_string(f.node(duplicate).guid) + " is that of " +
                              to_string(f.node(first).guid) + " \"" + f.node(first).description +
                              "\" at route ");
  };
  EXPECT_THAT(run.last().lines, testing::Contains(testing::AnyOf(said(hosts[3], hosts[1]),
                                                                 said(hosts[1], hosts[3]))));
}

}  // namespace
