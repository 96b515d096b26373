// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routes that follow links one by one stay near to what a fresh computation would load links with,
// also where that takes another order of switches, and no packet goes round in circles meanwhile.
#include <gtest/gtest.h>

#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/tables/verify.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"

namespace {

using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using sm::test::SmOnModel;
using sm::test::unconfigured;
using std::chrono::seconds;

Fabric torus_of_side(unsigned side) {
  return unconfigured(ib::fabric::Grid{{side, side}, true, 2});
}

sm::core::Options with(const char* engine) {
  sm::core::Options options;
  options.plan.choice.engines = {engine};
  options.plan.choice.no_fallback = true;
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
  return {ib::tables::verify(snapshot->fabric(), routing.graph, routing.lfts).load_max,
          ib::tables::verify(snapshot->fabric(), routing.graph, fresh.lfts).load_max};
}

/// The devices hold what the subnet manager says, and it is sound.
void expect_all_routed(SmOnModel& run) {
  const auto snapshot = run.sm().snapshot();
  const auto& routing = *snapshot->routing;
  const auto verdict =
      ib::tables::verify(snapshot->fabric(), routing.graph, routing.lfts, routing.virtual_lanes, {},
                         {.credit_loops_are_must = true, .loads = false});
  EXPECT_EQ(verdict.must_failures, 0U);
  for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s) {
    const auto n = *run.model().topology().find_node(routing.graph.guid(s));
    for (std::uint16_t lid = 1; lid <= routing.graph.max_lid().value; ++lid)
      ASSERT_EQ(run.model().lft(n, ib::Lid{lid}), routing.lfts.at(s, ib::Lid{lid}));
  }
}

/// Pairs of hosts with no way from one to the other by the tables in the devices at this moment,
/// and those of which packets go round in circles.
struct Pairs {
  std::size_t lost{}, looping{};
};
Pairs broken_pairs(const ib::sim::Model& model) {
  const Fabric& f = model.topology();
  std::vector<PortRef> hosts;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) hosts.push_back({n, 1});
  Pairs broken;
  for (const PortRef to : hosts) {
    const ib::Lid lid = model.port_info(to).lid;
    for (const PortRef from : hosts) {
      NodeIndex at = f.port(from).peer.node;
      std::size_t hops = 0;
      for (; at != to.node && hops <= f.nodes().size(); ++hops) {
        if (!f.node(at).is_switch()) break;
        const PortRef out{at, model.lft(at, lid)};
        if (out.port == 0 || out.port > f.node(at).num_ports || !f.port(out).peer) break;
        if (model.port_info(out).port_state != ib::wire::PortState::Active) break;
        at = f.port(out).peer.node;
      }
      broken.lost += at != to.node && from != to;
      broken.looping += hops > f.nodes().size();
    }
  }
  return broken;
}

