// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/tree_claim.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "libdiag/fabric/generate.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Four switches in a square, a host at each: routes that go round three sides of it, and a tree
/// whose packets take the corner that these leave out.
TEST(TreeClaim, IsBrokenByPacketsOfHostsThatCloseALoopWithRoutes) {
  const auto fabric = fabric::generate(fabric::Grid{{2, 2}, false, 1}).value();
  const fabric::CompactGraph graph(fabric);
  const auto port_to = [&](SwitchIndex from, SwitchIndex to) -> std::uint8_t {
    const auto arcs = graph.arcs(from);
    const auto arc = std::ranges::find(arcs, to, &fabric::Arc::to);
    return arc == arcs.end() ? tables::kNoPort : arc->out_port;
  };
  const SwitchIndex a = 0;
  const SwitchIndex b = graph.arcs(a)[0].to, d = graph.arcs(a)[1].to;
  const SwitchIndex c = 6 - a - b - d;
  ASSERT_EQ(port_to(a, c), tables::kNoPort);

  tables::LinearTables lfts(graph.switch_count(), graph.max_lid());
  for (const auto& to : graph.destinations()) {
    lfts.set(to.leaf, to.lid, to.port);
    const auto way = [&](SwitchIndex from, SwitchIndex next) {
      lfts.set(from, to.lid, port_to(from, next));
    };
    if (to.leaf == a) way(d, c), way(c, b), way(b, a);  // d -> c -> b -> a
    if (to.leaf == b) way(a, b), way(c, b), way(d, a);
    if (to.leaf == c) way(a, d), way(d, c), way(b, c);  // a -> d -> c
    if (to.leaf == d) way(a, d), way(c, d), way(b, c);
  }
  MulticastRule rule;
  rule.parent.assign(graph.switch_count(), fabric::kNoSwitch);
  rule.parent[b] = rule.parent[d] = a;
  rule.parent[c] = d;

  tables::VerifyOptions checks;
  checks.credit_loops_are_must = true;
  const auto is_proved = [&](const tables::MulticastCheck& trees) {
    return tables::verify(fabric, graph, lfts, {}, trees, checks).must_ok();
  };
  EXPECT_TRUE(is_proved({}));
  EXPECT_FALSE(is_proved(TreeClaim(graph, rule).check())) << "b -> a -> d";
}

}  // namespace
}  // namespace ib::route
