// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LMC where shortest ways are few: LIDs of a port go up to two hops farther to share no link, as
// long as no link gets much more and no credit loop closes.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <sstream>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/route/engine.h"
#include "libdiag/route/reroute/what_if.h"
#include "libdiag/tables/figures.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

fabric::Fabric with_lids(const std::string& words, std::uint8_t lmc) {
  std::istringstream in(words);
  std::vector<std::string> list;
  for (std::string word; in >> word;) list.push_back(word);
  auto f = fabric::generate(list).value();
  give_lids(f, lmc).value();
  return f;
}

struct Apart {
  explicit Apart(fabric::Fabric of) : fabric(std::move(of)), graph(fabric) {}
  Result<Routes> routes(const char* engine, unsigned vls, const Routes* before = nullptr) const {
    Request request{&fabric, &graph, {}, nullptr, vls};
    if (before != nullptr) {
      request.options.honour_previous = true;
      request.previous = &before->lfts;
      request.previous_sls = &before->virtual_lanes.sls;
      request.previous_sl_to_vl = &before->virtual_lanes.sl_to_vl;
    }
    return find_engine(engine)->compute(request);
  }
  tables::Verdict judge(const Routes& routes, const tables::PathSls* earlier = nullptr) const {
    tables::VerifyOptions options;
    options.credit_loops_are_must = true;
    options.switch_lids_as_cas = true;
    options.earlier_sls = earlier;
    return tables::verify(fabric, graph, routes.lfts, routes.virtual_lanes, {}, options);
  }
  tables::Figures figures(const Routes& routes) const {
    return tables::figures(fabric, graph, routes.lfts, {});
  }
  fabric::Fabric fabric;
  fabric::CompactGraph graph;
};

class PartWays : public ::testing::TestWithParam<const char*> {};

/// Paths of a port that share no link, of those that links would allow, and what they cost.
TEST_P(PartWays, LidsOfAPortGoTwoHopsFartherToShareNoLink) {
  struct Shape {
    const char* words;
    std::array<double, 2> least;  // with LMC 1 and 2
  };
  for (const Shape& shape :
       {Shape{"torus 6x6 --hosts 3", {1.95, 2.1}}, Shape{"torus 4x4x4 --hosts 2", {1.4, 1.7}},
        Shape{"mesh 6x5x3 --hosts 2", {1.95, 2.6}}, Shape{"hyperx 6x6 --hosts 3", {1.83, 2.1}},
        Shape{"hyperx 4x4x3 --hosts 2", {1.88, 3}},
        Shape{"dragonfly --groups 9 --routers 4 --hosts 2 --global 2", {1.25, 1.5}}})
    for (const std::uint8_t lmc : {std::uint8_t{1}, std::uint8_t{2}}) {
      SCOPED_TRACE(std::string(shape.words) + ", LMC " + std::to_string(lmc));
      const Apart one(with_lids(shape.words, 0)), c(with_lids(shape.words, lmc));
      const auto plain = one.routes(GetParam(), 8);
      const auto made = c.routes(GetParam(), 8);
      if (!plain || !made) continue;  // dfp: not networks of short paths
      const Routes& routes = *made;
      EXPECT_TRUE(c.judge(routes).must_ok());
      const auto figures = c.figures(routes);
      EXPECT_GE(figures.paths_of_port.mean, shape.least[lmc - 1U]);
      EXPECT_LE(figures.extra_hops_max, 2U);
      // Beside what several LIDs cost with the shortest ways, at most a tenth.
      const auto load = static_cast<double>(one.judge(*plain).load_max << lmc);
      EXPECT_LE(static_cast<double>(c.judge(routes).load_max), 1.02 * 1.1 * load);
    }
}

