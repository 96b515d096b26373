// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Turns added one by one in random order, each answer held against a search of the whole graph.
#include "libdiag/tables/growing_order.h"

#include <gtest/gtest.h>

#include <random>

#include "libdiag/fabric/generate.h"

namespace ib::tables::check {
namespace {

bool leads_to(const SwitchGraph& switch_graph, const Dependencies& turns, Node from, Node to) {
  std::vector<bool> seen(turns.nodes(), false);
  std::vector<Node> found{from};
  seen[from] = true;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == to) return true;
    turns.for_next(switch_graph, found[i], [&](Node n) {
      if (!seen[n]) found.push_back(n);
      seen[n] = true;
    });
  }
  return false;
}

/// All that there can be: traffic does not turn back.
std::vector<Turn> all_turns(const SwitchGraph& switch_graph, const Dependencies& turns) {
  std::vector<Turn> all;
  for (Channel a = 0; a < switch_graph.channels(); ++a) {
    if (switch_graph.to[a] == fabric::kNoSwitch) continue;
    for (std::uint8_t port = 1; port < switch_graph.stride; ++port) {
      const Channel b = switch_graph.link(switch_graph.to[a], port);
      if (b == kNoChannel || switch_graph.to[b] == switch_graph.from(a)) continue;
      for (unsigned v = 0; v < turns.vls(); ++v)
        for (unsigned w = 0; w < turns.vls(); ++w)
          all.push_back({turns.node(a, v), turns.node(b, w)});
    }
  }
  return all;
}

void expect_ordered(const SwitchGraph& switch_graph, const Dependencies& turns,
                    const std::vector<std::uint32_t>& position) {
  std::vector<bool> taken(position.size(), false);
  for (const std::uint32_t p : position) {
    ASSERT_LT(p, taken.size());
    ASSERT_FALSE(taken[p]);
    taken[p] = true;
  }
  for (Node n = 0; n < turns.nodes(); ++n)
    turns.for_next(switch_graph, n, [&](Node m) { ASSERT_LT(position[n], position[m]); });
}

void add_all(const fabric::Fabric& fabric, unsigned vls, unsigned seed) {
  const fabric::CompactGraph graph(fabric);
  const SwitchGraph switch_graph(graph, Lid{0});
  Dependencies turns(switch_graph, vls);
  auto candidates = all_turns(switch_graph, turns);
  std::shuffle(candidates.begin(), candidates.end(), std::mt19937(seed));
  GrowingOrder order(switch_graph, turns, order_of(switch_graph, turns).position);
  std::size_t refused = 0;
  for (const Turn& turn : candidates) {
    const bool closes = leads_to(switch_graph, turns, turn.after, turn.before);
    ASSERT_EQ(order.add(turn), !closes) << turn.before << " to " << turn.after;
    ASSERT_EQ(turns.has(turn), !closes);
    refused += closes;
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, candidates.size());
  expect_ordered(switch_graph, turns, order.take_position());
}

TEST(GrowingOrder, TakesWhatClosesNoCycle) {
  fabric::Grid torus;
  torus.sizes = {4, 3};
  fabric::RandomGraph random;
  random.switches = 12;
  random.links = 24;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    add_all(*fabric::generate(torus), 1, seed);
    add_all(*fabric::generate(torus), 3, seed);
    fabric::GenerateCommon common;
    common.seed = seed;
    add_all(*fabric::generate(random, common), 2, seed);
  }
}

// More ports than a word has bits.
TEST(GrowingOrder, OfLargeSwitches) {
  fabric::FatTree tree;
  tree.levels = 2;
  tree.radix = 10;
  add_all(*fabric::generate(tree), 8, 1);
}

TEST(GrowingOrder, BeyondItsPriceTakesOnlyWhatFitsTheOrder) {
  fabric::Grid torus;
  torus.sizes = {4, 3};
  const auto fabric = fabric::generate(torus);
  const fabric::CompactGraph graph(*fabric);
  const SwitchGraph switch_graph(graph, Lid{0});
  Dependencies turns(switch_graph, 1);
  GrowingOrder order(switch_graph, turns, order_of(switch_graph, turns).position, 0);
  for (const Turn& turn : all_turns(switch_graph, turns)) {
    const bool paid = order.steps() > 0;
    const bool taken = order.add(turn);
    if (paid) {
      const auto position = GrowingOrder(order).take_position();
      EXPECT_EQ(taken, position[turn.before] < position[turn.after]);
    }
  }
  EXPECT_GT(order.steps(), 0U);
}

}  // namespace
}  // namespace ib::tables::check
