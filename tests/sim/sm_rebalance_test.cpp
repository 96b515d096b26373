// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routes that follow links one by one drift from what a fresh computation would load links with.
// When the fabric has come to rest they are made even again, once, and nobody loses a way
// meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/routes/verify.h"
#include "tests/sim/sm_on_model.h"

namespace {

using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using sm::test::SmOnModel;
using std::chrono::seconds;
using testing::Contains;

template <class Kind>
Fabric make(const Kind& kind) {
  ib::fabric::GenerateCommon common;
  common.lids = false;
  return ib::fabric::generate(kind, common).value();
}
Fabric torus(unsigned side) { return make(ib::fabric::Grid{{side, side}, true, 2}); }

sm::core::Options with(const char* engine) {
  sm::core::Options options;
  options.plan.choice.engines = {engine};
  options.plan.choice.no_fallback = true;
  options.rebalance_after = std::chrono::seconds(60);  // longer than it takes to drift
  return options;
}

/// What the most loaded link carries by the routes that stand, and by fresh ones.
struct Loads {
  std::uint64_t held{}, fresh{};
  bool drifted() const { return held * 10 > fresh * 11; }
};
Loads loads(SmOnModel& run) {
  const auto snapshot = run.sm().snapshot();
  const auto& routing = *snapshot->routing;
  const auto fresh = ib::route::find_engine(routing.engine)
                         ->compute({&snapshot->fabric(), &routing.graph, {}, nullptr, 8})
                         .value();
  return {ib::routes::verify(snapshot->fabric(), routing.graph, routing.lfts).load_max,
          ib::routes::verify(snapshot->fabric(), routing.graph, fresh.lfts).load_max};
}

/// The devices hold what the subnet manager says, and it is sound.
void expect_routed(SmOnModel& run) {
  const auto snapshot = run.sm().snapshot();
  const auto& routing = *snapshot->routing;
  const auto verdict =
      ib::routes::verify(snapshot->fabric(), routing.graph, routing.lfts, routing.lanes, {},
                         {.credit_loops_are_must = true, .loads = false});
  EXPECT_EQ(verdict.must_failures, 0U);
  for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s) {
    const auto n = *run.model().topology().find_node(routing.graph.guid(s));
    for (std::uint16_t lid = 1; lid <= routing.graph.max_lid().value; ++lid)
      ASSERT_EQ(run.model().lft(n, ib::Lid{lid}), routing.lfts.at(s, ib::Lid{lid}));
  }
}

/// Pairs of hosts with no way from one to the other by the tables in the devices at this moment.
std::size_t lost_pairs(const ib::sim::Model& model) {
  const Fabric& f = model.topology();
  std::vector<PortRef> hosts;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) hosts.push_back({n, 1});
  std::size_t lost = 0;
  for (const PortRef to : hosts) {
    const ib::Lid lid = model.port_info(to).lid;
    for (const PortRef from : hosts) {
      NodeIndex at = f.port(from).peer.node;
      for (std::size_t hops = 0; at != to.node && hops <= f.nodes().size(); ++hops) {
        if (!f.node(at).is_switch()) break;
        const PortRef out{at, model.lft(at, lid)};
        if (out.port == 0 || out.port > f.node(at).num_ports || !f.port(out).peer) break;
        if (model.port_info(out).port_state != ib::wire::PortState::Active) break;
        at = f.port(out).peer.node;
      }
      lost += at != to.node && from != to;
    }
  }
  return lost;
}

/// Looks for lost pairs at every Set of a forwarding table, before it arrives.
struct Watched {
  std::size_t sets{}, lost{};
};
std::shared_ptr<Watched> watch(SmOnModel& run) {
  auto seen = std::make_shared<Watched>();
  run.watch([seen, &run](const ib::mad::Packet& packet) {
    if (packet.mad.method() == ib::wire::Method::Set &&
        packet.mad.attribute_id() == ib::wire::attr::kLinearForwarding) {
      ++seen->sets;
      seen->lost += lost_pairs(run.model());
    }
    return true;
  });
  return seen;
}

