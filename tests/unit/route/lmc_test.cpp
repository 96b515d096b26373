// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LMC: further LIDs of an end port go through another system, then another switch, then where there
// is least.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/route/engine.h"
#include "libdiag/tables/disjoint_paths.h"
#include "libdiag/tables/least_hops.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Two levels, four spines that are two chassis: neighbours in number, or every other one.
fabric::Fabric tree_with_chassis(unsigned lmc, bool neighbours) {
  fabric::FatTree kind;
  kind.radix = 8;
  auto f = fabric::generate(kind).value();
  give_lids(f, static_cast<std::uint8_t>(lmc)).value();
  unsigned spine = 0;
  for (fabric::NodeIndex n = 0; n < f.nodes().size(); ++n) {
    bool hosts = !f.node(n).is_switch();
    for (const auto& port : f.ports(n)) hosts |= port.peer && !f.node(port.peer.node).is_switch();
    if (hosts) continue;
    f.node(n).system_image_guid = Guid{0x100 + (neighbours ? spine / 2 : spine % 2)};
    ++spine;
  }
  EXPECT_EQ(spine, 4U);
  return f;
}

class Lmc : public ::testing::TestWithParam<const char*> {};

TEST_P(Lmc, FurtherLidsTakeAnotherSystemThenAnotherSwitchAndLoadsStayEven) {
  for (const unsigned lmc : {1U, 2U, 3U})
    for (const bool neighbours : {true, false}) {
      SCOPED_TRACE("LMC " + std::to_string(lmc) + (neighbours ? ", neighbours" : ", every other"));
      const auto f = tree_with_chassis(lmc, neighbours);
      const fabric::CompactGraph g(f);
      const auto routes = find_engine(GetParam())->compute({&f, &g, {}, nullptr, 8}).value();
      const auto verdict = tables::verify(f, g, routes.lfts, routes.virtual_lanes, {}, {});
      EXPECT_EQ(verdict.unreachable, 0U);
      // 4 hosts of a leaf send to 2^LMC LIDs of 28 others over 4 uplinks. lash has one way for each
      // of the LIDs of a leaf's hosts with one offset, 4 * 4 routes.
      const unsigned ways = 7U << lmc;
      EXPECT_EQ(verdict.load_max,
                GetParam() == std::string("lash") ? (ways + 3) / 4 * 16 : ways * 4);
      std::size_t seen = 0;
      for (const auto& d : g.destinations()) {
        const auto& port = f.port(d.end_port);
        if (d.is_switch() || d.lid != port.lid) continue;
        for (SwitchIndex s = 0; s < g.switch_count(); ++s) {
          if (s == d.leaf || g.attached()[s] == 0) continue;
          std::map<SwitchIndex, unsigned> spines;
          std::map<Guid, unsigned> systems;
          for (unsigned i = 0; i < (1U << lmc); ++i) {
            const auto out = routes.lfts.at(s, Lid{static_cast<std::uint16_t>(d.lid.value + i)});
            const auto to = f.port(g.node_of(s), out).peer.node;
            ++spines[g.switch_of(to)];
            ++systems[f.node(to).system_image_guid];
          }
          // Each chassis gets half of the LIDs, each spine its share of those.
          ASSERT_EQ(systems.size(), 2U) << s << " to LID " << d.lid.value;
          EXPECT_EQ(systems.begin()->second, 1U << (lmc - 1));
          EXPECT_EQ(spines.size(), std::min(4U, 1U << lmc));
          if (lmc >= 2) {
            EXPECT_EQ(spines.begin()->second, (1U << lmc) / 4);
          }
          ++seen;
        }
      }
      EXPECT_EQ(seen, 32U * 7);
    }
}
INSTANTIATE_TEST_SUITE_P(All, Lmc,
                         ::testing::Values("minhop", "updn", "dnup", "ftree", "sssp", "dfsssp",
                                           "lash", "nue"),
                         [](const auto& engine) { return std::string(engine.param); });

/// Twice the LIDs are twice the routes and no more: where a damaged tree has one other system left,
/// not all that is second goes there.
class LmcOfDamagedTrees : public ::testing::TestWithParam<const char*> {};

TEST_P(LmcOfDamagedTrees, LoadsGrowAsTheLidsDo) {
  const auto load_max = [&](std::uint8_t lmc) {
    auto f = fabric::generate_janus_like(2).value();
    give_lids(f, lmc).value();
    const fabric::CompactGraph g(f);
    const auto routes = find_engine(GetParam())->compute({&f, &g, {}, nullptr, 8}).value();
    const auto verdict = tables::verify(f, g, routes.lfts, routes.virtual_lanes, {}, {});
    EXPECT_EQ(verdict.unreachable, 0U);
    return static_cast<double>(verdict.load_max);
  };
  const double one = load_max(0);
  EXPECT_LE(load_max(1), 2 * 1.1 * one);
  EXPECT_LE(load_max(2), 4 * 1.1 * one);
}
INSTANTIATE_TEST_SUITE_P(All, LmcOfDamagedTrees,
                         ::testing::Values("minhop", "updn", "dnup", "sssp", "dfsssp", "lash"),
                         [](const auto& engine) { return std::string(engine.param); });

