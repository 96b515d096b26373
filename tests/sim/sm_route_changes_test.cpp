// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Links that fail and come back while the subnet manager runs: only what must change is written,
// and no LID loops on the way from one routing to the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/reroute/reroute.h"
#include "tests/sim/routing_runs.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"

namespace {

using ib::fabric::Fabric;
using sm::test::count;
using sm::test::expect_routed;
using sm::test::ring;
using sm::test::roots;
using sm::test::SmOnModel;
using sm::test::sweep;
using sm::test::unconfigured;

/// What a computation from nothing would have changed instead.
ib::route::Difference fresh_difference(const sm::Routing& before, const sm::Snapshot& now) {
  const auto& graph = now.routing->graph;
  const auto fresh = ib::route::find_engine(before.engine)
                         ->compute({&now.fabric(), &graph, {}, nullptr, 8})
                         .value();
  return ib::route::difference(before.lfts, fresh.lfts);
}

Fabric tree_of_three_levels() {
  ib::fabric::FatTree tree;
  tree.radix = 12;
  tree.levels = 3;
  return unconfigured(tree);
}
sm::core::Options by_engine(const char* engine) {
  sm::core::Options options;
  options.plan.choice.engines = {engine};
  return options;
}

TEST(Reroute, AfterALinkFailsAndComesBackOnlyWhatMustChangeIsWritten) {
  for (const char* engine : {"ftree", "updn", "minhop"}) {
    SCOPED_TRACE(engine);
    SmOnModel run(tree_of_three_levels(), {}, by_engine(engine));
    ASSERT_TRUE(run.run_until_reports(1));
    expect_routed(run);
    const auto whole = run.sm().snapshot()->routing;
    // An uplink of the switch that the last host hangs from.
    const auto& f = run.model().topology();
    ib::fabric::PortRef host;
    for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (!f.node(n).is_switch()) host = {n, 1};
    const ib::fabric::NodeIndex leaf = f.port(host).peer.node;
    ib::fabric::PortRef uplink;
    for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p)
      if (f.port(leaf, p).peer && f.node(f.port(leaf, p).peer.node).is_switch())
        uplink = {leaf, static_cast<std::uint8_t>(p)};

    auto sent = count(run);
    ASSERT_TRUE(run.model().link_down(run.now(), uplink).has_value());
    run.run_for(std::chrono::seconds(5));
    expect_routed(run);
    const auto less = run.sm().snapshot()->routing;
    EXPECT_EQ(less->engine, engine);
    const auto changed = ib::route::difference(whole->lfts, less->lfts);
    const auto fresh = fresh_difference(*whole, *run.sm().snapshot());
    EXPECT_GT(sent->lfts, 0U);
    // Some blocks are written twice, so that nothing loops on the way.
    EXPECT_GE(sent->lfts, changed.blocks.size());
    EXPECT_LE(sent->lfts * 10, changed.blocks.size() * 11);
    // What ftree recomputes differs no more than must be; see doc/routing.md.
    const bool deals = std::string_view(engine) == "ftree";
    EXPECT_LT(changed.blocks.size(), fresh.blocks.size() + (deals ? 1 : 0));
    EXPECT_LT(changed.entries.size() * (deals ? 1 : 4), fresh.entries.size());

    sent = count(run);
    ASSERT_TRUE(run.model().link_up(run.now(), uplink).has_value());
    run.run_for(std::chrono::seconds(5));
    expect_routed(run);
    const auto again = run.sm().snapshot()->routing;
    EXPECT_LE(sent->lfts * 10, ib::route::difference(less->lfts, again->lfts).blocks.size() * 11);
    EXPECT_LT(sent->lfts * 10, fresh.blocks.size() * (deals ? 11 : 10));
    EXPECT_THAT(run.not_active(), testing::IsEmpty());
  }
}

/// A link between the first two switches that have one.
ib::fabric::PortRef switch_link(const Fabric& f) {
  for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
    for (unsigned p = 1; f.node(n).is_switch() && p <= f.node(n).num_ports; ++p)
      if (f.port(n, p).peer && f.node(f.port(n, p).peer.node).is_switch())
        return {n, static_cast<std::uint8_t>(p)};
  return {};
}