/// One cable between switches, of those whose loss leaves all of them joined.
PortRef fail_one(SmOnModel& run, std::mt19937_64& random) {
  const Fabric& f = run.model().topology();
  std::vector<PortRef> cables;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    for (unsigned p = 1; f.node(n).is_switch() && p <= f.node(n).num_ports; ++p) {
      const PortRef here{n, static_cast<std::uint8_t>(p)};
      const PortRef far = f.port(here).peer;
      if (far && here < far && f.node(far.node).is_switch() &&
          run.model().port_info(here).port_state == ib::wire::PortState::Active)
        cables.push_back(here);
    }
  std::ranges::shuffle(cables, random);
  for (const PortRef cable : cables) {
    Fabric without = run.sm().snapshot()->fabric();
    const auto node = without.find_node(f.node(cable.node).guid);
    without.disconnect({*node, cable.port});
    if (ib::fabric::pieces_of(ib::fabric::CompactGraph(without)).count != 1) continue;
    EXPECT_TRUE(run.model().link_down(run.now(), cable).has_value());
    return cable;
  }
  return {};
}

/// Cables fail, half a minute apart, and one in four comes back, until the routes have drifted.
bool let_drift(SmOnModel& run, std::mt19937_64& random, unsigned changes_max) {
  std::vector<PortRef> failed;
  for (unsigned i = 0; i < changes_max; ++i) {
    if (!failed.empty() && random() % 4 == 0) {
      std::ranges::swap(failed[random() % failed.size()], failed.back());
      EXPECT_TRUE(run.model().link_up(run.now(), failed.back()).has_value());
      failed.pop_back();
    } else if (const PortRef cable = fail_one(run, random)) {
      failed.push_back(cable);
    } else {
      return false;
    }
    run.run_for(seconds(30));
    expect_routed(run);
    if (loads(run).drifted()) return true;
  }
  return false;
}

TEST(Rebalance, WhatDriftedIsMadeEvenOnceAtRestAndNoPairLosesItsWay) {
  unsigned drifted = 0;
  for (const char* engine : {"updn", "dnup"})
    for (const bool grid : {true, false})
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(testing::Message() << engine << " grid " << grid << " seed " << seed);
        std::mt19937_64 random(seed);
        SmOnModel run(grid ? torus(4) : make(ib::fabric::RandomGraph{16, 36, 2}), {}, with(engine));
        ASSERT_TRUE(run.run_until_reports(1));
        const bool off = let_drift(run, random, 10);
        const auto before = loads(run);
        drifted += off;
        const auto watched = watch(run);
        const auto reports = run.reports();
        run.run_for(seconds(90));
        EXPECT_EQ(run.sm().counters().rebalanced, off ? 1U : 0U);
        EXPECT_EQ(watched->sets != 0, off);
        EXPECT_EQ(watched->lost, 0U);
        EXPECT_EQ(run.reports(), reports);
        EXPECT_FALSE(loads(run).drifted());
        EXPECT_EQ(loads(run).fresh, before.fresh);
        expect_routed(run);
        // Nothing more comes of it.
        const auto sets = watched->sets;
        const auto computed = run.sm().counters().computed_afresh;
        run.run_for(seconds(300));
        run.sm().sweep_now(run.now(), sm::core::Reason::Trap);
        run.run_for(seconds(300));
        EXPECT_EQ(watched->sets, sets);
        EXPECT_EQ(run.sm().counters().computed_afresh, computed);
      }
  EXPECT_GE(drifted, 6U);
}

/// Three cables after whose loss updn's routes have drifted on the torus of four by four.
void drift(SmOnModel& run) {
  const Fabric& f = run.model().topology();
  for (const auto& [name, port] : {std::pair{"sw-0-3", 6}, {"sw-0-0", 4}, {"sw-2-2", 6}}) {
    NodeIndex n = 0;
    while (f.node(n).description != name) ++n;
    const PortRef cable{n, static_cast<std::uint8_t>(port)};
    ASSERT_TRUE(run.model().link_down(run.now(), cable).has_value());
    run.run_for(seconds(15));
  }
  ASSERT_TRUE(loads(run).drifted());
}

