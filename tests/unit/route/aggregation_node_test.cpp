// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Every switch of today has an aggregation node, a CA behind which is no host. Trees with them are
// routed as trees without them are.
#include "libdiag/fabric/aggregation_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "libdiag/fabric/topology_builder.h"
#include "libdiag/route/choose/choose.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/shape/ranks.h"
#include "libdiag/route/spread/spread.h"
#include "libdiag/tables/figures.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// `pods` of two leaves and two spines, two hosts a leaf, under two cores for each spine of a
/// pod. Aggregation nodes come last, so that GUIDs and LIDs of all others stay.
fabric::Fabric pods(unsigned pods, bool extra_nodes,
                    const std::string& called = "Mellanox Technologies Aggregation Node") {
  fabric::TopologyBuilder b({});
  std::vector<fabric::TopologyBuilder::Id> all;
  const auto add_switch = [&](const std::string& name) {
    all.push_back(b.add_switch(name, 16));
    return all.back();
  };
  std::vector<fabric::TopologyBuilder::Id> cores;
  for (unsigned c = 0; c < 4; ++c) cores.push_back(add_switch("core" + std::to_string(c)));
  for (unsigned p = 0; p < pods; ++p) {
    const auto of_pod = [&](const char* what, unsigned i) {
      return add_switch(what + std::to_string(p) + "-" + std::to_string(i));
    };
    const std::array spines{of_pod("spine", 0), of_pod("spine", 1)};
    for (unsigned s = 0; s < 2; ++s)
      for (unsigned c = 0; c < 2; ++c) b.connect(spines[s], cores[2 * s + c]);
    for (unsigned l = 0; l < 2; ++l) {
      const auto leaf = of_pod("leaf", l);
      for (const auto spine : spines) b.connect(leaf, spine);
      b.attach_hosts(leaf, 2);
    }
  }
  if (extra_nodes)
    for (const auto s : all) b.connect(s, b.add_host(called));
  return b.finish().value();
}

struct WithNodes {
  explicit WithNodes(fabric::Fabric f, const std::vector<Guid>& no_hosts = {})
      : fabric(std::move(f)), graph((give_lids(fabric), fabric), no_hosts) {
    request.fabric = &fabric;
    request.graph = &graph;
    request.vls = 8;
  }
  WithNodes(const WithNodes&) = delete;
  WithNodes& operator=(const WithNodes&) = delete;

  fabric::Fabric fabric;
  fabric::CompactGraph graph;
  Request request;
};

TEST(AggregationNode, IsKnownByDeviceIdAndByDescription) {
  fabric::Node node;
  node.vendor_id = 0x2c9;
  node.device_id = 0x1017;
  node.description = "host0001 HCA-1";
  EXPECT_FALSE(is_aggregation_node(node));
  node.device_id = 0xcf09;
  EXPECT_TRUE(is_aggregation_node(node));
  node.vendor_id = 0x119f;  // the number means nothing with another vendor
  EXPECT_FALSE(is_aggregation_node(node));
  node.description = "Mellanox Technologies Aggregation Node";
  EXPECT_TRUE(is_aggregation_node(node));
  node.type = wire::NodeType::Switch;
  EXPECT_FALSE(is_aggregation_node(node));
}

TEST(AggregationNode, IsADestinationAndNoHost) {
  const WithNodes c(pods(2, true));
  std::size_t hosts = 0, others = 0;
  for (const auto& d : c.graph.destinations())
    if (!d.is_switch()) ++(d.is_host ? hosts : others);
  EXPECT_EQ(hosts, 8U);
  EXPECT_EQ(others, c.graph.switch_count());
  for (SwitchIndex s = 0; s < c.graph.switch_count(); ++s)
    EXPECT_EQ(c.graph.end_ports()[s], c.graph.attached()[s] + 1);
}

TEST(AggregationNode, ChangesNoRankAndNoRoot) {
  const WithNodes with(pods(4, true)), without(pods(4, false));
  EXPECT_EQ(find_roots(with.graph), find_roots(without.graph));
  EXPECT_EQ(ranks_from_leaves(with.graph).of, ranks_from_leaves(without.graph).of);
  EXPECT_EQ(default_engines(with.graph), default_engines(without.graph));
  EXPECT_EQ(default_engines(with.graph).front(), "ftree");
}