/// Calming the shifts of first LIDs puts nothing on links that further LIDs fill.
TEST(LmcOfUnevenTrees, LoadsOfFtreeGrowAsTheLidsDo) {
  fabric::FatTree kind;
  kind.radix = 8;
  kind.levels = 3;
  fabric::GenerateCommon common;
  common.missing_hosts_percent = 60;
  for (common.seed = 1; common.seed <= 4; ++common.seed) {
    SCOPED_TRACE(common.seed);
    auto f = fabric::generate(kind, common).value();
    std::array<double, 2> load{};
    for (std::uint8_t lmc = 0; lmc < 2; ++lmc) {
      give_lids(f, lmc).value();
      const fabric::CompactGraph g(f);
      const auto routes = find_engine("ftree")->compute({&f, &g, {}, nullptr, 1}).value();
      load[lmc] = static_cast<double>(tables::verify(f, g, routes.lfts).load_max);
    }
    EXPECT_LE(load[1], 2 * 1.1 * load[0]);
  }
}

/// Paths from every switch with hosts to the LIDs of one port of every other that share no link:
/// how many routes have on average, and how many shortest ones there could be in a grid, where each
/// neighbour that is nearer is on a path of its own.
struct Paths {
  double are, could_be;
};
Paths paths_of_a_port(const fabric::CompactGraph& g, const tables::LinearTables& lfts) {
  std::map<SwitchIndex, std::vector<Lid>> lids;
  std::map<SwitchIndex, std::uint8_t> port;
  for (const auto& d : g.destinations())
    if (d.is_host && port.try_emplace(d.leaf, d.port).first->second == d.port)
      lids[d.leaf].push_back(d.lid);
  Paths paths{0, 0};
  std::vector<tables::Ways> ways;
  for (const auto& [leaf, of_port] : lids) {
    const auto hops = tables::least_hops(g, std::vector{leaf});
    for (SwitchIndex s = 0; s < g.switch_count(); ++s) {
      if (s == leaf || g.attached()[s] == 0) continue;
      ways.push_back({s, leaf, of_port});
      std::size_t nearer = 0;
      for (std::size_t i = 0; i < g.arcs(s).size(); ++i) nearer += hops.arcs[g.arc_index(s, i)];
      paths.could_be += static_cast<double>(std::min(nearer, of_port.size()));
    }
  }
  paths.are = tables::disjoint_paths(g, lfts, ways).mean;
  paths.could_be /= static_cast<double>(ways.size());
  return paths;
}

tables::Verdict verdict_of(const char* engine, fabric::Fabric& f, std::uint8_t lmc, Paths& paths) {
  give_lids(f, lmc).value();
  const fabric::CompactGraph g(f);
  const auto routes = find_engine(engine)->compute({&f, &g, {}, nullptr, 8}).value();
  paths = paths_of_a_port(g, routes.lfts);
  return tables::verify(f, g, routes.lfts, routes.virtual_lanes, {}, {});
}

class LmcInGrids : public ::testing::TestWithParam<const char*> {};

/// Each LID of a port takes the dimensions of a grid in another order. As many paths that share no
/// link as shortest ways allow, where there are layers for all orders; of three rings not all.
TEST_P(LmcInGrids, FurtherLidsTakeTheDimensionsInAnotherOrder) {
  struct Shape {
    const char* name;
    fabric::Fabric fabric;
    double share;  // of the further paths that there could be, those that there are at least
  };
  std::vector<Shape> shapes;
  shapes.push_back({"torus 7x5", fabric::generate(fabric::Grid{{7, 5}, true, 2}).value(), 1});
  shapes.push_back({"torus 5x5x5", fabric::generate(fabric::Grid{{5, 5, 5}}).value(), 0.4});
  shapes.push_back({"torus 6x6x6", fabric::generate(fabric::Grid{{6, 6, 6}}).value(), 0.3});
  shapes.push_back({"mesh 4x3x3", fabric::generate(fabric::Grid{{4, 3, 3}, false, 2}).value(), 1});
  shapes.push_back({"HyperX 5x4", fabric::generate(fabric::HyperX{{5, 4}, 3}).value(), 1});
  shapes.push_back({"HyperX 3x3x3", fabric::generate(fabric::HyperX{{3, 3, 3}, 2}).value(), 1});
  shapes.push_back({"hypercube 4", fabric::generate(fabric::Hypercube{4, 2}).value(), 1});
  for (auto& [name, f, share] : shapes)
    for (const std::uint8_t lmc : {std::uint8_t{1}, std::uint8_t{2}}) {
      SCOPED_TRACE(std::string(name) + ", LMC " + std::to_string(lmc));
      Paths paths{};
      const std::uint64_t load = verdict_of(GetParam(), f, 0, paths).load_max;
      const auto verdict = verdict_of(GetParam(), f, lmc, paths);
      EXPECT_TRUE(verdict.must_ok());
      EXPECT_EQ(verdict.credit_loop_channels, 0U);
      // What they share no link for otherwise costs a tenth at most (part_ways_test).
      EXPECT_LE(static_cast<double>(verdict.load_max),
                1.02 * 1.1 * static_cast<double>(load << lmc));
      EXPECT_GT(paths.could_be, 1.5);
      EXPECT_GE(paths.are - 1, share * (paths.could_be - 1) - 1e-9);
    }
}
INSTANTIATE_TEST_SUITE_P(All, LmcInGrids, ::testing::Values("dfsssp", "lash", "nue"),
                         [](const auto& engine) { return std::string(engine.param); });

}  // namespace
}  // namespace ib::route
