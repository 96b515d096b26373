// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Engine `chain`: parts of a fabric by engines of their own.
#include "libdiag/route/chain/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "libdiag/fabric/topology_builder.h"
#include "libdiag/route/chain/part.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Islands `a` and `b`, trees of two spines and three leaves with two hosts each, under two cores.
fabric::Fabric two_islands() {
  fabric::TopologyBuilder b({});
  const auto core0 = b.add_switch("core0", 16), core1 = b.add_switch("core1", 16);
  for (const std::string island : {"a", "b"}) {
    std::vector<fabric::TopologyBuilder::Id> spines;
    for (unsigned s = 0; s < 2; ++s) {
      spines.push_back(b.add_switch(island + "-spine" + std::to_string(s), 16));
      b.connect(spines.back(), core0);
      b.connect(spines.back(), core1);
    }
    for (unsigned l = 0; l < 3; ++l) {
      const auto leaf = b.add_switch(island + "-leaf" + std::to_string(l), 16);
      for (const auto spine : spines) b.connect(leaf, spine);
      for (unsigned h = 0; h < 2; ++h)
        b.connect(leaf, b.add_host(island + "-host" + std::to_string(l) + std::to_string(h)));
    }
  }
  return b.finish().value();
}

/// `size` switches in a circle, a host on each.
fabric::Fabric ring_of(unsigned size) {
  fabric::TopologyBuilder b({});
  std::vector<fabric::TopologyBuilder::Id> all;
  for (unsigned s = 0; s < size; ++s) {
    all.push_back(b.add_switch("r" + std::to_string(s), 8));
    b.connect(all.back(), b.add_host("h" + std::to_string(s)));
  }
  for (unsigned s = 0; s < size; ++s) b.connect(all[s], all[(s + 1) % size]);
  return b.finish().value();
}

fabric::PortGroup group(const std::string& name, const std::string& expression) {
  return {name, "", {fabric::ExpressionRule{Expression::of(expression), {}}}, {}};
}

ChainStep step(std::uint64_t id, const std::string& engine, std::uint64_t topology = 0) {
  ChainStep out;
  out.id = id, out.engine = engine, out.topology = topology;
  return out;
}
ChainStep fallback(std::uint64_t id, const std::string& engine, std::uint64_t to,
                   std::uint64_t topology = 0) {
  ChainStep out = step(id, engine, topology);
  out.fallback_to = to;
  return out;
}

struct ChainNet {
  explicit ChainNet(fabric::Fabric f, std::uint8_t lmc = 0)
      : fabric(std::move(f)), graph((give_lids(fabric, lmc).value(), fabric)) {}

