// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Switches that go, with what hangs on them, and come back: followed as their links are.
#include <numeric>
#include <vector>

#include "libdiag/route/reroute/own_ways.h"
#include "tests/unit/route/rerouted.h"

namespace ib::route {
namespace {

constexpr const char* kFollowers[] = {"minhop", "updn", "dnup", "ftree"};

/// Follows a fabric and holds every update against the tables before it and a fresh computation.
class Follower {
 public:
  Follower(const char* engine, const fabric::Fabric& whole)
      : engine_(engine), graph_(whole), rerouter_(started(engine, whole)) {}

  void go_to(const fabric::Fabric& fabric) {
    const fabric::CompactGraph now(fabric);
    const auto before = carried_over(tables(), graph_, now);
    const auto change = rerouter_.update(fabric, now);
    ASSERT_TRUE(change.has_value());
    expect_difference(before, tables(), *change);
    tables::VerifyOptions options;
    options.credit_loops_are_must = rerouter_.routes().promises_deadlock_freedom;
    const auto verdict = tables::verify(fabric, now, tables(), options);
    EXPECT_TRUE(verdict.must_ok());
    EXPECT_EQ(verdict.load_max, rerouter_.load_max());
    const auto best = tables::verify(fabric, now, fresh(engine_, fabric, now).lfts);
    EXPECT_LE(static_cast<double>(verdict.load_max), 1.1 * static_cast<double>(best.load_max));
    EXPECT_LE(verdict.switch_sources_unreachable, best.switch_sources_unreachable);
    expect_hosts_reached(now);
    const auto& up_order = rerouter_.routes().multicast.up_order;
    EXPECT_TRUE(up_order.empty() || up_order.size() == now.switch_count());
    followed_ += change->recomputed.empty() ? 1 : 0;
    graph_ = now;
  }
  /// A restart goes on with what switches hold.
  void expect_idle_restart(const fabric::Fabric& fabric) const {
    Rerouter again = started(engine_, fabric);
    const auto change = again.take_up(fabric, {tables(), rerouter_.routes(), rerouter_.order()});
    ASSERT_TRUE(change.has_value());
    EXPECT_TRUE(change->entries.empty());
  }
  const tables::LinearTables& tables() const { return rerouter_.routes().lfts; }
  std::size_t followed() const { return followed_; }

 private:
  /// By all switches, by own ways where the order has none.
  void expect_hosts_reached(const fabric::CompactGraph& now) const {
    std::vector<fabric::SwitchIndex> all(now.switch_count());
    std::iota(all.begin(), all.end(), fabric::SwitchIndex{0});
    const auto parts = fabric::pieces_of(now).of;
    for (const MissingWay& way : missing_ways(now, tables(), all)) {
      const auto to = std::ranges::find(now.destinations(), way.lid, &fabric::Destination::lid);
      EXPECT_NE(parts[way.at], parts[to->leaf]) << way.at << " to LID " << way.lid.value;
    }
  }

  const char* engine_;
  fabric::CompactGraph graph_;
  Rerouter rerouter_;
  std::size_t followed_{0};
};

/// Each switch of a tree goes and comes back, leaves with their hosts as well.
TEST(RerouteSwitches, EachGoesAndComesBack) {
  for (const unsigned levels : {2U, 3U}) {
    const auto whole = generated_tree(levels == 2 ? 12 : 6, levels);
    const fabric::CompactGraph graph(whole);
    for (const char* engine : kFollowers) {
      Follower follower(engine, whole);
      const auto first = follower.tables();
      for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        SCOPED_TRACE(testing::Message() << engine << ", " << levels << " levels, switch " << s);
        const auto without = without_switches(whole, {graph.guid(s)});
        follower.go_to(without);
        follower.expect_idle_restart(without);
        follower.go_to(whole);
        ASSERT_EQ(follower.tables(), first);
      }
      // The others: whose LID was the highest, and without whom the order joins less.
      EXPECT_GE(follower.followed(), 2 * graph.switch_count() * 3 / 4) << engine;
    }
  }
}

TEST(RerouteSwitches, TwoMayOverlap) {
  const auto whole = generated_tree(8, 3);
  const fabric::CompactGraph graph(whole);
  for (const char* engine : kFollowers) {
    Follower follower(engine, whole);
    const auto first = follower.tables();
    for (fabric::SwitchIndex s = 3; s + 29 < graph.switch_count(); s += 7) {
      SCOPED_TRACE(testing::Message() << engine << ", switch " << s);
      const Guid a = graph.guid(s), b = graph.guid(s + 29);
      follower.go_to(without_switches(whole, {a}));
      const auto one = follower.tables();
      follower.go_to(without_switches(whole, {a, b}));
      if (s % 2 == 0) {
        follower.go_to(without_switches(whole, {a}));
        EXPECT_EQ(follower.tables(), one);
      } else {
        follower.go_to(without_switches(whole, {b}));
      }
      follower.go_to(whole);
      ASSERT_EQ(follower.tables(), first);
    }
  }
}

TEST(RerouteSwitches, TwoAtOnceAndOneForTheOther) {
  const auto whole = generated_tree(8, 3);
  const fabric::CompactGraph graph(whole);
  const Guid leaf = graph.guid(5), middle = graph.guid(40);
  for (const char* engine : kFollowers) {
    SCOPED_TRACE(engine);
    Follower follower(engine, whole);
    const auto first = follower.tables();
    follower.go_to(without_switches(whole, {leaf, middle}));
    follower.go_to(whole);
    EXPECT_EQ(follower.tables(), first);
    follower.go_to(without_switches(whole, {leaf}));
    follower.go_to(without_switches(whole, {middle}));
    follower.go_to(whole);
    EXPECT_EQ(follower.tables(), first);
  }
}

/// Cables fail and are mended while switches are gone.
TEST(RerouteSwitches, BesideCables) {
  const auto whole = generated_tree(8, 3);
  const fabric::CompactGraph graph(whole);
  for (const char* engine : kFollowers) {
    Follower follower(engine, whole);
    const auto first = follower.tables();
    auto damaged = whole;
    Cables cables(damaged);
    std::mt19937_64 random(7);
    for (fabric::SwitchIndex s = 1; s < graph.switch_count(); s += 9) {
      SCOPED_TRACE(testing::Message() << engine << ", switch " << s);
      cables.fail_one(random);
      follower.go_to(without_switches(damaged, {graph.guid(s)}));
      cables.fail_one(random);
      follower.go_to(without_switches(damaged, {graph.guid(s)}));
      cables.repair_one(random);
      follower.go_to(without_switches(damaged, {graph.guid(s)}));
      follower.go_to(damaged);
      cables.repair_one(random);
      follower.go_to(damaged);
      ASSERT_EQ(follower.tables(), first);
    }
  }
}

}  // namespace
}  // namespace ib::route