TEST(Rebalance, NotWhileTheFabricKeepsChanging) {
  SmOnModel run(torus(4), {}, with("updn"));
  ASSERT_TRUE(run.run_until_reports(1));
  drift(run);
  const Fabric& f = run.model().topology();
  const PortRef cable{f.port(run.at()).peer.node, 6};
  ASSERT_TRUE(f.node(f.port(cable).peer.node).is_switch());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE((i % 2 == 0 ? run.model().link_down(run.now(), cable)
                            : run.model().link_up(run.now(), cable))
                    .has_value());
    run.run_for(seconds(40));
  }
  EXPECT_EQ(run.sm().counters().computed_afresh, 0U);
  run.run_for(seconds(40));
  EXPECT_EQ(run.sm().counters().computed_afresh, 1U);
  EXPECT_FALSE(loads(run).drifted());
}

TEST(Rebalance, NeverWhereTheOperatorSaysSoOrNothingLooksWhetherItIsQuiet) {
  for (const bool never : {true, false}) {
    auto options = with("updn");
    (never ? options.rebalance_after : options.sweep_interval) = ib::Duration{0};
    SmOnModel run(torus(4), {}, options);
    ASSERT_TRUE(run.run_until_reports(1));
    drift(run);
    run.run_for(seconds(600));
    EXPECT_EQ(run.sm().counters().computed_afresh, 0U);
    EXPECT_TRUE(loads(run).drifted());
    // What the operator asks for in so many words is done.
    run.sm().sweep_now(run.now(), sm::core::Reason::Operator);
    run.run_for(seconds(5));
    EXPECT_FALSE(loads(run).drifted());
  }
}

TEST(Rebalance, WhatASweepOfTheOperatorsMadeEvenIsNotComputedAgain) {
  SmOnModel run(torus(4), {}, with("updn"));
  ASSERT_TRUE(run.run_until_reports(1));
  drift(run);
  run.sm().sweep_now(run.now(), sm::core::Reason::Operator);
  run.run_for(seconds(600));
  EXPECT_FALSE(loads(run).drifted());
  EXPECT_EQ(run.sm().counters().computed_afresh, 0U);
}

// Lanes would have to change with the routes, and traffic to drain first.
TEST(Rebalance, NotWithRoutesOnSeveralVls) {
  SmOnModel run(torus(4), {}, with("dfsssp"));
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_FALSE(run.sm().snapshot()->routing->lanes.trivial());
  std::mt19937_64 random(1);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(fail_one(run, random));
    run.run_for(seconds(30));
  }
  run.run_for(seconds(600));
  EXPECT_EQ(run.sm().counters().computed_afresh, 0U);
}

TEST(Rebalance, AChangeWhileItIsComputedMakesTheResultWorthless) {
  SmOnModel run(torus(4), {}, with("updn"));
  ASSERT_TRUE(run.run_until_reports(1));
  drift(run);
  run.set_computing_time(seconds(20));
  while (run.sm().counters().computed_afresh == 0) run.run_for(seconds(1));
  std::mt19937_64 random(1);
  const std::size_t reports = run.reports();
  ASSERT_TRUE(fail_one(run, random));
  // Traps are answered, and the sweep does its work: nobody waits for the computation.
  run.run_for(seconds(10));
  EXPECT_GT(run.reports(), reports);
  expect_routed(run);
  const auto watched = watch(run);
  run.run_for(seconds(15));
  EXPECT_EQ(run.sm().counters().rebalanced, 0U);
  EXPECT_EQ(watched->sets, 0U);
  // In its time it is done for the fabric as it is now.
  run.run_for(seconds(120));
  EXPECT_EQ(run.sm().counters().computed_afresh, 2U);
  EXPECT_FALSE(loads(run).drifted());
  EXPECT_EQ(watched->lost, 0U);
  expect_routed(run);
}

