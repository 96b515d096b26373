// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/shape/channels.h"

#include <gtest/gtest.h>

#include <random>

#include "libdiag/fabric/generate.h"

namespace ib::route {
namespace {

/// Every dependency there can be: each way on through each switch, without turning back.
std::vector<Dependency> all_turns(const Channels& channels) {
  std::vector<Dependency> turns;
  for (Channel a = 0; a < channels.size(); ++a)
    for (Channel b = channels.first(channels.to(a)); b < channels.first(channels.to(a) + 1); ++b)
      if (channels.to(b) != channels.from(a)) turns.emplace_back(a, b);
  return turns;
}

bool leads_to(const Dependencies& graph, Channel from, Channel goal) {
  std::vector<bool> seen(graph.channels().size(), false);
  std::vector<Channel> stack{from};
  while (!stack.empty()) {
    const Channel c = stack.back();
    stack.pop_back();
    if (c == goal) return true;
    if (seen[c]) continue;
    seen[c] = true;
    graph.for_next(c, [&](Channel n) { stack.push_back(n); });
  }
  return false;
}

TEST(Channels, NumbersLinksBySwitchAndJoinsParallelOnes) {
  const auto fabric =
      fabric::generate(fabric::Grid{{3}, true, 1, 2}).value();  // a doubled triangle
  const fabric::CompactGraph graph(fabric);
  const Channels joined(graph), apart(graph, Parallel::Apart);
  EXPECT_EQ(joined.size(), 6U);
  EXPECT_EQ(apart.size(), 12U);
  for (fabric::SwitchIndex s = 0; s < 3; ++s) {
    for (std::size_t i = 0; i < graph.arcs(s).size(); ++i) {
      const std::size_t arc = graph.arc_index(s, i);
      EXPECT_EQ(apart.of_arc(arc), arc);
      const Channel c = joined.of_arc(arc);
      EXPECT_EQ(joined.from(c), s);
      EXPECT_EQ(joined.to(c), graph.arcs(s)[i].to);
      EXPECT_EQ(joined.into(joined.to(c))[joined.in_rank(c)], c);
      EXPECT_EQ(joined.first(s) + joined.out_rank(c), c);
    }
  }
}

TEST(Dependencies, NameACycle) {
  const auto fabric = fabric::generate(fabric::Grid{{5}, true, 1, 1}).value();
  const fabric::CompactGraph graph(fabric);
  const Channels channels(graph);
  Dependencies graph_of_ring(channels);
  EXPECT_TRUE(graph_of_ring.cycle().empty());
  for (const auto& [a, b] : all_turns(channels)) graph_of_ring.insert(a, b);
  const auto cycle = graph_of_ring.cycle();
  ASSERT_EQ(cycle.size(), 5U);
  for (std::size_t i = 0; i < cycle.size(); ++i)
    EXPECT_TRUE(graph_of_ring.contains(cycle[i], cycle[(i + 1) % cycle.size()]));
  EXPECT_TRUE(graph_of_ring.order().empty());
  graph_of_ring.erase(cycle[0], cycle[1]);
  EXPECT_EQ(graph_of_ring.order().size(), 5U);  // the other direction still turns
}

TEST(Dependencies, KnotsAreWhatLeadsToEachOther) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    fabric::GenerateCommon common;
    common.seed = seed;
    const auto fabric = fabric::generate(fabric::RandomGraph{12, 20, 1}, common).value();
    const fabric::CompactGraph graph(fabric);
    const Channels channels(graph);
    Dependencies some(channels);
    std::mt19937_64 random(seed);
    for (const auto& [a, b] : all_turns(channels))
      if (random() % 5 < 2) some.insert(a, b);
    const auto knots = some.knots();
    ASSERT_EQ(knots.size(), channels.size());
    for (Channel a = 0; a < channels.size(); ++a)
      for (Channel b = 0; b < channels.size(); ++b) {
        if (a == b) continue;
        const bool together = leads_to(some, a, b) && leads_to(some, b, a);
        EXPECT_EQ(knots[a] != kNoChannel && knots[a] == knots[b], together) << a << ' ' << b;
      }
  }
}

TEST(AcyclicDependencies, RefuseExactlyWhatClosesACycle) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    fabric::GenerateCommon common;
    common.seed = seed;
    const auto fabric = fabric::generate(fabric::RandomGraph{20, 45, 1}, common).value();
    const fabric::CompactGraph graph(fabric);
    const Channels channels(graph);
    auto turns = all_turns(channels);
    std::mt19937_64 random(seed);
    std::shuffle(turns.begin(), turns.end(), random);
    AcyclicDependencies acyclic(channels);
    std::size_t refused = 0;
    for (const auto& [a, b] : turns) {
      if (random() % 5 == 0) {  // something goes again
        const auto& [x, y] = turns[random() % turns.size()];
        acyclic.remove(x, y);
      }
      const bool closes = leads_to(acyclic.graph(), b, a);
      ASSERT_EQ(acyclic.add(a, b), !closes) << "seed " << seed;
      ASSERT_EQ(acyclic.contains(a, b), !closes);
      refused += closes;
    }
    EXPECT_GT(refused, 0U);
    for (Channel c = 0; c < channels.size(); ++c)
      acyclic.graph().for_next(
          c, [&](Channel n) { ASSERT_LT(acyclic.position(c), acyclic.position(n)); });
    EXPECT_EQ(acyclic.graph().order().size(), channels.size());
  }
}

TEST(AcyclicDependencies, ContinueFromAGraphInBulk) {
  fabric::FatTree kind;
  kind.radix = 8;
  const auto fabric = fabric::generate(kind).value();
  const fabric::CompactGraph graph(fabric);
  const Channels channels(graph);
  Dependencies up_down(channels);
  for (const auto& [a, b] : all_turns(channels))  // turns at spines, which have no hosts
    if (graph.attached()[channels.to(a)] == 0) up_down.insert(a, b);
  const auto order = up_down.order();
  ASSERT_EQ(order.size(), channels.size());
  AcyclicDependencies acyclic(up_down, order);
  std::size_t refused = 0;
  for (const auto& [a, b] : all_turns(channels)) {
    const bool closes = leads_to(acyclic.graph(), b, a);
    ASSERT_EQ(acyclic.add(a, b), !closes);
    refused += closes;
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace ib::route
