// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Cables that are out for a while: what moves meanwhile, and that nothing is left of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using fabric::CompactGraph;
using fabric::Fabric;
using fabric::PortRef;
using fabric::SwitchIndex;

template <class Of>
Fabric made(const Of& kind, double missing_percent = 0) {
  fabric::GenerateCommon common;
  common.missing_links_percent = missing_percent;
  return fabric::generate(kind, common).value();
}

/// 8 leaves of 8 hosts under 4 middle switches.
Fabric twelve_switches() {
  fabric::FatTree kind;
  kind.radix = 16;
  kind.hosts_per_leaf = 8;
  kind.leaves = 8;
  kind.spines = 4;
  return made(kind);
}
Fabric three_levels(double missing_percent = 0) {
  fabric::FatTree kind;
  kind.radix = 6;
  kind.levels = 3;
  return made(kind, missing_percent);
}

struct Kind {
  const char* name;
  Fabric fabric;
};
std::vector<Kind> trees() {
  return {{"12 switches", twelve_switches()}, {"three levels", three_levels()}};
}
std::vector<Kind> others() {
  return {{"damaged tree", three_levels(5)},
          {"torus", made(fabric::Grid{{4, 4}, true, 4})},
          {"damaged torus", made(fabric::Grid{{4, 5}, true, 3}, 10)},
          {"mesh", made(fabric::Grid{{4, 4}, false, 3})},
          {"ring", made(fabric::Grid{{8}, true, 3})},
          {"hypercube", made(fabric::Hypercube{4, 2})},
          {"HyperX", made(fabric::HyperX{{3, 3}, 4})},
          {"random", made(fabric::RandomGraph{16, 40, 4})},
          {"Kautz", made(fabric::Kautz{2, 3, 2})}};
}

struct Cable {
  PortRef a, b;
  wire::LinkWidth width;
  wire::LinkSpeed speed;
};

constexpr unsigned kVls = 4;

/// A fabric whose cables come and go, and routes that follow it.
class FollowedFabric {
 public:
  FollowedFabric(const EngineEntry& engine, const Fabric& fabric)
      : fabric_(fabric), rerouter_(engine, Options{}, kVls) {
    const CompactGraph graph(fabric_);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& arc : graph.arcs(s)) {
        const PortRef a{graph.node_of(s), arc.out_port}, b{graph.node_of(arc.to), arc.in_port};
        if (a < b) cables.push_back({a, b, fabric_.port(a).width, fabric_.port(a).speed});
      }
    auto routes = engine.compute({&fabric_, &graph, {}, nullptr, kVls});
    fits = routes.has_value();
    if (fits) rerouter_.adopt(fabric_, graph, *std::move(routes));
  }

  Difference pull(const Cable& cable) {
    fabric_.disconnect(cable.a);
    return update();
  }
  Difference plug(const Cable& cable) {
    fabric_.connect(cable.a, cable.b, cable.width, cable.speed);
    return update();
  }
  Difference update() {
    const CompactGraph graph(fabric_);
    const auto before = tables();
    auto change = rerouter_.update(fabric_, graph);
    if (!change) {
      ADD_FAILURE() << change.error().message;
      return {};
    }
    if (change->recomputed.empty()) {
      EXPECT_EQ(change->entries, difference(before, tables()).entries);
    }
    return *std::move(change);
  }
  const tables::LinearTables& tables() const { return rerouter_.routes().lfts; }
  const tables::PathSls& sls() const { return rerouter_.routes().virtual_lanes.sls; }
  Fabric& fabric() { return fabric_; }
  std::string_view engine() const { return rerouter_.engine(); }
  std::uint64_t load_max() const { return rerouter_.load_max(); }

  std::vector<Cable> cables;
  bool fits{false};

 private:
  Fabric fabric_;
  Rerouter rerouter_;
};

/// Whether what leaves `s` for `lid` takes the cable.
bool passes(const CompactGraph& graph, const tables::LinearTables& tables, SwitchIndex s, Lid lid,
            const Cable& cable) {
  for (std::size_t hops = 0; hops <= graph.switch_count(); ++hops) {
    const std::uint8_t port = tables.at(s, lid);
    const PortRef out{graph.node_of(s), port};
    if (out == cable.a || out == cable.b) return true;
    const auto arcs = graph.arcs(s);
    const auto arc = std::ranges::find(arcs, port, &fabric::Arc::out_port);
    if (arc == arcs.end()) return false;
    s = arc->to;
  }
  return false;
}

/// Engines that follow links entry by entry, and two that do not.
constexpr std::array kFollowing{"minhop", "updn", "dnup", "ftree"};
constexpr std::array kAll{"minhop", "updn", "dnup", "ftree", "dfsssp", "lash"};

template <class Function>
void for_engines(const std::vector<Kind>& kinds, std::span<const char* const> engines,
                 Function function) {
  for (const Kind& kind : kinds)
    for (const char* engine : engines) {
      SCOPED_TRACE(testing::Message() << engine << " on " << kind.name);
      FollowedFabric followed(*find_engine(engine), kind.fabric);
      if (followed.fits) function(followed);
      if (testing::Test::HasFailure()) return;
    }
}

