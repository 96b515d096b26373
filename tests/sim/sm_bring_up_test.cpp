// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Bring-up on simulated fabrics in virtual time: whole and damaged ones, with loss, with nodes that
// are silent, talk nonsense or have another's GUID; and what must not be sent when nothing changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "libdiag/fabric/generate.h"
#include "tests/sim/sm_on_model.h"

namespace {

using namespace std::chrono_literals;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using sm::test::SmOnModel;
using testing::ElementsAre;
using testing::IsEmpty;

template <class Kind>
Fabric generated(const Kind& kind) {
  ib::fabric::GenerateCommon common;
  common.lids = false;
  auto fabric = ib::fabric::generate(kind, common);
  EXPECT_TRUE(fabric) << (fabric ? "" : fabric.error().message);
  return *std::move(fabric);
}

Fabric tree_of_radix_8() {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  return generated(tree);
}

double seconds(ib::Duration d) { return std::chrono::duration<double>(d).count(); }

void expect_up(SmOnModel& run) {
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_THAT(run.not_active(), IsEmpty());
}

TEST(BringUp, BringsUpTreesToriAndIrregularFabrics) {
  ib::fabric::FatTree three_levels;
  three_levels.radix = 4;
  three_levels.levels = 3;
  ib::fabric::Grid torus;
  torus.sizes = {4, 4, 2};
  std::vector<Fabric> fabrics;
  fabrics.push_back(tree_of_radix_8());
  fabrics.push_back(generated(three_levels));
  fabrics.push_back(generated(torus));
  fabrics.push_back(generated(ib::fabric::DragonflyPlus{}));
  fabrics.push_back(generated(ib::fabric::RandomGraph{}));
  for (Fabric& f : fabrics) {
    const std::size_t switches = f.count(ib::wire::NodeType::Switch);
    const std::size_t links = f.link_count();
    SmOnModel run(std::move(f));
    expect_up(run);
    EXPECT_EQ(run.last().switches, switches);
    EXPECT_EQ(run.last().links, links);
    EXPECT_EQ(run.last().unmanaged, 0U) << testing::PrintToString(run.last().lines);
    EXPECT_THAT(run.last().headline(), testing::StartsWith("SUBNET UP switches="));
  }
}

/// Followed through the programmed tables, from every switch to every LID.
void expect_every_lid_reached(SmOnModel& run) {
  const auto& f = run.model().topology();
  for (const auto& a : run.kept().lids) {
    for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
      if (!f.node(n).is_switch()) continue;
      NodeIndex here = n;
      std::size_t hops = 0;
      while (f.node(here).is_switch() && hops < f.nodes().size()) {
        const std::uint8_t out = run.model().lft(here, a.lid);
        ASSERT_NE(out, 255) << "LID " << a.lid.value << " at " << f.node(here).description;
        if (out == 0) break;
        here = f.port(here, out).peer.node;
        ++hops;
      }
      EXPECT_TRUE(f.node(here).guid == a.port_guid || f.find_port_guid(a.port_guid)->node == here);
    }
  }
}

TEST(BringUp, ProgramsTablesThatReachEveryHost) {
  SmOnModel run(tree_of_radix_8());
  expect_up(run);
  expect_every_lid_reached(run);
}

bool is_set(const ib::mad::Packet& p, std::uint16_t attribute) {
  return p.mad.method() == ib::wire::Method::Set && p.mad.attribute_id() == attribute;
}
ib::wire::PortState wanted_state(const ib::mad::Packet& p) {
  return ib::wire::body<ib::wire::PortInfo>(p.mad).port_state;
}

TEST(BringUp, ActivatesNoPortBeforeEveryTableStands) {
  SmOnModel run(tree_of_radix_8());
  bool activating = false;
  std::size_t tables = 0, late = 0;
  run.watch([&](const ib::mad::Packet& p) {
    if (is_set(p, ib::wire::attr::kPortInfo) && wanted_state(p) == ib::wire::PortState::Active)
      activating = true;
    if (is_set(p, ib::wire::attr::kLinearForwarding)) ++(activating ? late : tables);
    return true;
  });
  expect_up(run);
  EXPECT_TRUE(activating);
  EXPECT_GT(tables, 0U);
  EXPECT_EQ(late, 0U);
}

TEST(BringUp, PublishesLidsAndRoutesBeforeItActivatesPorts) {
  SmOnModel run(tree_of_radix_8());
  run.watch([&](const ib::mad::Packet& p) {
    if (is_set(p, ib::wire::attr::kPortInfo) && wanted_state(p) == ib::wire::PortState::Active) {
      EXPECT_TRUE(run.sm().snapshot());
    }
    return true;
  });
  expect_up(run);
  const auto snapshot = run.sm().snapshot();
  EXPECT_TRUE(snapshot->up);
  EXPECT_EQ(snapshot->fabric().find_lid(snapshot->sm_lid), snapshot->sm_port);
}

