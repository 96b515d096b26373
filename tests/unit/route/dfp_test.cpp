// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using ::testing::HasSubstr;

struct Net {
  explicit Net(const std::string& words) : fabric(generated(words)), graph(fabric) {}
  static fabric::Fabric generated(const std::string& words) {
    std::istringstream in(words);
    std::vector<std::string> list;
    for (std::string word; in >> word;) list.push_back(word);
    return fabric::generate(list).value();
  }
  Result<Routes> routes(unsigned vls) const {
    Request request;
    request.fabric = &fabric;
    request.graph = &graph;
    request.vls = vls;
    return dfp(request);
  }
  fabric::Fabric fabric;
  fabric::CompactGraph graph;
};

TEST(Dfp, DragonflyPlusNeedsOneLane) {
  const Net net("dragonfly-plus --groups 9 --leaves 4 --spines 4 --hosts 4 --cables 8");
  const auto routes = net.routes(8).value();
  EXPECT_EQ(routes.vls_used, 1);
  EXPECT_TRUE(routes.virtual_lanes.trivial());
  EXPECT_TRUE(routes.promises_deadlock_freedom);
  const auto verdict = tables::verify(net.fabric, net.graph, routes.lfts);
  EXPECT_EQ(verdict.unreachable + verdict.credit_loop_channels, 0U);
}

TEST(Dfp, TwoHopsNeedTwoLanesAndOneSl) {
  const Net net("hyperx 6x5 --hosts 3");
  const auto routes = net.routes(8).value();
  EXPECT_EQ(routes.vls_used, 2);
  EXPECT_TRUE(routes.virtual_lanes.sls.uniform());
  EXPECT_FALSE(routes.virtual_lanes.sl_to_vl.uniform());
}

TEST(Dfp, DragonflyPathsCrossOnceAndNeedTwoLanes) {
  const Net net("dragonfly --groups 9 --routers 4 --hosts 2 --global 2");
  const auto routes = net.routes(8).value();
  EXPECT_EQ(routes.vls_used, 2);
  const auto verdict = tables::verify(net.fabric, net.graph, routes.lfts);
  EXPECT_EQ(verdict.unreachable, 0U);
  // 8 hosts of a group to 8 of another over the one cable there is, and what local links carry.
  EXPECT_LE(verdict.load_max, 70U);
}

TEST(Dfp, TakesFewerVlsThanItMay) {
  const Net net("kautz --degree 3 --diameter 3 --hosts 2");
  const auto routes = net.routes(15).value();
  EXPECT_LE(routes.vls_used, 5);
  EXPECT_GT(routes.vls_used, 1);
}

TEST(Dfp, PathsToSwitchesCloseNoLoopEither) {
  tables::VerifyOptions options;
  options.credit_loops_are_must = true;
  options.switch_lids_as_cas = true;
  for (const char* words :
       {"torus 4x4x4 --hosts 2 --missing-links 3 --seed 3", "torus 6x6 --hosts 1 --missing-links 5",
        "dragonfly-plus", "random --switches 30 --links 70 --hosts 3"}) {
    const Net net(words);
    const auto routes = net.routes(8);
    ASSERT_TRUE(routes.has_value()) << words << ": " << routes.error().message;
    EXPECT_THAT(routes->notes, ::testing::IsEmpty()) << words;
    const auto verdict =
        tables::verify(net.fabric, net.graph, routes->lfts, routes->virtual_lanes, {}, options);
    EXPECT_EQ(verdict.credit_loop_channels, 0U) << words;
  }
}

TEST(Dfp, SaysWhatDoesNotFit) {
  const Net ring("torus 5 --hosts 1");
  const auto one = ring.routes(1);
  ASSERT_FALSE(one.has_value());
  EXPECT_THAT(one.error().message, HasSubstr("close a credit loop on 1 VL"));
  const Net torus("torus 16 --hosts 1");
  const auto longer = torus.routes(8);
  ASSERT_FALSE(longer.has_value());
  EXPECT_THAT(longer.error().message, HasSubstr("not a network of short paths: 'sw-"));
}

}  // namespace
}  // namespace ib::route
