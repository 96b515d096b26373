// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What is remembered of how routes were made, as the store keeps it.
#include "sm/plan/found_routes.h"

#include <gmock/gmock.h>

#include <random>

#include "libdiag/fabric/generate.h"

namespace sm::plan {
namespace {

using ib::Guid;
using ib::fabric::kNoSwitch;

RouteMemory sample() {
  RouteMemory memory;
  memory.engine = "dfsssp";
  memory.options = 0xF123456789ABCDEF;
  memory.switches = {Guid{0x10}, Guid{0x20}, Guid{0x0002c90200000001}};
  memory.vls_used = 4;
  memory.multicast = {{2, 0, 1}, {1, kNoSwitch, 1}, ib::Sl{3}, 0x8001};
  memory.sls = ib::tables::PathSls(3, ib::Sl{0});
  memory.sls.set(0, 1, ib::Sl{2});
  memory.sls.set(1, 2, ib::Sl{7});
  memory.order = std::make_shared<const ib::route::PlacedSwitches>(ib::route::PlacedSwitches{
      {Guid{0x20}, 0, 1, false}, {Guid{0x99}, 1, 0, true}, {Guid{0x10}, 2, 2, false}});
  return memory;
}

TEST(RouteMemory, ComesBackFromItsBytesAsItWas) {
  const RouteMemory was = sample();
  const auto is = decode(encode(was));
  ASSERT_TRUE(is);
  EXPECT_EQ(is->engine, was.engine);
  EXPECT_EQ(is->options, was.options);
  EXPECT_EQ(is->switches, was.switches);
  EXPECT_EQ(is->vls_used, was.vls_used);
  EXPECT_EQ(is->multicast.up_order, was.multicast.up_order);
  EXPECT_EQ(is->multicast.parent, was.multicast.parent);
  EXPECT_EQ(is->multicast.sl, was.multicast.sl);
  EXPECT_EQ(is->multicast.sls, was.multicast.sls);
  EXPECT_EQ(is->sls, was.sls);
  ASSERT_NE(is->order, nullptr);
  EXPECT_EQ(*is->order, *was.order);
}

TEST(RouteMemory, WhatIsCutOrWrongReadsAsNothing) {
  const auto bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode(std::span(bytes).first(size))) << size;
  auto more = bytes;
  more.push_back({});
  EXPECT_FALSE(decode(more));
  // Whatever else it holds is looked up within its own tables only.
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    auto wrong = bytes;
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips)
      wrong[random() % wrong.size()] ^= static_cast<std::byte>(1U << random() % 8);
    if (const auto memory = decode(wrong)) {
      EXPECT_LE(memory->multicast.parent.size(), memory->switches.size());
      EXPECT_LE(memory->sls.switch_count(), memory->switches.size());
    }
  }
}

TEST(RouteMemory, SuitsNoOtherEngineAndNoOtherOptions) {
  ib::route::Options options;
  options.roots.entries = {{Guid{0x10}, 1, {}, {}}};
  FoundRoutes found;
  EXPECT_TRUE(found.suits("ftree", options)) << "nothing is known of who made them";
  found.made = sample();
  found.made->options = sum_of(options);
  EXPECT_TRUE(found.suits("dfsssp", options));
  EXPECT_FALSE(found.suits("ftree", options));
  options.roots.entries[0].line = 7;
  EXPECT_TRUE(found.suits("dfsssp", options)) << "where it is written does not count";
  options.roots.entries[0].rank = 1;
  EXPECT_FALSE(found.suits("dfsssp", options));
}

TEST(RouteMemory, FollowsSwitchesToOtherIndexesAndLeavesOutThoseThatWent) {
  ib::fabric::Fabric fabric = ib::fabric::generate(ib::fabric::Grid{{3}, true, 1}, {}).value();
  const ib::fabric::CompactGraph graph(fabric);
  FoundRoutes found;
  found.made = sample();
  auto& made = *found.made;
  made.switches = {graph.guid(2), graph.guid(0), graph.guid(1)};
  found.lfts[graph.guid(1)] = {255, 3, 4};
  auto routes = found_routes(found, graph);
  EXPECT_EQ(routes.lfts.at(1, ib::Lid{2}), 4);
  EXPECT_EQ(routes.lfts.at(0, ib::Lid{2}), ib::tables::kNoPort);
  ASSERT_TRUE(routes.as_made);
  EXPECT_EQ(routes.as_made->virtual_lanes.sls.at(2, 0), ib::Sl{2});
  EXPECT_EQ(routes.as_made->virtual_lanes.sls.at(0, 1), ib::Sl{7});
  EXPECT_THAT(routes.as_made->multicast.up_order, ::testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(routes.as_made->multicast.parent, ::testing::ElementsAre(kNoSwitch, 0, 0));
  made.switches[0] = Guid{0x77};
  EXPECT_FALSE(found_routes(found, graph).as_made);
  EXPECT_EQ(found_sls(found, graph)->at(0, 1), ib::Sl{7});
  EXPECT_EQ(found_sls(found, graph)->at(2, 0), ib::tables::kNoSl);
}

}  // namespace
}  // namespace sm::plan
