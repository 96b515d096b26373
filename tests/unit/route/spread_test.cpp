// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What an operator says about ports and end ports, as every engine that spreads LIDs obeys it.
#include "libdiag/route/spread/spread.h"

#include <gtest/gtest.h>

#include <map>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engines/engines.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Two levels, four hosts and four uplinks a leaf.
fabric::Fabric small_tree() {
  fabric::FatTree kind;
  kind.radix = 8;
  return fabric::generate(kind).value();
}

/// Three times as wide.
void widen(fabric::Fabric& fabric, fabric::PortRef port) {
  for (const fabric::PortRef end : {port, fabric.port(port).peer})
    fabric.port(end).width = wire::LinkWidth::W12x;
}

struct SpreadBench {
  explicit SpreadBench(fabric::Fabric f) : fabric(std::move(f)), graph(fabric) {
    while (graph.attached()[leaf] == 0) ++leaf;
  }
  tables::LinearTables route(const Options& options) const {
    return minhop({&fabric, &graph, options, nullptr}).value().lfts;
  }
  tables::LinearTables spread_alone(const Options& options) const {
    const Request request{&fabric, &graph, options, nullptr};
    const Targets targets(request);
    const auto rule = minhop_candidates(request).value();
    return spread(request, targets, candidates_of(rule.of, graph, targets));
  }
  Guid guid() const { return graph.guid(leaf); }
  std::uint8_t uplink(std::size_t i) const { return graph.arcs(leaf)[i].out_port; }
  /// LIDs of hosts elsewhere, by the port of the leaf they go through.
  std::map<std::uint8_t, unsigned> shares(const tables::LinearTables& tables) const {
    std::map<std::uint8_t, unsigned> count;
    for (const auto& d : graph.destinations())
      if (!d.is_switch() && d.leaf != leaf) ++count[tables.at(leaf, d.lid)];
    return count;
  }
  /// The first LID in the order of routing that leaves the leaf.
  Lid first_remote() const {
    const Request request{&fabric, &graph, {}, nullptr};
    const Targets targets(request);
    for (const Target& target : targets.all())
      if (target.leaf != leaf) return targets.columns(target).front().lid;
    return {};
  }

  fabric::Fabric fabric;
  fabric::CompactGraph graph;
  SwitchIndex leaf{0};
};

TEST(SpreadOptions, LoadOfAnIgnoredPortDoesNotCount) {
  const SpreadBench bench(small_tree());
  Options options;
  options.ignored[{bench.guid(), bench.uplink(2)}] = true;
  // 28 LIDs. Once the preferred ones before it carry something, it is always the least loaded.
  EXPECT_EQ(bench.shares(bench.route(options)).at(bench.uplink(2)), 26U);
}

TEST(SpreadOptions, AnIgnoredEndPortHasItsPortGuidOrNodeGuidAndNumber) {
  const SpreadBench bench(small_tree());
  Options by_port, by_node;
  unsigned hosts = 0;
  for (const auto& d : bench.graph.destinations()) {
    if (d.is_switch() || d.leaf == bench.leaf || ++hosts % 3 != 0) continue;
    by_port.ignored[{bench.fabric.port(d.end_port).guid, 0}] = true;
    by_node.ignored[{bench.fabric.node(d.end_port.node).guid, d.end_port.port}] = true;
  }
  ASSERT_GT(by_port.ignored.size(), 5U);
  const auto tables = bench.route(by_port);
  EXPECT_EQ(bench.shares(tables), bench.shares(bench.route(by_node)));
  EXPECT_NE(bench.shares(tables), bench.shares(bench.route({})));
}

TEST(SpreadOptions, PortsAreSearchedInTheOrderGiven) {
  const SpreadBench bench(small_tree());
  Options options;
  options.port_search_order[bench.guid()] = {bench.uplink(3), bench.uplink(1)};
  EXPECT_EQ(bench.route(options).at(bench.leaf, bench.first_remote()), bench.uplink(3));
  EXPECT_EQ(bench.route({}).at(bench.leaf, bench.first_remote()), bench.uplink(0));
}

TEST(SpreadOptions, LongHopsAreGoneRound) {
  const SpreadBench bench(small_tree());
  Options options;
  options.hop_weights[{bench.guid(), bench.uplink(1)}] = 2;
  const auto shares = bench.shares(bench.route(options));
  EXPECT_EQ(shares.count(bench.uplink(1)), 0U);
  EXPECT_EQ(shares.size(), 3U);
}

TEST(SpreadOptions, GuidsOfTheOrderAreRoutedFirst) {
  const SpreadBench bench(small_tree());
  const auto host =
      std::find_if(bench.graph.destinations().rbegin(), bench.graph.destinations().rend(),
                   [&](const auto& d) { return !d.is_switch() && d.leaf != bench.leaf; });
  Options options;
  options.guid_routing_order.entries.emplace_back().guid = bench.fabric.port(host->end_port).guid;
  const Request request{&bench.fabric, &bench.graph, options, nullptr};
  EXPECT_EQ(Targets(request).columns().front().lid, host->lid);
  EXPECT_EQ(Targets(request).columns().size() + bench.graph.switch_count(),
            bench.graph.destinations().size());
  EXPECT_EQ(bench.route(options).at(bench.leaf, host->lid), bench.uplink(0));
}

TEST(SpreadOptions, ScatteringIsStableForASeedAndKeepsLoadsEven) {
  const SpreadBench bench(small_tree());
  Options options, other;
  options.scatter_seed = 11, other.scatter_seed = 12;
  EXPECT_EQ(bench.route(options), bench.route(options));
  EXPECT_NE(bench.route(options), bench.route(other));
  EXPECT_NE(bench.route(options), bench.route({}));
  for (const auto& [port, count] : bench.shares(bench.route(options))) EXPECT_EQ(count, 7U);
}

/// At the switch it is at.
TEST(SpreadOptions, AWideLinkGetsALargerShare) {
  auto fabric = small_tree();
  const SpreadBench plain(fabric);
  widen(fabric, {plain.graph.node_of(plain.leaf), plain.uplink(0)});
  const SpreadBench bench(std::move(fabric));
  const auto shares = bench.shares(bench.spread_alone({}));
  EXPECT_NEAR(shares.at(bench.uplink(0)), 14, 1);  // 3 of 6 parts of 28
  Options options;
  options.link_capacity = false;
  EXPECT_EQ(bench.shares(bench.spread_alone(options)).at(bench.uplink(0)), 7U);
  EXPECT_EQ(bench.shares(bench.route(options)).at(bench.uplink(0)), 7U);
}

/// Evening out looks at whole ways: from the spine at the far end all links are wide as well.
TEST(SpreadOptions, ASpineWithWideLinksGetsALargerShare) {
  auto fabric = small_tree();
  const SpreadBench plain(fabric);
  const SwitchIndex spine = plain.graph.arcs(plain.leaf)[0].to;
  for (const auto& arc : plain.graph.arcs(spine))
    widen(fabric, {plain.graph.node_of(spine), arc.out_port});
  const SpreadBench bench(std::move(fabric));
  EXPECT_NEAR(bench.shares(bench.route({})).at(bench.uplink(0)), 14, 1);
}

}  // namespace
}  // namespace ib::route
