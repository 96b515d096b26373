// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Bring-up on simulated fabrics in virtual time: whole and damaged ones, with loss; in what order
// devices are told, and what must not be sent when nothing changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "tests/sim/bring_up.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"

namespace {

using namespace std::chrono_literals;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using sm::test::expect_every_lid_reached;
using sm::test::expect_up;
using sm::test::in_seconds;
using sm::test::is_set;
using sm::test::SmOnModel;
using sm::test::tree_of_radix_8;
using sm::test::unconfigured;
using sm::test::wanted_state;
using testing::IsEmpty;

TEST(BringUp, BringsUpTreesToriAndIrregularFabrics) {
  ib::fabric::FatTree three_levels;
  three_levels.radix = 4;
  three_levels.levels = 3;
  ib::fabric::Grid torus;
  torus.sizes = {4, 4, 2};
  std::vector<Fabric> fabrics;
  fabrics.push_back(tree_of_radix_8());
  fabrics.push_back(unconfigured(three_levels));
  fabrics.push_back(unconfigured(torus));
  fabrics.push_back(unconfigured(ib::fabric::DragonflyPlus{}));
  fabrics.push_back(unconfigured(ib::fabric::RandomGraph{}));
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

TEST(BringUp, ProgramsTablesThatReachEveryHost) {
  SmOnModel run(tree_of_radix_8());
  expect_up(run);
  expect_every_lid_reached(run);
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

/// When cables are swapped, and how long Sets of SwitchInfo are lost.
struct SetsLost {
  ib::Duration swapped, until;
};
class BringUpWithSetsLost : public testing::TestWithParam<SetsLost> {};

/// What the switches say of them is cleared with what they said before the first sweep.
TEST_P(BringUpWithSetsLost, CablesSwappedBeforeSwitchesAreToldToForgetAreFound) {
  ib::fabric::FatTree tree;
  tree.radix = 8;
  ib::fabric::GenerateCommon common;
  common.lids = false;
  common.missing_hosts_percent = 20;
  SmOnModel run(ib::fabric::generate(tree, common).value());
  auto& model = run.model();
  const Fabric& f = model.topology();
  PortRef spare{};
  std::vector<PortRef> leaves;  // where hosts hang
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      if (f.node(n).is_switch() && !f.port(at).peer) spare = at;
      if (!f.node(n).is_switch() && f.port(at).peer && n != run.at().node)
        leaves.push_back(f.port(at).peer);
    }
  ASSERT_TRUE(spare);
  const PortRef one = leaves.front(), other = leaves.back();
  ASSERT_NE(one.node, other.node);
  const ib::Instant start = run.now();
  bool are_swapped = false;
  run.watch([&](const ib::mad::Packet& packet) {
    if (packet.mad.method() != ib::wire::Method::Set ||
        packet.mad.attribute_id() != ib::wire::attr::kSwitchInfo)
      return true;
    if (run.now() >= start + GetParam().swapped && !std::exchange(are_swapped, true)) {
      EXPECT_TRUE(model.move_cable(run.now(), one, spare));
      EXPECT_TRUE(model.move_cable(run.now(), other, one));
      EXPECT_TRUE(model.move_cable(run.now(), spare, other));
    }
    return run.now() >= start + GetParam().until;
  });
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(are_swapped);
  run.run_for(30s);
  expect_up(run);
  expect_every_lid_reached(run);
}
INSTANTIATE_TEST_SUITE_P(SomeTime, BringUpWithSetsLost,
                         testing::Values(SetsLost{150ms, 250ms}, SetsLost{5ms, 60ms}));

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
    SmOnModel run(unconfigured(tree), options);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_up(run);
    times.push_back(in_seconds(run.last().took));
  }
  std::ranges::sort(times);
  EXPECT_LE(times[2], GetParam().seconds_max) << testing::PrintToString(times);
  RecordProperty("median_seconds", std::to_string(times[2]));
}
INSTANTIATE_TEST_SUITE_P(PerCent, BringUpWithLoss,
                         testing::Values(Loss{1, 3}, Loss{5, 5}, Loss{10, 10}), [](const auto& p) {
                           return std::to_string(static_cast<int>(p.param.percent));
                         });

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

TEST(BringUp, WhereNoLidIsLeftBothEndsOfTheCableSaySo) {
  ib::fabric::FatTree tree;
  tree.radix = 128;
  tree.hosts_per_leaf = 100;
  tree.leaves = 4;
  tree.spines = 1;
  sm::core::Options options;
  options.plan.lmc = 7;  // 400 hosts would need 51,200 LIDs
  SmOnModel run(unconfigured(tree), {}, options);
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

}  // namespace