TEST(RerouteReturn, ACableThatWasOutLeavesNothingBehind) {
  auto kinds = trees();
  for (Kind& kind : others()) kinds.push_back(std::move(kind));
  for_engines(kinds, kAll, [](FollowedFabric& followed) {
    const auto before = followed.tables();
    const auto load = followed.load_max();
    const auto sls = followed.sls();
    for (const Cable& cable : followed.cables) {
      followed.pull(cable);
      followed.plug(cable);
      // A pair that had to leave its SL keeps the new one where going back might close a loop.
      if (followed.sls() != sls) continue;
      ASSERT_EQ(followed.tables(), before);
      ASSERT_EQ(followed.load_max(), load);
    }
  });
}

TEST(RerouteReturn, InATreeOnlyWhatTookTheCableMoves) {
  for_engines(trees(), kFollowing, [](FollowedFabric& followed) {
    const CompactGraph whole(followed.fabric());
    const auto before = followed.tables();
    std::size_t moved = 0, others = 0;
    for (const Cable& cable : followed.cables) {
      const auto change = followed.pull(cable);
      EXPECT_FALSE(change.entries.empty());
      const auto along = std::ranges::count_if(change.entries, [&](const auto& entry) {
        return passes(whole, before, entry.at, entry.lid, cable);
      });
      followed.plug(cable);
      // Where the order had to change for hosts to reach a switch, a few entries more do.
      if (!change.recomputed.empty()) {
        EXPECT_GT(static_cast<std::size_t>(along) * 10, change.entries.size() * 7);
        continue;
      }
      moved += change.entries.size();
      others += change.entries.size() - static_cast<std::size_t>(along);
    }
    // ftree's own tables may be more even than what took the cable can make them.
    EXPECT_LE(others * 50, followed.engine() == "ftree" ? moved : 0) << others << " of " << moved;
  });
}

/// What moved when the one went does not come to stay when the other does.
TEST(RerouteReturn, TwoCablesMayOverlap) {
  auto kinds = trees();
  for (Kind& kind : others()) kinds.push_back(std::move(kind));
  for_engines(kinds, kFollowing, [](FollowedFabric& followed) {
    const auto& cables = followed.cables;
    const auto before = followed.tables();
    for (std::size_t i = 0; i < cables.size(); i += 3) {
      const Cable& one = cables[i];
      const Cable& other = cables[(i * 7 + 1) % cables.size()];
      if (one.a == other.a) continue;
      followed.pull(one);
      followed.pull(other);
      followed.plug(one);
      followed.plug(other);
      ASSERT_EQ(followed.tables(), before);
    }
  });
}

/// One is out for good: the others come back to what it has left.
TEST(RerouteReturn, BesideACableThatStaysOut) {
  for_engines(trees(), kFollowing, [](FollowedFabric& followed) {
    const auto& cables = followed.cables;
    followed.pull(cables.front());
    auto before = followed.tables();
    for (std::size_t i = 1; i < cables.size(); ++i) {
      const bool is_kept = followed.pull(cables[i]).recomputed.empty();
      followed.plug(cables[i]);
      if (is_kept) {
        ASSERT_EQ(followed.tables(), before);
      }
      before = followed.tables();  // of another order, if it had to change
    }
  });
}

/// More cables than steps are kept, in the order in which they went, and then all come back.
TEST(RerouteReturn, ManyCables) {
  for_engines({{"three levels", three_levels()}}, kFollowing, [](FollowedFabric& followed) {
    const auto before = followed.tables();
    const auto& cables = followed.cables;
    std::vector<Cable> out;
    for (std::size_t i = 0; i < cables.size() && out.size() < 40; i += 2) {
      out.push_back(cables[i]);
      followed.pull(cables[i]);
    }
    for (const Cable& cable : out) followed.plug(cable);
    EXPECT_EQ(followed.tables(), before);
  });
}

TEST(RerouteReturn, AHostThatWasAwayLeavesNothingBehind) {
  for_engines(trees(), kAll, [](FollowedFabric& followed) {
    const auto before = followed.tables();
    const CompactGraph whole(followed.fabric());
    auto& fabric = followed.fabric();
    std::size_t turn = 0;
    for (const auto& end : whole.destinations()) {
      if (end.is_switch() || turn++ % 7 != 0) continue;
      const PortRef host = end.end_port, leaf = fabric.port(host).peer;
      const auto port = fabric.port(host);
      fabric.disconnect(host);
      fabric.port(host).lid = Lid{};
      followed.update();
      fabric.connect(host, leaf, port.width, port.speed);
      fabric.port(host).lid = port.lid;
      followed.update();
      ASSERT_EQ(followed.tables(), before);
    }
  });
}

/// It comes back slower: that is another fabric.
TEST(RerouteReturn, ASlowerCableIsNotTheOneThatWasOut) {
  FollowedFabric followed(*find_engine("minhop"), twelve_switches());
  const Cable cable = followed.cables.front();
  followed.pull(cable);
  auto slow = cable;
  slow.width = wire::LinkWidth::W1x;
  EXPECT_FALSE(followed.plug(slow).recomputed.empty());
  const CompactGraph graph(followed.fabric());
  EXPECT_TRUE(tables::verify(followed.fabric(), graph, followed.tables()).must_ok());
}

}  // namespace
}  // namespace ib::route