TEST(Reroute, ACableThatWasDownAtTheStartComesInWithFewSets) {
  for (const char* engine : {"ftree", "updn", "minhop"}) {
    SCOPED_TRACE(engine);
    SmOnModel run(tree_of_three_levels(), {}, by_engine(engine));
    const auto link = switch_link(run.model().topology());
    ASSERT_TRUE(run.model().link_down(run.now(), link).has_value());
    ASSERT_TRUE(run.run_until_reports(1));
    const auto less = run.sm().snapshot()->routing;
    const auto sent = count(run);
    ASSERT_TRUE(run.model().link_up(run.now(), link).has_value());
    run.run_for(std::chrono::seconds(5));
    expect_routed(run);
    EXPECT_GT(run.sm().snapshot()->routing->graph.arc_count(), less->graph.arc_count());
    const auto fresh = fresh_difference(*less, *run.sm().snapshot());
    EXPECT_GT(sent->lfts, 0U);
    // What ftree recomputes differs little itself.
    EXPECT_LT(sent->lfts * (std::string_view(engine) == "ftree" ? 1 : 2), fresh.blocks.size());
  }
}

// Engines that route as a whole, and one that is taken because those before it do not fit.
TEST(Reroute, EveryEngineKeepsWhatStillFits) {
  using Names = std::vector<std::string>;
  for (const Names& engines : {Names{"dfsssp"}, Names{"lash"}, Names{"dfp"}, Names{"ftree", "dnup"},
                               Names{"torus-2QoS", "dfsssp"}}) {
    SCOPED_TRACE(testing::PrintToString(engines));
    sm::core::Options options;
    options.plan.choice.engines = engines;
    options.plan.choice.no_fallback = true;
    SmOnModel run(unconfigured(ib::fabric::RandomGraph{24, 72, 4}), {}, options);
    ASSERT_TRUE(run.run_until_reports(1));
    const auto whole = run.sm().snapshot()->routing;
    EXPECT_EQ(whole->engine, engines.back());
    const auto link = switch_link(run.model().topology());
    ASSERT_TRUE(run.model().link_down(run.now(), link).has_value());
    run.run_for(std::chrono::seconds(5));
    const auto less = run.sm().snapshot()->routing;
    EXPECT_EQ(less->engine, engines.back());
    expect_routed(run);
    const auto fresh = fresh_difference(*whole, *run.sm().snapshot());
    const auto changed = ib::route::difference(whole->lfts, less->lfts);
    EXPECT_GT(changed.entries.size(), 0U);
    EXPECT_LT(changed.entries.size() * 2, fresh.entries.size());
    ASSERT_TRUE(run.model().link_up(run.now(), link).has_value());
    run.run_for(std::chrono::seconds(5));
    expect_routed(run);
    const auto again = ib::route::difference(less->lfts, run.sm().snapshot()->routing->lfts);
    EXPECT_LT(again.entries.size() * 2, fresh.entries.size());
  }
}

/// LIDs that go round in circles in the devices' tables as they are at this moment.
std::size_t looping_lids(const ib::sim::Model& model, std::uint16_t lids) {
  const auto& f = model.topology();
  std::size_t loops = 0;
  for (std::uint16_t lid = 1; lid <= lids; ++lid) {
    for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n) {
      ib::fabric::NodeIndex at = n;
      std::size_t hops = 0;
      while (hops <= f.nodes().size() && f.node(at).is_switch()) {
        const std::uint8_t port = model.lft(at, ib::Lid{lid});
        if (port == 0 || port > f.node(at).num_ports || !f.port(at, port).peer) break;
        at = f.port(at, port).peer.node;
        ++hops;
      }
      if (hops > f.nodes().size()) {
        ++loops;
        break;
      }
    }
  }
  return loops;
}

TEST(Transition, NoLidEverLoopsWhateverSetsAreLostOnTheWay) {
  // From one order of updn to others on a ring: LIDs change the direction they are reached in.
  std::size_t sets = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    SmOnModel run(ring(10), {}, by_engine("updn"));
    ASSERT_TRUE(run.run_until_reports(1));
    std::vector<std::string> switches;
    for (const auto& node : run.model().topology().nodes())
      if (node.is_switch()) switches.push_back(to_string(node.guid));
    std::mt19937_64 random(seed);
    const auto lids = run.sm().snapshot()->routing->graph.max_lid().value;
    std::size_t loops = 0;
    run.watch([&](const ib::mad::Packet& packet) {
      if (packet.mad.method() != ib::wire::Method::Set ||
          packet.mad.attribute_id() != ib::wire::attr::kLinearForwarding)
        return true;
      ++sets;
      loops += looping_lids(run.model(), lids);
      return random() % 4 != 0;
    });
    for (int change = 0; change < 3; ++change) {
      run.sm().set_routing_files(roots(switches[random() % switches.size()] + "\n"));
      sweep(run);
      run.run_for(std::chrono::seconds(30));
      EXPECT_EQ(looping_lids(run.model(), lids), 0U);
      expect_routed(run);
    }
    EXPECT_EQ(loops, 0U);
  }
  EXPECT_GT(sets, 100U);
}

}  // namespace