/// Every engine that is meant for trees: the load of hosts is what it is without aggregation nodes,
/// these are reached by all hosts and by each other, and no credit loop closes.
TEST(AggregationNode, CostsTheHostsNothingWithAnyEngineForTrees) {
  const WithNodes with(pods(4, true)), without(pods(4, false));
  for (const char* name : {"ftree", "updn", "dnup", "nue", "dfsssp", "lash"}) {
    SCOPED_TRACE(name);
    const auto routes = find_engine(name)->compute(with.request);
    const auto plain = find_engine(name)->compute(without.request);
    ASSERT_TRUE(routes) << routes.error().message;
    ASSERT_TRUE(plain) << plain.error().message;
    tables::VerifyOptions options;
    options.credit_loops_are_must = true;
    const auto verdict =
        tables::verify(with.fabric, with.graph, routes->lfts, routes->virtual_lanes, {}, options);
    EXPECT_TRUE(verdict.must_ok());
    EXPECT_EQ(verdict.unreachable, 0U);
    const auto of_hosts = tables::verify(without.fabric, without.graph, plain->lfts,
                                         plain->virtual_lanes, {}, options);
    EXPECT_EQ(verdict.load_max, of_hosts.load_max);
    EXPECT_DOUBLE_EQ(verdict.load_mean, of_hosts.load_mean);
  }
}

TEST(AggregationNode, LeavesEveryShiftOnePacketALink) {
  const WithNodes c(pods(4, true));
  const auto routes = find_engine("ftree")->compute(c.request);
  ASSERT_TRUE(routes) << routes.error().message;
  const auto figures = tables::figures(c.fabric, c.graph, routes->lfts, {});
  EXPECT_EQ(figures.hosts, 16U);
  EXPECT_EQ(figures.shifts.worst, 1U);
  EXPECT_EQ(figures.load_max, figures.load_floor);
}

/// Nodes by this name: every second by its node GUID, the others by that of their port.
std::vector<Guid> guids_of(const fabric::Fabric& f, const std::string& name) {
  std::vector<Guid> guids;
  for (fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (f.node(n).description == name)
      guids.push_back(guids.size() % 2 == 0 ? f.node(n).guid : f.port(n, 1).guid);
  return guids;
}

TEST(AggregationNode, WhatAFileListsIsRoutedLikeOne) {
  const WithNodes known(pods(4, true)), without(pods(4, false));
  const fabric::Fabric unknown = pods(4, true, "gateway");
  const auto listed = guids_of(unknown, "gateway");
  ASSERT_EQ(listed.size(), known.graph.switch_count());
  const WithNodes told(unknown, listed), untold(unknown);
  EXPECT_EQ(find_roots(told.graph), find_roots(without.graph));
  EXPECT_EQ(default_engines(told.graph), default_engines(without.graph));
  for (const char* name : {"minhop", "ftree", "updn", "dfsssp"}) {
    const auto as_known = find_engine(name)->compute(known.request);
    const auto as_told = find_engine(name)->compute(told.request);
    const auto as_hosts = find_engine(name)->compute(untold.request);
    ASSERT_TRUE(as_known && as_told && as_hosts) << name;
    EXPECT_EQ(as_told->lfts, as_known->lfts) << name;
    EXPECT_NE(as_hosts->lfts, as_known->lfts) << name;
  }
}

TEST(AggregationNode, APlanHeedsTheList) {
  const fabric::Fabric unknown = pods(4, true, "gateway");
  PlanOptions options;
  const auto plain = plan_routes(unknown, options);
  for (const Guid guid : guids_of(unknown, "gateway"))
    options.choice.engine.no_hosts.entries.push_back({guid, 1, {}, {}});
  const auto told = plan_routes(unknown, options);
  ASSERT_TRUE(plain && told);
  EXPECT_EQ(told->routes.engine, "ftree");
  EXPECT_EQ(told->verdict.unreachable, 0U);
  EXPECT_GT(plain->verdict.load_max, told->verdict.load_max);
}

}  // namespace
}  // namespace ib::route