TEST(BringUp, ASetThatFailsIsSentAgainByALaterSweepAndNotBefore) {
  SmOnModel run(tree_of_radix_8());
  // Every step to ARMED of one host is lost until further notice.
  bool deaf = true;
  std::size_t hops = 0;
  run.watch([&](const ib::mad::Packet& p) {
    const auto hop_count = p.mad.get<&ib::wire::SmpHeader::hop_count>();
    if (!is_set(p, ib::wire::attr::kPortInfo) || wanted_state(p) != ib::wire::PortState::Armed)
      return true;
    if (hop_count != 2 || p.mad.get<&ib::wire::SmpHeader::initial_path>()[2] != 2) return true;
    ++hops;
    return !deaf;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_GT(hops, 0U);
  EXPECT_FALSE(run.last().up());
  EXPECT_EQ(run.last().exit_status(), 1);
  EXPECT_THAT(run.last().headline(), testing::StartsWith("SUBNET INCOMPLETE missing="));
  EXPECT_EQ(run.last().lines.size(), run.last().missing);
  EXPECT_FALSE(run.sm().snapshot()->up);
  deaf = false;
  run.run_for(20s);
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_THAT(run.not_active(), IsEmpty());
}

TEST(BringUp, ALocalPortThatIsDownIsSaid) {
  SmOnModel run(tree_of_radix_8());
  ASSERT_TRUE(run.model().link_down(run.now(), run.at()));
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_FALSE(run.last().up());
  EXPECT_THAT(run.last().lines.at(0), testing::HasSubstr("local port is down"));
}

TEST(BringUp, MembershipThatChangesNoTableHoldsNothingUp) {
  const Fabric f = tree_of_radix_8();
  SmOnModel run(f);
  expect_up(run);
  const auto sets = run.sm().counters().sets;
  // The first pass reads what tables hold; the second has nothing to ask at all.
  run.sm().set_groups(run.now(), {{ib::kLidMulticastMin, {}, {}}});
  run.run_for(1s);
  run.sm().set_groups(run.now(), {});
  run.run_for(24s);
  EXPECT_EQ(run.sm().counters().sets, sets);
  EXPECT_TRUE(run.sm().idle());
  EXPECT_EQ(run.sm().counters().light_sweeps, 2U);
  ASSERT_TRUE(run.model().link_down(run.now(), {f.port(run.at()).peer.node, 8}));
  ASSERT_TRUE(run.run_until_reports(2, 5s));
  EXPECT_EQ(run.last().links, f.link_count() - 1);
}

TEST(BringUp, LocalPortThatGoesDownAndComesBackFindsWhatWasThere) {
  SmOnModel run(tree_of_radix_8());
  expect_up(run);
  const auto before = run.kept().lids;
  const std::size_t nodes = run.sm().observed().nodes.size();
  ASSERT_TRUE(run.model().link_down(run.now(), run.at()));
  ASSERT_TRUE(run.run_until_reports(2));
  EXPECT_FALSE(run.last().up());
  // Memberships change meanwhile; what is known and what is wanted still fit each other.
  std::vector<ib::Guid> members;
  members.reserve(before.size());
  for (const auto& claim : before) members.push_back(claim.port_guid);
  run.sm().set_groups(run.now(), {{ib::kLidMulticastMin, members, {}}});
  run.run_for(5s);
  EXPECT_EQ(run.sm().observed().nodes.size(), nodes);
  ASSERT_TRUE(run.model().link_up(run.now(), run.at()));
  run.run_for(30s);
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  EXPECT_THAT(run.not_active(), IsEmpty());
  EXPECT_EQ(run.kept().lids, before);
  expect_every_lid_reached(run);
}

TEST(BringUp, SecondSweepSendsNoSet) {
  SmOnModel run(tree_of_radix_8());
  expect_up(run);
  const auto sets = run.sm().counters().sets;
  run.sm().sweep_now(run.now(), sm::core::Reason::Operator);
  ASSERT_TRUE(run.run_until_reports(2));
  EXPECT_TRUE(run.last().up());
  EXPECT_EQ(run.sm().counters().sets, sets);
}

TEST(BringUp, LightSweepsFindNothingToDoOnAQuietFabric) {
  SmOnModel run(tree_of_radix_8());
  expect_up(run);
  const auto sets = run.sm().counters().sets;
  run.run_for(60s);
  EXPECT_GE(run.sm().counters().light_sweeps, 5U);
  EXPECT_EQ(run.sm().counters().full_sweeps, 1U) << testing::PrintToString(run.log());
  EXPECT_EQ(run.sm().counters().sets, sets);
}

TEST(BringUp, RestartKeepsLidsAndSendsNoSet) {
  SmOnModel run(tree_of_radix_8());
  expect_up(run);
  const auto before = run.kept().lids;
  run.boot();
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  EXPECT_EQ(run.last().sets, 0U);
  EXPECT_EQ(run.kept().lids, before);
}

TEST(BringUp, RestartWithoutMemoryLearnsLidsFromTheFabric) {
  SmOnModel run(tree_of_radix_8());
  expect_up(run);
  const auto before = run.kept().lids;
  run.boot_without_memory();
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_EQ(run.kept().lids, before);
}

struct Loss {
  double percent;
  double seconds_max;
};
class BringUpWithLoss : public testing::TestWithParam<Loss> {};

TEST_P(BringUpWithLoss, EveryPortBecomesActive) {
  ib::fabric::FatTree tree;
  tree.radix = 24;
  tree.leaves = 12;
  tree.spines = 6;
  tree.hosts_per_leaf = 12;
  std::vector<double> times;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    ib::sim::ModelOptions options;
    options.seed = seed;
    options.faults.loss_percent = GetParam().percent;
    SmOnModel run(generated(tree), options);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_up(run);
    times.push_back(seconds(run.last().took));
  }
  std::ranges::sort(times);
  EXPECT_LE(times[2], GetParam().seconds_max) << testing::PrintToString(times);
  RecordProperty("median_seconds", std::to_string(times[2]));
}
INSTANTIATE_TEST_SUITE_P(PerCent, BringUpWithLoss,
                         testing::Values(Loss{1, 3}, Loss{5, 5}, Loss{10, 10}), [](const auto& p) {
                           return std::to_string(static_cast<int>(p.param.percent));
                         });

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
  return seconds(run.last().took);
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
  EXPECT_LE(seconds(run.last().took), limit);
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
  EXPECT_LE(seconds(run.last().took), limit);
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
  EXPECT_EQ(run.not_active().size(), 2U);  // the newcomer's cable
  EXPECT_LE(seconds(run.last().took), limit);
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
  // Nothing is ACTIVE that hangs from the newcomer only, and all else is.
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
  const auto said = [&](NodeIndex newcomer, NodeIndex first) {
    return testing::HasSubstr("duplicate GUID " + to_string(guid) + ": PortGUID of NodeGUID " +
                              to_string(f.node(newcomer).guid) + " is that of " +
                              to_string(f.node(first).guid) + " \"" + f.node(first).description +
                              "\" at route ");
  };
  EXPECT_THAT(run.last().lines, testing::Contains(testing::AnyOf(said(hosts[3], hosts[1]),
                                                                 said(hosts[1], hosts[3]))));
}

