// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Alias GUIDs that end with the LID, for routers: who gets them, where, and what a new LID does.
#include "sm/sa/registry/router_aliases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/sa/registry/alias_rules.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::sa::test {
namespace {

using ::testing::SizeIs;

Options with(RouterAliases mode) {
  Options options;
  options.router_aliases = mode;
  return options;
}

/// Until what is written on its own is durable.
void settle(Bench& bench) {
  bench.drain();
  if (bench.server.next_deadline() != ib::kNever)
    bench.now = std::max(bench.now, bench.server.next_deadline());
  bench.server.on_time(bench.now);
  bench.drain();
}

struct RouterAliasesTest : testing::Test {
  Bench bench{small_tree(), with(RouterAliases::Make)};

  void settle() { test::settle(bench); }
  /// As the subnet is after the next sweep.
  void publish(Fabric fabric) {
    fabric.reindex();
    bench.server.publish(bench.now, snapshot_of(std::move(fabric)));
    settle();
  }
  Guid at(std::size_t host, std::uint16_t index = 1) {
    const auto found = bench.server.aliases().find({bench.host(host).guid, index});
    return found == bench.server.aliases().end() ? Guid{} : found->second;
  }
};

TEST(RouterAlias, EndsWithTheLidAndIsNoAssignedGuid) {
  EXPECT_EQ(router_alias(Lid{0x1234}, 0x5A), Guid{0x0014055A01001234});
  EXPECT_TRUE(is_router_alias(Guid{0x0014055A01001234}));
  EXPECT_FALSE(is_router_alias(assigned_guid({Guid{1}, 1}, 0x5A, 0)));
  EXPECT_FALSE(is_router_alias(Guid{0x0002C90300000001}));
}

TEST_F(RouterAliasesTest, EachHostPortHasOneAndItIsFound) {
  settle();
  EXPECT_THAT(bench.server.aliases(), SizeIs(bench.hosts.size()));
  for (std::size_t host = 0; host < bench.hosts.size(); ++host)
    EXPECT_EQ(at(host), router_alias(bench.host(host).lid, 0)) << host;
  EXPECT_THAT(State(*bench.store->load()).contents().aliases, SizeIs(bench.hosts.size()));
}

TEST_F(RouterAliasesTest, NewLidsAreNewAliasesEvenWhereTwoChangePlaces) {
  settle();
  auto fabric = bench.snapshot->fabric();
  const Lid first = bench.host(3).lid, second = bench.host(4).lid;
  fabric.port(bench.hosts[3]).lid = second;
  fabric.port(bench.hosts[4]).lid = first;
  fabric.port(bench.hosts[5]).lid = Lid{0x777};
  publish(fabric);
  EXPECT_EQ(at(3), router_alias(second, 0));
  EXPECT_EQ(at(4), router_alias(first, 0));
  EXPECT_EQ(at(5), router_alias(Lid{0x777}, 0));
  EXPECT_THAT(bench.server.aliases(), SizeIs(bench.hosts.size()));
}

TEST_F(RouterAliasesTest, APortThatIsAwayKeepsItsAliasUntilAnotherHasTheLid) {
  settle();
  auto fabric = bench.snapshot->fabric();
  const Guid away = bench.host(3).guid;
  const Lid lid = bench.host(3).lid;
  fabric.disconnect(bench.hosts[3]);
  fabric.port(bench.hosts[3]).lid = Lid{};
  fabric.port(bench.hosts[3]).guid = Guid{0xF00D};
  publish(fabric);
  EXPECT_EQ(bench.server.aliases().at({away, 1}), router_alias(lid, 0));
  fabric.port(bench.hosts[4]).lid = lid;
  publish(fabric);
  EXPECT_EQ(at(4), router_alias(lid, 0));
  EXPECT_FALSE(bench.server.aliases().contains({away, 1}));
}

TEST(RouterAliases, LeaveTheEntriesOfClients) {
  store::Contents contents;
  Bench plain{small_tree()};
  contents.aliases = {{plain.host(3).guid, 1, Guid{0xA1}}};
  Bench bench(small_tree(), with(RouterAliases::Make), contents);
  settle(bench);
  EXPECT_EQ(bench.server.aliases().at({bench.host(3).guid, 1}), Guid{0xA1});
  EXPECT_EQ(bench.server.aliases().at({bench.host(3).guid, 2}), router_alias(bench.host(3).lid, 0));
}

TEST(RouterAliases, AreTakenBackOrLeftAsTheOptionSays) {
  Bench plain{small_tree()};
  store::Contents contents;
  contents.aliases = {{plain.host(3).guid, 1, router_alias(Lid{0x777}, 0)},
                      {plain.host(3).guid, 2, Guid{0xA2}}};
  for (const auto mode : {RouterAliases::Leave, RouterAliases::TakeBack}) {
    Bench bench(small_tree(), with(mode), contents);
    settle(bench);
    EXPECT_THAT(bench.server.aliases(), SizeIs(mode == RouterAliases::Leave ? 2U : 1U));
  }
}

}  // namespace
}  // namespace sm::sa::test