  Request request(Chain chain, unsigned vls = 8) const {
    Request out{&fabric, &graph, {}, nullptr, vls};
    out.options.chain = std::make_shared<const Chain>(std::move(chain));
    return out;
  }
  Result<Routes> routes(Chain chain, unsigned vls = 8) const {
    return route::chain(request(std::move(chain), vls));
  }
  std::string refusal(Chain chain, unsigned vls = 8) const {
    const auto routes = this->routes(std::move(chain), vls);
    return routes ? "it was routed" : routes.error().message;
  }
  std::string name(SwitchIndex s) const { return fabric.node(graph.node_of(s)).description; }
  SwitchIndex at(const std::string& name) const {
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      if (this->name(s) == name) return s;
    ADD_FAILURE() << name;
    return 0;
  }
  /// Names of what the LIDs of one offset of the hosts of an island are sent to from a switch of
  /// another leaf; sorted, each once.
  std::vector<std::string> next_hops(const Routes& routes, const std::string& from,
                                     const std::string& hosts, unsigned offset = 0) const {
    std::vector<std::string> names;
    const SwitchIndex s = at(from);
    for (const auto& d : graph.destinations()) {
      const auto& host = fabric.node(d.end_port.node).description;
      if (d.leaf == s || !host.starts_with(hosts) ||
          d.lid.value != fabric.port(d.end_port).lid.value + offset)
        continue;
      const auto far = fabric.port(graph.node_of(s), routes.lfts.at(s, d.lid)).peer;
      names.push_back(far ? fabric.node(far.node).description : "nowhere");
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }
  tables::Verdict judge(const Routes& routes) const {
    tables::VerifyOptions options;
    options.credit_loops_are_must = true;
    return tables::verify(fabric, graph, routes.lfts, routes.virtual_lanes, {}, options);
  }

  fabric::Fabric fabric;
  fabric::CompactGraph graph;
};

/// Island a without its second spine is topology 1, island b topology 2.
Chain islands() {
  Chain chain;
  chain.groups = fabric::PortGroups({group("a", "^a-(spine0|leaf)"), group("a-hosts", "^a-host"),
                                     group("b", "^b-"), group("gone", "^c-")});
  chain.topologies = {{1, "a", "a-hosts", 1}, {2, "b", "b", 5}, {3, "gone", "ALL", 9}};
  return chain;
}

using Names = std::vector<std::string>;

TEST(Chain, TheLastStepThatWritesAnEntryHasIt) {
  const ChainNet net(two_islands());
  Chain chain = islands();
  chain.steps = {step(1, "minhop"), step(2, "ftree", 1), step(3, "updn", 2)};
  const auto routes = net.routes(chain).value();
  EXPECT_EQ(routes.engine, "chain");
  EXPECT_TRUE(routes.promises_deadlock_freedom);
  EXPECT_TRUE(net.judge(routes).must_ok());
  // In the island by the switches of its topology; into it and out of it as step 1 has it.
  EXPECT_EQ(net.next_hops(routes, "a-leaf0", "a-host"), Names{"a-spine0"});
  EXPECT_EQ(net.next_hops(routes, "a-leaf0", "b-host"), (Names{"a-spine0", "a-spine1"}));
  EXPECT_EQ(net.next_hops(routes, "b-leaf0", "b-host"), (Names{"b-spine0", "b-spine1"}));
  EXPECT_EQ(net.next_hops(routes, "core0", "a-host"), (Names{"a-spine0", "a-spine1"}));
}

TEST(Chain, OneStepIsItsEngine) {
  const ChainNet net(ring_of(6));
  Chain chain;
  chain.steps = {step(1, "dfsssp")};
  const auto routes = net.routes(chain).value();
  const auto alone = dfsssp(net.request({})).value();
  EXPECT_EQ(routes.lfts, alone.lfts);
  EXPECT_EQ(routes.virtual_lanes, alone.virtual_lanes);
  EXPECT_EQ(routes.vls_used, alone.vls_used);
}

TEST(Chain, APathBitIsOneLidOfEachPort) {
  const ChainNet net(two_islands(), 1);
  Chain chain = islands();
  chain.steps = {step(1, "minhop"), step(2, "minhop", 1)};
  const auto alone = minhop(net.request({})).value();
  for (const std::uint8_t bit : {std::uint8_t{0}, std::uint8_t{1}}) {
    chain.steps[1].path_bit = bit;
    const auto routes = net.routes(chain).value();
    EXPECT_TRUE(net.judge(routes).must_ok());
    EXPECT_EQ(net.next_hops(routes, "a-leaf0", "a-host", bit), Names{"a-spine0"});
    for (SwitchIndex s = 0; s < net.graph.switch_count(); ++s)
      for (const auto& d : net.graph.destinations()) {
        if (d.lid.value == net.fabric.port(d.end_port).lid.value + bit) continue;
        EXPECT_EQ(routes.lfts.at(s, d.lid), alone.lfts.at(s, d.lid));
      }
  }
}

TEST(Chain, AStepHasItsOwnOptions) {
  const ChainNet net(two_islands());
  Chain chain = islands();
  chain.steps = {step(1, "minhop"), step(2, "updn", 2)};
  Options options;
  options.roots.entries = {{net.graph.guid(net.at("b-leaf2")), 1, {}, {}}};
  chain.steps[1].options = std::make_shared<const Options>(options);
  const auto routes = net.routes(chain).value();
  // Of the part alone, with that root.
  const auto part = chain_part(net.fabric, net.graph, chain.groups, chain.topologies[1]);
  EXPECT_EQ(part.graph.switch_count(), 5U);
  const auto alone = updn({&part.fabric, &part.graph, options, nullptr, 8}).value();
  for (SwitchIndex s = 0; s < part.graph.switch_count(); ++s)
    for (const auto& d : part.graph.destinations())
      EXPECT_EQ(routes.lfts.at(part.whole[s], d.lid), alone.lfts.at(s, d.lid));
}

TEST(Chain, APartHasTheLinksOfWhichBothPortsAreInItAndItsHosts) {
  const ChainNet net(two_islands());
  Chain chain;
  // Ports of leaf 0 that lead to hosts are in no group of switches.
  const auto leaf = net.graph.guid(net.at("a-leaf0"));
  fabric::PortBits up_alone;
  up_alone.set(1);
  chain.groups =
      fabric::PortGroups({{"sw",
                           "",
                           {fabric::GuidRule{{{leaf, up_alone, 1}}},
                            fabric::ExpressionRule{Expression::of("^a-(spine|leaf1)"), {}}},
                           {}},
                          group("hosts", "^a-host(0|11)")});
  const auto part = chain_part(net.fabric, net.graph, chain.groups, {1, "sw", "hosts", 1});
  ASSERT_EQ(part.graph.switch_count(), 4U);
  Names hosts;
  for (const auto& d : part.graph.destinations())
    if (!d.is_switch()) hosts.push_back(part.fabric.node(d.end_port.node).description);
  EXPECT_THAT(hosts, ::testing::UnorderedElementsAre("a-host00", "a-host01", "a-host11"));
  for (SwitchIndex s = 0; s < part.whole.size(); ++s) {
    if (part.graph.guid(s) != leaf) continue;
    EXPECT_EQ(part.graph.arcs(s).size(), 1U);
  }
}

TEST(Chain, AFallbackTakesThePlaceOfAStepThatDoesNotFit) {
  const ChainNet net(two_islands());
  Chain chain = islands();
  chain.steps = {step(1, "minhop"), step(2, "torus-2QoS", 1), fallback(3, "ftree", 2, 1),
                 fallback(4, "updn", 1)};
  const auto routes = net.routes(chain).value();
  EXPECT_EQ(net.next_hops(routes, "a-leaf0", "a-host"), Names{"a-spine0"});
  EXPECT_THAT(routes.notes,
              Contains(StartsWith("chain: step 3 (ftree on topology 1) in place of step 2 "
                                  "(torus-2QoS on topology 1): ")));
  chain.steps.erase(chain.steps.begin() + 2);
  EXPECT_THAT(net.refusal(chain), StartsWith("step 2 (torus-2QoS on topology 1): "));
}

TEST(Chain, ATopologyWithoutSwitchesIsNamed) {
  const ChainNet net(two_islands());
  Chain chain = islands();
  chain.steps = {step(1, "minhop"), step(2, "updn", 3)};
  EXPECT_EQ(net.refusal(chain),
            "step 2 (updn on topology 3): topology 3 has no switch: none is in port group gone");
  EXPECT_EQ(net.refusal({}), "it has no steps: rch_policy_file names no file of them");
}

/// Two orders of switches on one ring: either closes no credit loop, both together do.
Chain two_orders(const ChainNet& net) {
  Chain chain;
  chain.groups = fabric::PortGroups({group("even", "^h[024]")});
  chain.topologies = {{1, "ALL_SWITCHES", "even", 1}};
  chain.steps = {step(1, "updn"), step(2, "updn", 1)};
  for (const unsigned i : {0U, 1U}) {
    Options options;
    options.roots.entries = {{net.graph.guid(net.at(i == 0 ? "r0" : "r3")), 1, {}, {}}};
    chain.steps[i].options = std::make_shared<const Options>(options);
  }
  return chain;
}

TEST(Chain, CreditLoopsOfStepsTogetherAreTakenApartByVlsOrNamed) {
  const ChainNet net(ring_of(6));
  const Chain chain = two_orders(net);
  const auto routes = net.routes(chain, 8).value();
  EXPECT_TRUE(net.judge(routes).must_ok());
  EXPECT_GT(routes.vls_used, 1);
  EXPECT_TRUE(routes.promises_deadlock_freedom);
  EXPECT_THAT(net.refusal(chain, 1), StartsWith("step 2 (updn on topology 1): with it, "));
  Chain allowed = chain;
  allowed.allow_credit_loops = true;
  const auto looping = net.routes(allowed, 1).value();
  EXPECT_FALSE(looping.promises_deadlock_freedom);
  Chain first = chain;
  first.steps = {step(1, "minhop")};
  EXPECT_THAT(net.refusal(first, 1), StartsWith("step 1 (minhop): with it, "));
}

TEST(Chain, AFallbackTakesThePlaceOfAStepThatClosesACreditLoop) {
  const ChainNet net(ring_of(6));
  Chain chain = two_orders(net);
  chain.steps.push_back(fallback(3, "updn", 2, 1));
  chain.steps.back().options = chain.steps.front().options;
  const auto routes = net.routes(chain, 1).value();
  EXPECT_TRUE(net.judge(routes).must_ok());
  EXPECT_THAT(routes.notes, Contains(StartsWith("chain: step 3 (updn on topology 1) in place of "
                                                "step 2 (updn on topology 1): with it, ")));
}

TEST(Chain, WhatIsRefusedHasTheUsualFallbacks) {
  const ChainNet net(ring_of(6));
  ChoiceOptions options;
  options.engines = {"chain", "dfsssp"};
  options.engine.chain = std::make_shared<const Chain>([&] {
    Chain chain = two_orders(net);
    chain.steps[1].engine = "file";  // and there are no tables
    return chain;
  }());
  options.vls_max = 8;
  const auto choice = choose_routes(net.fabric, net.graph, options, {});
  EXPECT_EQ(choice.routes.engine, "dfsssp");
  EXPECT_THAT(choice.alarms(),
              Contains(StartsWith("routing engine chain does not fit: step 2 (file on ")));
}

TEST(Chain, RoutesFollowALinkThatGoesAndComesBack) {
  ChainNet net(two_islands());
  Chain chain = islands();
  chain.steps = {step(1, "minhop"), step(2, "ftree", 1), step(3, "updn", 2)};
  const auto request = net.request(chain);
  const auto before = route::chain(request).value();
  Rerouter rerouter(*find_engine("chain"), request.options, 8);
  rerouter.adopt(net.fabric, net.graph, before);
  fabric::Fabric without = net.fabric;
  const auto leaf = net.graph.node_of(net.at("b-leaf0"));
  for (unsigned p = 1; p <= without.node(leaf).num_ports; ++p)
    if (const auto peer = without.port(leaf, p).peer;
        peer && without.node(peer.node).description == "b-spine0")
      without.disconnect({leaf, static_cast<std::uint8_t>(p)});
  const fabric::CompactGraph cut(without);
  ASSERT_TRUE(rerouter.update(without, cut));
  EXPECT_TRUE(tables::verify(without, cut, rerouter.routes().lfts).must_ok());
  ASSERT_TRUE(rerouter.update(net.fabric, net.graph));
  EXPECT_EQ(rerouter.routes().lfts, before.lfts);
}

}  // namespace
}  // namespace ib::route