TEST(Rebalance, ATrapWithNothingBehindItPutsItOff) {
  SmOnModel run(torus(4), {}, with("updn"));
  ASSERT_TRUE(run.run_until_reports(1));
  drift(run);
  run.set_computing_time(seconds(20));
  while (run.sm().counters().computed_afresh == 0) run.run_for(seconds(1));
  run.sm().sweep_now(run.now(), sm::core::Reason::Trap);
  run.run_for(seconds(18));
  EXPECT_EQ(run.sm().counters().rebalanced, 0U);
  run.run_for(seconds(60));
  EXPECT_EQ(run.sm().counters().rebalanced, 1U);
  EXPECT_FALSE(loads(run).drifted());
}

TEST(Rebalance, AGroupThatComesMeanwhileHasItsTreeOnTheNewRoutes) {
  SmOnModel run(torus(4), {}, with("updn"));
  ASSERT_TRUE(run.run_until_reports(1));
  drift(run);
  run.set_computing_time(seconds(3));
  while (run.sm().counters().computed_afresh == 0) run.run_for(seconds(1));
  const Fabric& f = run.sm().snapshot()->fabric();
  sm::plan::MlidGroup group{ib::Lid{0xC005}, {}, {}};
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) group.receivers.push_back(f.port(n, 1).guid);
  run.sm().set_groups(run.now(), {group});
  run.run_for(seconds(10));
  EXPECT_EQ(run.sm().counters().rebalanced, 1U);
  expect_routed(run);
  const auto& held = *run.sm().holdings();
  ASSERT_TRUE(held.multicast);
  ASSERT_EQ(held.multicast->size(), 1U);
  const auto& routing = *run.sm().snapshot()->routing;
  const ib::routes::MulticastCheck check{&*held.multicast, routing.multicast.sl, true, {}, {}, {}};
  ib::routes::Verifier verifier({.credit_loops_are_must = true, .loads = false});
  (void)verifier.verify(run.sm().snapshot()->fabric(), routing.graph, routing.lfts);
  EXPECT_TRUE(verifier
                  .verify_changes(run.sm().snapshot()->fabric(), routing.graph, routing.lfts, {},
                                  routing.lanes, check)
                  .must_ok());
}

TEST(Rebalance, SetsThatAreLostAreMadeUpForAndNobodyLosesTheWay) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    SmOnModel run(torus(4), {}, with("updn"));
    ASSERT_TRUE(run.run_until_reports(1));
    drift(run);
    std::mt19937_64 random(seed);
    std::size_t lost = 0, swallowed = 0;
    run.watch([&](const ib::mad::Packet& packet) {
      if (packet.mad.method() != ib::wire::Method::Set ||
          packet.mad.attribute_id() != ib::wire::attr::kLinearForwarding)
        return true;
      lost += lost_pairs(run.model());
      const bool passes = random() % 2 == 0;
      swallowed += !passes;
      return passes;
    });
    run.run_for(seconds(300));
    EXPECT_GT(swallowed, 0U);
    EXPECT_EQ(lost, 0U);
    EXPECT_EQ(run.sm().counters().rebalanced, 1U);
    EXPECT_TRUE(run.sm().snapshot()->up);
    EXPECT_FALSE(loads(run).drifted());
    expect_routed(run);
  }
}

TEST(Rebalance, SaysWhyFromWhatToWhatAndHowManyBlocks) {
  SmOnModel run(torus(4), {}, with("updn"));
  ASSERT_TRUE(run.run_until_reports(1));
  drift(run);
  const auto before = run.sm().snapshot()->routing;
  const Loads found = loads(run);
  run.run_for(seconds(90));
  const auto blocks =
      ib::route::difference(before->lfts, run.sm().snapshot()->routing->lfts).blocks.size();
  EXPECT_THAT(run.log(),
              Contains(std::to_string(found.held) + " CA-to-CA routes on the most loaded link, " +
                       std::to_string(found.fresh) +
                       " by fresh routes of updn, more than a tenth less: changing over, " +
                       std::to_string(blocks) + " blocks"));
}

}  // namespace