/// Looks for pairs that loop, or are lost, at every Set of a forwarding table, before it arrives;
/// `passes` says whether it does.
struct Watched {
  std::size_t sets{}, looping{}, lost{};
};
template <class Passes>
std::shared_ptr<Watched> watch(SmOnModel& run, Passes passes) {
  auto seen = std::make_shared<Watched>();
  run.watch([seen, &run, passes](const ib::mad::Packet& packet) mutable {
    if (packet.mad.method() != ib::wire::Method::Set ||
        packet.mad.attribute_id() != ib::wire::attr::kLinearForwarding)
      return true;
    ++seen->sets;
    const Pairs broken = broken_pairs(run.model());
    seen->looping += broken.looping;
    seen->lost += broken.lost;
    return passes();
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

/// Three cables after whose loss updn's order for the torus of four by four suits it no more.
constexpr std::pair<const char*, std::uint8_t> kCables[] = {
    {"sw-0-3", 6}, {"sw-0-0", 4}, {"sw-2-2", 6}};
void fail(SmOnModel& run, const std::pair<const char*, std::uint8_t>& cable) {
  const Fabric& f = run.model().topology();
  NodeIndex n = 0;
  while (f.node(n).description != cable.first) ++n;
  ASSERT_TRUE(run.model().link_down(run.now(), {n, cable.second}).has_value());
}

/// Connections go on with their SLs when links go and come back: nearly all pairs keep theirs, and
/// what is in flight closes no credit loop unless a pair had to move.
TEST(Reroute, PairsKeepTheirSlsOnEveryEvent) {
  SmOnModel run(torus_of_side(5), {}, with("dfsssp"));
  ASSERT_TRUE(run.run_until_reports(1));
  std::mt19937_64 random(7);
  std::size_t moved = 0, pairs = 0;
  std::optional<PortRef> out;
  for (unsigned event = 0; event < 8; ++event) {
    const auto before = run.sm().snapshot();
    if (out) {
      ASSERT_TRUE(run.model().link_up(run.now(), *out).has_value());
      out.reset();
    } else {
      out = fail_one(run, random);
    }
    run.run_for(seconds(30));
    const auto after = run.sm().snapshot();
    const auto& now = *after->routing;
    const auto earlier = ib::tables::carried_over(before->routing->virtual_lanes.sls,
                                                  before->routing->graph, now.graph);
    const auto others = ib::tables::moved_pairs(now.graph, earlier, now.virtual_lanes.sls);
    moved += others.size();
    pairs += 25 * 24 / 2;
    ib::tables::VerifyOptions both;
    both.credit_loops_are_must = true;
    both.earlier_sls = &earlier;
    const auto verdict =
        ib::tables::verify(after->fabric(), now.graph, now.lfts, now.virtual_lanes, {}, both);
    EXPECT_TRUE(verdict.must_ok() || !others.empty());
  }
  EXPECT_LT(moved * 20, pairs);
}

TEST(Reroute, TheMostLoadedLinkStaysNearAndNothingGoesRoundInCircles) {
  unsigned orders = 0, used = 0;
  for (const char* engine : {"updn", "dnup"})
    for (const bool grid : {true, false})
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(testing::Message() << engine << " grid " << grid << " seed " << seed);
        std::mt19937_64 random(seed);
        SmOnModel run(grid ? torus_of_side(4) : unconfigured(ib::fabric::RandomGraph{16, 36, 2}),
                      {}, with(engine));
        ASSERT_TRUE(run.run_until_reports(1));
        const auto watched = watch(run, [] { return true; });
        std::vector<PortRef> failed;
        for (int change = 0; change < 8; ++change) {
          const auto order = run.sm().snapshot()->routing->multicast.up_order;
          const auto before = *watched;
          bool repaired = false;
          if (!failed.empty() && random() % 4 == 0) {
            std::ranges::swap(failed[random() % failed.size()], failed.back());
            ASSERT_TRUE(run.model().link_up(run.now(), failed.back()).has_value());
            failed.pop_back();
            repaired = true;
          } else if (const PortRef cable = fail_one(run, random)) {
            failed.push_back(cable);
          }
          run.run_for(seconds(30));
          expect_all_routed(run);
          EXPECT_FALSE(loads(run).drifted());
          EXPECT_EQ(broken_pairs(run.model()).lost, 0U);
          // A cable that comes back costs nobody anything: it carries before routes use it.
          if (repaired) {
            EXPECT_EQ(watched->lost, before.lost);
            used += watched->sets != before.sets;
          }
          orders += order != run.sm().snapshot()->routing->multicast.up_order;
        }
        EXPECT_EQ(watched->looping, 0U);
        // Nothing more comes of it, by any request.
        const auto sets = watched->sets;
        run.sm().sweep_now(run.now(), sm::core::Reason::Trap);
        run.run_for(seconds(100));
        run.sm().sweep_now(run.now(), sm::core::Reason::Operator);
        run.run_for(seconds(100));
        EXPECT_EQ(watched->sets, sets);
      }
  EXPECT_GE(orders, 4U);
  EXPECT_GE(used, 8U);
}

/// What switches hold after many failures stays when the subnet manager starts again, SLs included.
TEST(Reroute, ARestartOnADamagedFabricSendsNoSet) {
  ib::fabric::FatTree three;
  three.radix = 8;
  three.levels = 3;
  const std::pair<Fabric, const char*> cases[] = {
      {unconfigured(three), "ftree"}, {unconfigured(three), "minhop"},
      {unconfigured(three), "updn"},  {torus_of_side(4), "updn"},
      {torus_of_side(5), "dfsssp"},   {torus_of_side(5), "lash"},
      {unconfigured(three), nullptr}};
  for (const auto& [fabric, engine] : cases)
    for (const unsigned failures : {1U, 12U}) {
      SCOPED_TRACE(testing::Message() << (engine ? engine : "by default") << ", " << failures);
      std::mt19937_64 random(3);
      SmOnModel run(fabric, {}, engine != nullptr ? with(engine) : sm::core::Options{});
      ASSERT_TRUE(run.run_until_reports(1));
      for (unsigned i = 0; i < failures; ++i) {
        fail_one(run, random);
        run.run_for(seconds(15));
      }
      const auto before = run.sm().snapshot();
      EXPECT_FALSE(before->changed_at_start.has_value()) << "it began with switches that held none";
      std::size_t sets = 0;
      run.watch([&](const ib::mad::Packet& packet) {
        sets += packet.mad.method() == ib::wire::Method::Set;
        return true;
      });
      run.boot();
      ASSERT_TRUE(run.run_until_reports(1));
      run.run_for(seconds(30));
      EXPECT_EQ(sets, 0U);
      const auto after = run.sm().snapshot();
      EXPECT_EQ(after->routing->engine, before->routing->engine);
      EXPECT_EQ(after->routing->lfts, before->routing->lfts);
      EXPECT_EQ(after->routing->virtual_lanes, before->routing->virtual_lanes);
      ASSERT_TRUE(after->changed_at_start.has_value());
      EXPECT_EQ(after->changed_at_start->entries, 0U);
      EXPECT_EQ(after->changed_at_start->switches, 0U);
      expect_all_routed(run);
      // And it goes on from there.
      fail_one(run, random);
      run.run_for(seconds(15));
      expect_all_routed(run);
      EXPECT_EQ(broken_pairs(run.model()).lost, 0U);
    }
}

/// Off-sweep balancing: by fresh routes, once nothing has changed for long enough, and once only.
TEST(Reroute, AnIdleFabricIsBalancedOnceTheWindowHasPassed) {
  ib::fabric::FatTree three;
  three.radix = 8;
  three.levels = 3;
  unsigned balanced = 0;
  for (const char* engine : {"minhop", "updn", "ftree"}) {
    SCOPED_TRACE(engine);
    auto options = with(engine);
    options.balance_after = seconds(180);
    SmOnModel run(unconfigured(three), {}, options);
    ASSERT_TRUE(run.run_until_reports(1));
    std::mt19937_64 random(9);
    for (unsigned i = 0; i < 12; ++i) {
      fail_one(run, random);
      run.run_for(seconds(20));
    }
    const Loads before = loads(run);
    const auto watched = watch(run, [] { return true; });
    run.run_for(seconds(150));
    EXPECT_EQ(watched->sets, 0U);
    run.run_for(seconds(60));
    const Loads after = loads(run);
    EXPECT_LE(after.held, before.held);
    EXPECT_LE(static_cast<double>(after.held), 1.01 * static_cast<double>(after.fresh));
    EXPECT_EQ(watched->looping, 0U);
    EXPECT_EQ(watched->lost, 0U);
    expect_all_routed(run);
    balanced += after.held < before.held;
    const auto sets = watched->sets;
    run.run_for(seconds(600));
    EXPECT_EQ(watched->sets, sets);
  }
  EXPECT_GE(balanced, 1U);
}

/// Somebody else's tables, or some that were lost, are no routes to go on with.
TEST(Reroute, ARestartMendsWhatSwitchesLostOrGotFromSomebodyElse) {
  ib::fabric::FatTree three;
  three.radix = 8;
  three.levels = 3;
  SmOnModel run(unconfigured(three), {}, with("ftree"));
  ASSERT_TRUE(run.run_until_reports(1));
  std::mt19937_64 random(5);
  for (unsigned i = 0; i < 6; ++i) {
    fail_one(run, random);
    run.run_for(seconds(15));
  }
  const auto kept = run.kept();
  run.boot_as(with("minhop"));
  ASSERT_TRUE(run.run_until_reports(1));
  const auto others = run.sm().snapshot()->routing;
  const auto& f = run.model().topology();
  NodeIndex rebooted = f.port(SmOnModel::first_host(f)).peer.node;
  while (!f.node(++rebooted).is_switch()) {
  }
  ASSERT_TRUE(run.model().reboot(run.now(), rebooted).has_value());
  run.boot_as(with("ftree"));
  run.boot_with(kept);
  ASSERT_TRUE(run.run_until_reports(1));
  run.run_for(seconds(30));
  expect_all_routed(run);
  EXPECT_EQ(broken_pairs(run.model()).lost, 0U);
  const auto& now = *run.sm().snapshot()->routing;
  EXPECT_EQ(now.engine, "ftree");
  const auto fresh = ib::route::find_engine("ftree")
                         ->compute({&run.sm().snapshot()->fabric(), &now.graph, {}, nullptr, 8})
                         .value();
  EXPECT_LT(ib::route::difference(others->lfts, now.lfts).entries.size(),
            ib::route::difference(others->lfts, fresh.lfts).entries.size());
}

TEST(Reroute, ASwitchThatComesBackCostsNobodyAnything) {
  ib::fabric::FatTree three;
  three.radix = 4;
  three.levels = 3;
  ib::fabric::FatTree two;
  two.radix = 8;
  const std::pair<Fabric, const char*> cases[] = {{unconfigured(two), "minhop"},
                                                  {unconfigured(three), "ftree"},
                                                  {torus_of_side(4), "updn"},
                                                  {torus_of_side(4), "dfsssp"}};
  for (const auto& [fabric, engine] : cases)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(testing::Message() << engine << " seed " << seed);
      std::mt19937_64 random(seed);
      SmOnModel run(fabric, {}, with(engine));
      ASSERT_TRUE(run.run_until_reports(1));
      const Fabric& f = run.model().topology();
      std::vector<NodeIndex> switches;
      for (NodeIndex n = 0; n < f.nodes().size(); ++n)
        if (f.node(n).is_switch() && f.port(SmOnModel::first_host(f)).peer.node != n)
          switches.push_back(n);
      const NodeIndex away = switches[random() % switches.size()];
      ASSERT_TRUE(run.model().remove(run.now(), away).has_value());
      run.run_for(seconds(30));
      // Its hosts are away with it, if it has any.
      const std::size_t lost = broken_pairs(run.model()).lost;
      std::size_t most = 0, looping = 0, sets = 0;
      run.watch([&](const ib::mad::Packet& packet) {
        if (packet.mad.method() != ib::wire::Method::Set) return true;
        const Pairs broken = broken_pairs(run.model());
        most = std::max(most, broken.lost);
        looping += broken.looping;
        sets += packet.mad.attribute_id() == ib::wire::attr::kLinearForwarding;
        return true;
      });
      ASSERT_TRUE(run.model().bring_back(run.now(), away).has_value());
      run.run_for(seconds(30));
      EXPECT_GT(sets, 0U);
      EXPECT_EQ(most, lost);
      EXPECT_EQ(looping, 0U);
      EXPECT_EQ(broken_pairs(run.model()).lost, 0U);
      expect_all_routed(run);
    }
}

TEST(Reroute, AGroupHasItsTreeOnTheRoutesOfAnotherOrder) {
  SmOnModel run(torus_of_side(4), {}, with("updn"));
  ASSERT_TRUE(run.run_until_reports(1));
  const Fabric first = run.sm().snapshot()->fabric();
  sm::plan::MlidGroup group{ib::Lid{0xC005}, {}, {}};
  for (NodeIndex n = 0; n < first.nodes().size(); ++n)
    if (!first.node(n).is_switch()) group.receivers.push_back(first.port(n, 1).guid);
  run.sm().set_groups(run.now(), {group});
  const auto order = run.sm().snapshot()->routing->multicast.up_order;
  for (const auto& cable : kCables) {
    fail(run, cable);
    run.run_for(seconds(15));
  }
  const auto& routing = *run.sm().snapshot()->routing;
  EXPECT_NE(routing.multicast.up_order, order);
  expect_all_routed(run);
  const auto& held = *run.sm().device_state();
  ASSERT_TRUE(held.multicast);
  ASSERT_EQ(held.multicast->size(), 1U);
  const ib::tables::MulticastCheck check{&*held.multicast, routing.multicast.sl, true, {}, {}, {}};
  ib::tables::Verifier verifier({.credit_loops_are_must = true, .loads = false});
  (void)verifier.verify(run.sm().snapshot()->fabric(), routing.graph, routing.lfts);
  EXPECT_TRUE(verifier
                  .verify_changes(run.sm().snapshot()->fabric(), routing.graph, routing.lfts, {},
                                  routing.virtual_lanes, check)
                  .must_ok());
}

TEST(Reroute, SetsThatAreLostAreMadeUpForAndNothingGoesRoundInCircles) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    SmOnModel run(torus_of_side(4), {}, with("updn"));
    ASSERT_TRUE(run.run_until_reports(1));
    std::size_t swallowed = 0;
    const auto watched = watch(run, [&swallowed, random = std::mt19937_64(seed)]() mutable {
      const bool passes = random() % 2 == 0;
      swallowed += !passes;
      return passes;
    });
    for (const auto& cable : kCables) {
      fail(run, cable);
      run.run_for(seconds(100));
    }
    EXPECT_GT(swallowed, 0U);
    EXPECT_EQ(watched->looping, 0U);
    EXPECT_EQ(broken_pairs(run.model()).lost, 0U);
    EXPECT_TRUE(run.sm().snapshot()->up);
    EXPECT_FALSE(loads(run).drifted());
    expect_all_routed(run);
  }
}

}  // namespace
