// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/transition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/route/reroute/unknown_ways.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

Routes routed(const char* engine, const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
              std::uint32_t scatter = 0) {
  Request request{&fabric, &graph, {}, nullptr};
  request.options.scatter_seed = scatter;
  return find_engine(engine)->compute(request).value();
}

/// Whether packets to a LID go round in circles somewhere.
bool loops(const fabric::CompactGraph& graph, const tables::LinearTables& tables, Lid lid) {
  for (SwitchIndex start = 0; start < graph.switch_count(); ++start) {
    SwitchIndex s = start;
    for (std::size_t hops = 0;; ++hops) {
      const std::uint8_t port = tables.at(s, lid);
      const auto arcs = graph.arcs(s);
      const auto out = std::find_if(arcs.begin(), arcs.end(),
                                    [&](const auto& arc) { return arc.out_port == port; });
      if (out == arcs.end()) break;
      if (hops > graph.switch_count()) return true;
      s = out->to;
    }
  }
  return false;
}

/// From whole tables.
Transition plan_between(const fabric::CompactGraph& graph, const tables::LinearTables& before,
                        const tables::LinearTables& after) {
  const std::size_t lids = std::max(before.lid_count(), after.lid_count());
  std::vector<Transition::Write> held;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (std::size_t block = 0; block * kBlockSize < lids; ++block) {
      const auto was = block_of(before, s, static_cast<std::uint16_t>(block));
      if (was.ports != block_of(after, s, was.block).ports) held.push_back(was);
    }
  return plan_transition(graph, held, after);
}

/// Lets the writes of every round arrive in a random order and looks after each.
void expect_no_loop_in(Transition transition, const fabric::CompactGraph& graph,
                       tables::LinearTables& tables, std::mt19937_64& random) {
  for (auto& round : transition.rounds) {
    std::shuffle(round.begin(), round.end(), random);
    for (const auto& write : round) {
      std::vector<Lid> changed;
      for (std::size_t i = 0; i < kBlockSize; ++i) {
        const Lid lid{static_cast<std::uint16_t>(write.block * kBlockSize + i)};
        if (lid.value >= tables.lid_count() || tables.at(write.at, lid) == write.ports[i]) continue;
        tables.set(write.at, lid, write.ports[i]);
        changed.push_back(lid);
      }
      for (Lid lid : changed) ASSERT_FALSE(loops(graph, tables, lid)) << "LID " << lid.value;
    }
  }
}
void expect_no_loop_at_any_moment(const fabric::CompactGraph& graph, tables::LinearTables tables,
                                  const tables::LinearTables& after, std::mt19937_64& random) {
  expect_no_loop_in(plan_between(graph, tables, after), graph, tables, random);
  EXPECT_EQ(tables, after);
}

TEST(Transition, NeverLoopsBetweenAnyTwoRoutings) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto fabric = seed % 2 == 0 ? fabric::generate(fabric::RandomGraph{16, 40, 2}).value()
                                      : fabric::generate(fabric::Grid{{4, 4}, true, 2}).value();
    const fabric::CompactGraph graph(fabric);
    const auto a = routed("minhop", fabric, graph).lfts;
    const auto b = routed("minhop", fabric, graph, 7).lfts;
    const auto c = routed("updn", fabric, graph).lfts;
    expect_no_loop_at_any_moment(graph, a, b, random);
    expect_no_loop_at_any_moment(graph, b, c, random);
    expect_no_loop_at_any_moment(graph, c, a, random);
  }
}

TEST(Transition, NeverLoopsAfterFailures) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto fabric = fabric::generate(fabric::RandomGraph{16, 40, 2}).value();
    const fabric::CompactGraph whole(fabric);
    const auto before = routed("minhop", fabric, whole);
    for (int i = 0; i < 4; ++i) {
      const auto s = static_cast<SwitchIndex>(random() % whole.switch_count());
      if (whole.arcs(s).empty()) continue;
      const auto& arc = whole.arcs(s)[random() % whole.arcs(s).size()];
      if (fabric.port(whole.node_of(s), arc.out_port).peer)
        fabric.disconnect({whole.node_of(s), arc.out_port});
    }
    const fabric::CompactGraph graph(fabric);
    expect_no_loop_at_any_moment(graph, before.lfts, routed("minhop", fabric, graph).lfts, random);
  }
}

