// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/fresh.h"

#include <gtest/gtest.h>

#include "libdiag/routes/verify.h"
#include "tests/unit/sm/fresh_request.h"

namespace sm::plan {
namespace {

using test::fresh_request;

TEST(Fresh, LoadsAreThoseTheVerifierCounts) {
  const auto fresh = compute_afresh(fresh_request("updn", 1));
  const auto request = fresh_request("updn", 1);
  const Routing& same = *request.desired->routing;
  EXPECT_EQ(fresh.load,
            ib::routes::verify(request.observed->fabric, same.graph, same.lfts).load_max);
  EXPECT_EQ(fresh.held_load, 1U);
}

TEST(Fresh, ThereAreRoutesOnlyWhereThoseThatStandCarryMoreThanATenthMore) {
  const auto load = compute_afresh(fresh_request("updn", 1)).load;
  for (const bool beyond : {false, true}) {
    const auto request = fresh_request("updn", load * 11 / 10 + (beyond ? 1 : 0));
    const auto fresh = compute_afresh(request);
    EXPECT_EQ(fresh.refused, "");
    EXPECT_EQ(fresh.routing != nullptr, beyond);
    EXPECT_EQ(fresh.rerouter.has_value(), beyond);
    if (!beyond) continue;
    EXPECT_TRUE(fresh.verdict.must_ok());
    EXPECT_EQ(fresh.rerouter->routes().lfts, fresh.routing->lfts);
    EXPECT_EQ(fresh.rerouter->load_max(), load);
    // The same engine for the same fabric: here nothing differs.
    EXPECT_EQ(fresh.blocks, 0U);
  }
}

TEST(Fresh, BlocksAreCounted) {
  const auto request = fresh_request("dnup", 1'000'000);
  const auto fresh = compute_afresh(request);
  ASSERT_TRUE(fresh.routing);
  EXPECT_GT(fresh.blocks, 0U);
  EXPECT_EQ(
      fresh.blocks,
      ib::route::difference(request.desired->routing->lfts, fresh.routing->lfts).blocks.size());
}

TEST(Fresh, AnEngineThatDoesNotFitSaysWhy) {
  const auto fresh = compute_afresh(fresh_request("ftree", 1'000'000));
  EXPECT_NE(fresh.refused, "");
  EXPECT_EQ(fresh.routing, nullptr);
}

TEST(Fresh, RoutesThatFailAMustAreRefused) {
  // Least hops round a torus close circles.
  const auto fresh = compute_afresh(fresh_request("minhop", 1'000'000));
  EXPECT_NE(fresh.refused.find("credit loop"), std::string::npos) << fresh.refused;
  EXPECT_EQ(fresh.routing, nullptr);
}

TEST(Fresh, LanesAreNotChangedForTheSakeOfLoad) {
  auto request = fresh_request("dfsssp", 1'000'000);
  request.vls = 8;
  const auto fresh = compute_afresh(request);
  EXPECT_EQ(fresh.refused, "fresh routes take several VLs");
  EXPECT_EQ(fresh.routing, nullptr);
}

}  // namespace
}  // namespace sm::plan
