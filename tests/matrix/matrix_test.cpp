// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Engines x fabrics x damage: each pair routes, and then a judge of its own kind finds nothing
// wrong, or the engine says why not in a sentence that names a switch. The smallest size of every
// kind with two seeds; IBKIT_MATRIX=all does all sizes with twenty.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "libdiag/fabric/topology_text.h"
#include "libdiag/route/choose/choose.h"
#include "libdiag/tables/verify.h"
#include "tests/matrix/cases.h"
#include "tests/matrix/oracle.h"
#include "tests/unit/tables/judge.h"

namespace ib::matrix {
namespace {

bool everything() {
  const char* mode = std::getenv("IBKIT_MATRIX");
  return mode != nullptr && std::string(mode) == "all";
}

/// What an engine owes, beyond reaching everything when it routes at all.
struct Promise {
  const char* engine;
  bool minimal;
  bool free_of_deadlocks;
  bool all_trees;    // may not refuse a tree, whatever its damage
  bool all_fabrics;  // may not refuse anything
};
constexpr Promise kPromises[] = {
    {"minhop", true, false, true, true},       {"updn", false, true, true, false},
    {"dnup", false, true, true, false},        {"ftree", false, true, true, false},
    {"sssp", true, false, true, true},         {"dfsssp", true, true, false, false},
    {"lash", true, true, false, false},        {"dor", true, false, false, false},
    {"torus-2QoS", false, true, false, false}, {"nue", false, true, true, true},
    {"dfp", false, true, false, false},        {"valley", false, true, false, false},
};
const Promise* promise_of(const std::string& engine) {
  for (const Promise& p : kPromises)
    if (engine == p.engine) return &p;
  return nullptr;
}

route::Request request_of(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                          unsigned vls) {
  route::Request request;
  request.fabric = &fabric;
  request.graph = &graph;
  request.vls = vls;
  return request;
}

/// Layered engines say it where paths had to be longer.
bool says_so(const route::Routes& routes) {
  return std::ranges::any_of(routes.notes, [](const std::string& note) {
    return note.find("not all ways are the shortest") != std::string::npos;
  });
}

void expect_sound(const fabric::CompactGraph& graph, const route::Routes& routes,
                  const Promise& promise, unsigned vls) {
  const Opinion opinion = judge(graph, routes);
  EXPECT_EQ(opinion.unreachable, 0U) << "of " << opinion.pairs << ": " << opinion.example;
  if (promise.minimal) {
    EXPECT_TRUE(opinion.not_least == 0 || says_so(routes));
  }
  // Nothing depends on these, but no engine leaves any out.
  EXPECT_EQ(opinion.switches_unreached, 0U);
  EXPECT_LE(routes.vls_used, vls);
  EXPECT_EQ(routes.promises_deadlock_freedom, promise.free_of_deadlocks);
  if (!promise.free_of_deadlocks) return;
  EXPECT_FALSE(opinion.credit_loop) << opinion.example;
  EXPECT_FALSE(opinion.dead_vls) << opinion.example;
  EXPECT_EQ(opinion.asymmetric_sls, 0U) << opinion.example;
}

/// Routes and judges one fabric with one engine.
void run(const Promise& promise, const fabric::Fabric& fabric, bool tree) {
  const fabric::CompactGraph graph(fabric);
  const bool owed = promise.all_fabrics || (promise.all_trees && tree);
  // Only an engine that never refuses is tried with every number of VLs.
  const bool virtual_lanes = promise.all_fabrics && promise.free_of_deadlocks;
  for (unsigned vls = virtual_lanes ? 1 : 8; vls <= (virtual_lanes && everything() ? 15 : 8);
       ++vls) {
    SCOPED_TRACE(std::to_string(vls) + " VLs");
    const auto routes = route::find_engine(promise.engine)->compute(request_of(fabric, graph, vls));
    if (routes) {
      expect_sound(graph, *routes, promise, vls);
    } else {
      EXPECT_FALSE(owed) << routes.error().message;
      EXPECT_THAT(routes.error().message, ::testing::ContainsRegex("'[^']*' .0x"))
          << "names no switch";
    }
  }
}

using Cell = std::tuple<std::string, std::size_t>;  // engine, kind
class Matrix : public ::testing::TestWithParam<Cell> {};

TEST_P(Matrix, RoutesOrSaysWhyNot) {
  const auto& [engine, kind_index] = GetParam();
  const Promise* promise = promise_of(engine);
  ASSERT_NE(promise, nullptr) << engine << " promises nothing";
  const Kind& kind = kinds()[kind_index];
  for (const std::string& size : kind.sizes) {
    for (const Damage& damage : damages()) {
      for (unsigned seed = 1; seed <= (everything() ? 20U : 2U); ++seed) {
        SCOPED_TRACE(size + ", " + damage.name + ", seed " + std::to_string(seed));
        run(*promise, make(size, damage, seed), kind.tree);
        if (HasFatalFailure()) return;
      }
    }
    if (!everything()) break;
  }
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const auto& e : route::engines())
    if (e.given == nullptr) names.emplace_back(e.name);
  return names;
}
std::vector<std::size_t> kind_indexes() {
  std::vector<std::size_t> indexes(kinds().size());
  for (std::size_t i = 0; i < indexes.size(); ++i) indexes[i] = i;
  return indexes;
}
std::string in_test_names(std::string engine) {
  std::replace(engine.begin(), engine.end(), '-', '_');
  return engine;
}
std::string name_of(const ::testing::TestParamInfo<Cell>& cell) {
  return in_test_names(std::get<0>(cell.param)) + "_on_" + kinds()[std::get<1>(cell.param)].name;
}
std::string engine_of(const ::testing::TestParamInfo<std::string>& engine) {
  return in_test_names(engine.param);
}
INSTANTIATE_TEST_SUITE_P(All, Matrix,
                         ::testing::Combine(::testing::ValuesIn(engine_names()),
                                            ::testing::ValuesIn(kind_indexes())),
                         name_of);

class RealFabrics : public ::testing::TestWithParam<std::string> {};

TEST_P(RealFabrics, RoutesOrSaysWhyNot) {
  const Promise* promise = promise_of(GetParam());
  ASSERT_NE(promise, nullptr) << GetParam() << " promises nothing";
  for (const auto& path : judge::real_fabrics()) {
    const auto whole = fabric::read_topology_file(path);
    ASSERT_TRUE(whole.has_value()) << whole.error().message;
    for (const Damage& damage : damages()) {
      for (unsigned seed = 1; seed <= (everything() ? 20U : 2U); ++seed) {
        SCOPED_TRACE(path.filename().string() + ", " + damage.name + ", seed " +
                     std::to_string(seed));
        run(*promise, damaged(*whole, damage, seed), true);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, RealFabrics, ::testing::ValuesIn(engine_names()), engine_of);

/// What is routed when nobody names an engine: everything, and free of credit loops.
class DefaultChoice : public ::testing::TestWithParam<std::size_t> {};

TEST_P(DefaultChoice, RoutesAllOfIt) {
  const Kind& kind = kinds()[GetParam()];
  for (const std::string& size : kind.sizes) {
    for (const Damage& damage : damages())
      for (unsigned seed = 1; seed <= (everything() ? 20U : 2U); ++seed) {
        SCOPED_TRACE(size + ", " + damage.name + ", seed " + std::to_string(seed));
        const auto fabric = make(size, damage, seed);
        const fabric::CompactGraph graph(fabric);
        const auto choice = route::choose_routes(fabric, graph, {}, {});
        ASSERT_TRUE(choice.passed);
        expect_sound(graph, choice.routes, *promise_of(choice.routes.engine), 8);
        EXPECT_FALSE(judge(graph, choice.routes).credit_loop);
      }
    if (!everything()) break;
  }
}
INSTANTIATE_TEST_SUITE_P(All, DefaultChoice, ::testing::ValuesIn(kind_indexes()),
                         [](const auto& kind) { return std::string(kinds()[kind.param].name); });

TEST(Oracle, SeesWhatIsWrong) {
  const auto fabric = make("torus 5 --hosts 2", damages()[0], 1);
  const fabric::CompactGraph graph(fabric);
  auto routes = route::find_engine("minhop")->compute(request_of(fabric, graph, 1)).value();
  const Opinion ring = judge(graph, routes);
  EXPECT_TRUE(ring.credit_loop);  // minimal routes of a ring of five close it
  EXPECT_EQ(ring.unreachable + ring.not_least + ring.asymmetric_sls, 0U);

  auto asymmetric = routes;
  asymmetric.virtual_lanes.sls = tables::PathSls(graph.switch_count(), Sl{0});
  asymmetric.virtual_lanes.sls.set_one_way(0, 1, Sl{1});
  EXPECT_GT(judge(graph, asymmetric).asymmetric_sls, 0U);

  auto virtual_lanes = routes;
  virtual_lanes.virtual_lanes.sl_to_vl = tables::SlToVl(tables::SlToVlRow::modulo(2));
  virtual_lanes.virtual_lanes.sls = tables::PathSls(Sl{1});
  EXPECT_TRUE(judge(graph, virtual_lanes).dead_vls);

  const auto destination =
      std::find_if(graph.destinations().begin(), graph.destinations().end(),
                   [](const auto& d) { return !d.is_switch() && d.leaf == 0; });
  auto detour = routes;  // the long way round
  for (fabric::SwitchIndex s = 1; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s))
      if (arc.to == s - 1) detour.lfts.set(s, destination->lid, arc.out_port);
  EXPECT_GT(judge(graph, detour).not_least, 0U);
  detour.lfts.set(3, destination->lid, tables::kNoPort);
  EXPECT_GT(judge(graph, detour).unreachable, 0U);
}

}  // namespace
}  // namespace ib::matrix