/// Over links that the plan knows nothing of packets go on as long as entries send them there, to
/// switches that keep what they have.
TEST(Transition, NeverLoopsOverWaysThatNobodyKnows) {
  std::size_t rounds_before = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto fabric = seed % 4 < 2 ? fabric::generate(fabric::RandomGraph{16, 40, 2}).value()
                               : fabric::generate(fabric::Grid{{4, 4}, true, 2}).value();
    const fabric::CompactGraph whole(fabric);
    const auto before = routed(seed % 3 == 0 ? "updn" : "minhop", fabric, whole, 7).lfts;
    UnknownWays unknown;
    const auto hide = [&](SwitchIndex s, const fabric::Arc& arc) {
      const fabric::PortRef at{whole.node_of(s), arc.out_port};
      if (!fabric.port(at).peer) return;
      fabric.disconnect(at);
      unknown.insert({s, arc.out_port});
      unknown.insert({arc.to, arc.in_port});
    };
    const auto silent = static_cast<SwitchIndex>(random() % whole.switch_count());
    const bool is_switch_silent = seed % 2 == 0;
    if (is_switch_silent)
      for (const auto& arc : whole.arcs(silent)) hide(silent, arc);
    for (int i = 0; i < 3; ++i) {
      const auto s = static_cast<SwitchIndex>(random() % whole.switch_count());
      if (!whole.arcs(s).empty()) hide(s, whole.arcs(s)[random() % whole.arcs(s).size()]);
    }
    const fabric::CompactGraph graph(fabric);
    auto after = routed("minhop", fabric, graph).lfts;
    if (is_switch_silent) std::ranges::copy(before.row(silent), after.row(silent).begin());
    std::vector<Transition::Write> held;
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      if (const auto was = block_of(before, s, 0); was.ports != block_of(after, s, 0).ports)
        held.push_back(was);
    auto first = leave_unknown_ways(graph, unknown, after, held);
    rounds_before += first.empty() ? 0 : 1;
    auto transition = plan_transition(graph, held, after);
    transition.rounds.insert(transition.rounds.begin(), std::move(first));
    auto tables = before;
    expect_no_loop_in(transition, whole, tables, random);
    EXPECT_EQ(tables, after);
  }
  EXPECT_GT(rounds_before, 20U);
}

TEST(Transition, OneLeafUplinkCostsHardlyAnySetTwice) {
  fabric::FatTree kind;
  kind.radix = 12;
  kind.levels = 3;
  auto fabric = fabric::generate(kind).value();
  const fabric::CompactGraph whole(fabric);
  Rerouter rerouter(*find_engine("minhop"), {});
  rerouter.adopt(fabric, whole, routed("minhop", fabric, whole));
  const auto before = rerouter.routes().lfts;
  const auto host = std::find_if(whole.destinations().begin(), whole.destinations().end(),
                                 [](const auto& d) { return !d.is_switch(); });
  fabric.disconnect({whole.node_of(host->leaf), whole.arcs(host->leaf)[2].out_port});
  const fabric::CompactGraph graph(fabric);
  const auto change = rerouter.update(fabric, graph).value();
  const auto transition = plan_between(graph, before, rerouter.routes().lfts);
  EXPECT_GE(transition.rounds.size(), 2U);  // the plane that was cut off waits for its detour
  EXPECT_LT(10 * transition.extra, change.blocks.size());
  std::mt19937_64 random(1);
  expect_no_loop_at_any_moment(graph, before, rerouter.routes().lfts, random);
}

TEST(Transition, WhatIsBrokenIsRepairedFirst) {
  auto fabric = fabric::generate(fabric::RandomGraph{16, 40, 2}).value();
  const fabric::CompactGraph whole(fabric);
  const auto before = routed("minhop", fabric, whole).lfts;
  const std::uint8_t gone = whole.arcs(3)[0].out_port;
  fabric.disconnect({whole.node_of(3), gone});
  const fabric::CompactGraph graph(fabric);
  const auto after = routed("minhop", fabric, graph).lfts;
  const auto repairs = [&](const Transition::Write& write) {
    for (std::size_t i = 0; i < kBlockSize; ++i) {
      const Lid lid{static_cast<std::uint16_t>(write.block * kBlockSize + i)};
      const std::uint8_t was = before.at(write.at, lid);
      if (was == write.ports[i]) continue;
      if (was == tables::kNoPort || !fabric.port(whole.node_of(write.at), was).peer) return true;
    }
    return false;
  };
  const auto transition = plan_between(graph, before, after);
  ASSERT_FALSE(transition.rounds.empty());
  EXPECT_TRUE(repairs(transition.rounds.front().front()));
  EXPECT_TRUE(std::is_partitioned(transition.rounds.front().begin(),
                                  transition.rounds.front().end(), repairs));
}

TEST(Transition, EqualTablesNeedNothing) {
  const auto fabric = fabric::generate(fabric::Grid{{3, 3}}).value();
  const fabric::CompactGraph graph(fabric);
  const auto tables = routed("minhop", fabric, graph).lfts;
  const auto transition = plan_between(graph, tables, tables);
  EXPECT_TRUE(transition.rounds.empty());
  EXPECT_EQ(transition.extra, 0U);
}

}  // namespace
}  // namespace ib::route
