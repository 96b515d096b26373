// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/up_down/live_ways.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engine.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

std::vector<fabric::Fabric> all_kinds() {
  fabric::FatTree tree;
  tree.radix = 8;
  std::vector<fabric::Fabric> fabrics;
  tree.levels = 2;
  fabrics.push_back(fabric::generate(tree).value());
  tree.levels = 3;
  fabrics.push_back(fabric::generate(tree).value());
  fabrics.push_back(fabric::generate(fabric::Grid{{3, 4, 3}}).value());
  fabrics.push_back(fabric::generate(fabric::RandomGraph{70, 160, 2}).value());
  fabrics.push_back(fabric::generate(fabric::HyperX{}).value());
  fabrics.push_back(fabric::generate(fabric::Kautz{}).value());
  fabrics.push_back(fabric::generate_superpod_like(3).value());
  return fabrics;
}

LiveLinks links_of(const fabric::CompactGraph& graph) {
  LiveLinks links{graph, {}, {}, {}, {}, {}};
  links.alive.assign(graph.arc_count(), 1);
  links.reverse.resize(graph.arc_count());
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (std::size_t i = 0; i < graph.arcs(s).size(); ++i) {
      const fabric::Arc& arc = graph.arcs(s)[i];
      const auto back = graph.arcs(arc.to);
      const auto at = std::find_if(back.begin(), back.end(),
                                   [&](const auto& b) { return b.out_port == arc.in_port; });
      links.from.push_back(s);
      links.reverse[graph.arc_index(s, i)] = static_cast<std::uint32_t>(
          graph.arc_index(arc.to, static_cast<std::size_t>(at - back.begin())));
    }
  return links;
}

/// Takes links away and gives some back; the fabric says the same as `links`.
void change(fabric::Fabric& fabric, LiveLinks& links, std::mt19937_64& random) {
  links.lost.clear();
  links.found.clear();
  for (std::size_t i = 0; i < 1 + random() % 3; ++i) {
    const auto a = static_cast<std::uint32_t>(random() % links.alive.size());
    const std::uint32_t back = links.reverse[a];
    auto& list = links.alive[a] != 0 ? links.lost : links.found;
    const auto& other = links.alive[a] != 0 ? links.found : links.lost;
    if (std::count(other.begin(), other.end(), a) != 0) continue;  // at once back again
    const fabric::PortRef here{links.graph.node_of(links.from[a]), links.arc(a).out_port};
    const fabric::PortRef there{links.graph.node_of(links.arc(a).to), links.arc(a).in_port};
    if (links.alive[a] != 0)
      fabric.disconnect(here);
    else
      fabric.connect(here, there, wire::LinkWidth::W4x, wire::LinkSpeed::Hdr);
    links.alive[a] = links.alive[back] = links.alive[a] == 0;
    list.insert(list.end(), {a, back});
  }
  std::sort(links.lost.begin(), links.lost.end());
  std::sort(links.found.begin(), links.found.end());
}

struct Tally {
  std::size_t targets{0}, whole{0}, changes{0};
};