/// Whatever the fabric, the VLs and the number of LIDs: reached, no loop, no credit loop.
TEST_P(PartWays, WhateverChangesClosesNoCreditLoop) {
  constexpr std::array kKinds = {
      "torus 4x4x4 --hosts 1",
      "torus 5x4 --hosts 2 --cables 2",
      "torus 6 --hosts 1",
      "mesh 5x4 --hosts 1",
      "hyperx 5x4 --hosts 1",
      "hyperx 3x3x3 --hosts 1",
      "hypercube 4 --hosts 1",
      "dragonfly --groups 5 --routers 4 --hosts 1 --global 1",
      "random --switches 20 --links 50 --hosts 2",
      "kautz --degree 3 --diameter 2 --hosts 1",
      "fat-tree --radix 6 --levels 3",
  };
  unsigned fits = 0, parted = 0;
  for (const char* kind : kKinds)
    for (unsigned seed = 1; seed <= 6; ++seed) {
      const unsigned missing = seed % 3 * 3, vls = std::array{8U, 4U, 15U}[seed % 3];
      const auto lmc = static_cast<std::uint8_t>(1 + seed % 2);
      const std::string words = std::string(kind) + " --missing-links " + std::to_string(missing) +
                                " --seed " + std::to_string(seed);
      SCOPED_TRACE(words + ", LMC " + std::to_string(lmc) + ", VLs " + std::to_string(vls));
      const Apart c(with_lids(words, lmc));
      const auto routes = c.routes(GetParam(), vls);
      if (!routes) continue;
      ++fits;
      for (const std::string& note : routes->notes)
        parted += note.find("of their port") != std::string::npos;
      const auto verdict = c.judge(*routes);
      EXPECT_TRUE(verdict.must_ok());
      EXPECT_EQ(verdict.credit_loop_channels, 0U);
    }
  EXPECT_GT(fits, 40U);
  EXPECT_GT(parted, 20U);
}

/// Ways that were parted stay so: the same fabric has the same tables, and after a cable the SLs
/// that connections have mix with those of now unless pairs moved.
TEST_P(PartWays, StayOnAnEvent) {
  std::size_t entries = 0, changed = 0, moved = 0, pairs = 0;
  for (const char* words : {"torus 5x5 --hosts 2", "torus 4x4x4 --hosts 1", "hyperx 5x4 --hosts 2",
                            "dragonfly --groups 5 --routers 4 --hosts 1 --global 1"}) {
    SCOPED_TRACE(words);
    const Apart before(with_lids(words, 1));
    const auto first = before.routes(GetParam(), 8);
    if (!first) continue;
    const auto again = before.routes(GetParam(), 8, &*first).value();
    EXPECT_TRUE(before.judge(again, &first->virtual_lanes.sls).must_ok());
    for (fabric::SwitchIndex s = 0; s < before.graph.switch_count(); ++s)
      for (const auto& d : before.graph.destinations()) {
        ++entries;
        changed += again.lfts.at(s, d.lid) != first->lfts.at(s, d.lid);
      }
    for (unsigned seed = 1; seed <= 3; ++seed) {
      fabric::Fabric f = before.fabric;
      ASSERT_TRUE(take_away(f, {{}, 1, seed}).has_value());
      const Apart after(std::move(f));
      const auto routes = after.routes(GetParam(), 8, &*first);
      if (!routes) continue;
      EXPECT_TRUE(after.judge(*routes).must_ok());
      const auto led =
          tables::moved_pairs(after.graph, first->virtual_lanes.sls, routes->virtual_lanes.sls);
      EXPECT_TRUE(after.judge(*routes, &first->virtual_lanes.sls).must_ok() || !led.empty());
      moved += led.size();
      pairs += after.graph.switch_count() * (after.graph.switch_count() - 1) / 2;
    }
  }
  EXPECT_LT(changed * 50, entries);
  // VLs by turn leave less room: with the shortest ways as many move.
  EXPECT_LT(moved * (std::string(GetParam()) == "dfp" ? 15 : 20), pairs);
}
INSTANTIATE_TEST_SUITE_P(All, PartWays, ::testing::Values("dfsssp", "lash", "nue", "dfp"),
                         [](const auto& engine) { return std::string(engine.param); });

}  // namespace
}  // namespace ib::route