TEST(BringUp, LmcGivesEveryHostAnAlignedRange) {
  sm::core::Options options;
  options.plan.lmc = 2;
  SmOnModel run(tree_of_radix_8(), {}, options);
  expect_up(run);
  for (const auto& claim : run.kept().lids) EXPECT_EQ(claim.lid.value % (1 << claim.lmc), 0);
  EXPECT_EQ(run.model().port_info(run.at()).lmc, 2);
}

TEST(BringUp, CableThatGoesDownIsRoutedAround) {
  const Fabric f = tree_of_radix_8();
  SmOnModel run(f);
  expect_up(run);
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (!f.node(n).is_switch()) continue;
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
      const PortRef q = f.port(n, p).peer;
      if (!q || !f.node(q.node).is_switch()) continue;
      ASSERT_TRUE(run.model().link_down(run.now(), {n, static_cast<std::uint8_t>(p)}));
      ASSERT_TRUE(run.run_until_reports(2));
      EXPECT_TRUE(run.last().up());
      for (const auto& claim : run.kept().lids)
        EXPECT_NE(run.model().lft(n, claim.lid), p) << "LID " << claim.lid.value;
      return;
    }
  }
}

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

TEST(BringUp, WhereNoLidIsLeftBothEndsOfTheCableSaySo) {
  ib::fabric::FatTree tree;
  tree.radix = 128;
  tree.hosts_per_leaf = 100;
  tree.leaves = 4;
  tree.spines = 1;
  sm::core::Options options;
  options.plan.lmc = 7;  // 400 hosts would need 51,200 LIDs
  SmOnModel run(generated(tree), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  std::size_t hosts = 0, switches = 0;
  for (const std::string& line : run.last().lines) {
    if (line.ends_with("port 1 is INIT: no LID is left for it")) {
      ++hosts;
    } else if (line.find("\"leaf-") != line.npos &&
               line.ends_with(": no LID is left for the port at the other end")) {
      ++switches;
    } else {
      ADD_FAILURE() << line;
    }
  }
  EXPECT_GT(hosts, 10U);
  EXPECT_EQ(switches, hosts);
  EXPECT_EQ(run.last().missing, hosts + switches);
  EXPECT_EQ(run.not_active().size(), hosts + switches);
}

/// A cable that goes while a sweep asks over it leaves nodes without an answer that are there.
TEST(Sweep, NobodyIsLeftOutForACableThatGoesWhileItIsLookedOver) {
  unsigned cut_short = 0;
  for (unsigned after = 1; after < 120; after += 7) {
    SCOPED_TRACE(after);
    ib::fabric::Grid torus;
    torus.sizes = {4, 4};
    sm::core::Options options;
    options.plan.choice.engines = {"updn"};
    SmOnModel run(generated(torus), {}, options);
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