/// After every change the candidates are what the rule says about the links there are.
Tally follow(fabric::Fabric fabric, const CandidateRule& rule, std::uint64_t seed) {
  Tally tally;
  std::mt19937_64 random(seed);
  LiveLinks links = links_of(fabric::CompactGraph(fabric));
  const std::size_t switches = links.graph.switch_count();
  std::vector<SwitchIndex> targets(switches);
  for (SwitchIndex s = 0; s < switches; ++s) targets[s] = s;
  const auto ways = rule.follow(links.graph, targets);
  std::vector<std::vector<std::uint64_t>> arcs;
  for (std::size_t first = 0; first < switches; first += tables::kTargetsPerBatch)
    arcs.push_back(ways->begin(first / tables::kTargetsPerBatch).arcs);

  for (unsigned step = 0; step < 25; ++step) {
    change(fabric, links, random);
    const fabric::CompactGraph now(fabric);
    for (std::size_t batch = 0; batch < arcs.size(); ++batch) {
      SCOPED_TRACE(testing::Message() << "step " << step << " batch " << batch);
      const auto before = arcs[batch];
      std::vector<LiveWays::Change> changes;
      const std::uint64_t whole = ways->follow(batch, links, arcs[batch], changes).whole;
      const auto these = std::span(targets).subspan(
          batch * tables::kTargetsPerBatch,
          std::min(tables::kTargetsPerBatch, switches - batch * tables::kTargetsPerBatch));
      const tables::LeastHops hops = rule.of(now, these);
      std::vector<std::uint64_t> expected(arcs[batch].size(), 0);
      for (SwitchIndex s = 0; s < switches; ++s) {
        std::uint64_t lost = 0, had = 0, has = 0, told = 0, way = 0;
        for (std::size_t i = 0, k = 0; k < links.graph.arcs(s).size(); ++k) {
          const std::size_t a = links.graph.arc_index(s, k);
          if (links.alive[a] != 0) expected[a] = hops.arcs[now.arc_index(s, i++)];
          lost |= before[a] & ~expected[a], had |= before[a], has |= expected[a];
        }
        for (const auto& change : changes) {
          if (change.at != s) continue;
          const std::uint64_t bit = std::uint64_t{1} << change.target;
          told |= bit;
          if (change.way) way |= bit;
        }
        const std::uint64_t due = (lost | (has & ~had)) & ~whole;
        EXPECT_EQ(told & due, due) << "switch " << s;
        EXPECT_EQ(way & due, has & due) << "switch " << s;
        tally.changes += static_cast<std::size_t>(std::popcount(told));
      }
      for (std::uint32_t a = 0; a < expected.size(); ++a) {
        EXPECT_EQ(arcs[batch][a] & ~whole, expected[a] & ~whole)
            << "from switch " << links.from[a] << " to " << links.arc(a).to;
        EXPECT_EQ(arcs[batch][a] & whole, before[a] & whole);
        // What is looked at as a whole, the caller brings up to date.
        arcs[batch][a] = expected[a];
      }
      tally.targets += these.size();
      tally.whole += static_cast<std::size_t>(std::popcount(whole));
      if (testing::Test::HasFailure()) return tally;
    }
  }
  return tally;
}

TEST(LiveWays, AreWhatTheRuleOfTheEngineSays) {
  std::uint64_t seed = 1;
  for (const char* engine : {"minhop", "updn", "dnup"})
    for (const auto& fabric : all_kinds()) {
      SCOPED_TRACE(testing::Message() << engine << " seed " << seed);
      const fabric::CompactGraph graph(fabric);
      const auto rule = find_engine(engine)->candidates({&fabric, &graph, {}, nullptr}).value();
      const Tally tally = follow(fabric, rule, seed++);
      EXPECT_GT(tally.changes, 0U);
      if (std::string_view(engine) == "minhop") {
        EXPECT_EQ(tally.whole, 0U);
      }
      if (testing::Test::HasFailure()) return;
    }
}

TEST(LiveWays, KnowHopsOfDifferentLengths) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const auto fabric = fabric::generate(fabric::RandomGraph{70, 160, 2}).value();
    const fabric::CompactGraph graph(fabric);
    std::mt19937_64 random(seed);
    Options options;
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& arc : graph.arcs(s))
        if (random() % 3 == 0)
          options.hop_weights[{graph.guid(s), arc.out_port}] =
              static_cast<std::uint8_t>(random() % 5);
    const auto rule = find_engine("minhop")->candidates({&fabric, &graph, options, nullptr});
    EXPECT_EQ(follow(fabric, rule.value(), seed).whole, 0U);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LiveWays, KeepToAnyOrder) {
  Tally all;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    fabric::FatTree tree;
    tree.radix = 8;
    const auto fabric = seed % 2 == 0 ? fabric::generate(fabric::RandomGraph{70, 160, 1}).value()
                                      : fabric::generate(tree).value();
    const fabric::CompactGraph graph(fabric);
    std::vector<SwitchIndex> from_top(graph.switch_count());
    for (SwitchIndex s = 0; s < from_top.size(); ++s) from_top[s] = s;
    std::mt19937_64 random(seed);
    std::shuffle(from_top.begin(), from_top.end(), random);
    UpDownOrder order(std::move(from_top));
    if (seed % 3 != 0) order = with_single_tops(graph, order);
    const Tally tally = follow(fabric, candidates_by(graph, order), seed);
    all.targets += tally.targets, all.whole += tally.whole;
    if (testing::Test::HasFailure()) return;
  }
  // Both kinds of targets have been there.
  EXPECT_GT(all.whole, 0U);
  EXPECT_LT(all.whole, all.targets);
}

}  // namespace
}  // namespace ib::route
