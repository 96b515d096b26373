// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibroutes: tables read from a simulated fabric in virtual time, and followed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "libdiag/discover/sweep.h"
#include "libdiag/fabric/generate.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/sim/host_port.h"
#include "tools/ibroutes/path.h"
#include "tools/ibroutes/shared_lids.h"
#include "tools/ibroutes/sl2vl_reader.h"
#include "tools/ibroutes/table_reader.h"

namespace ib::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// A fabric whose switches were programmed with minhop's tables and one multicast group.
struct Programmed {
  route::Plan plan;
  sim::World world;
  std::unique_ptr<sim::HostPort> port;
  mad::Session session;
  discover::Observed observed;

  static sim::ModelOptions keep_lids() {
    sim::ModelOptions options;
    options.keep_lids = true;
    return options;
  }
  fabric::PortRef first_host() const {
    for (fabric::NodeIndex n = 0;; ++n)
      if (!plan.fabric.node(n).is_switch()) return {n, 1};
  }

  explicit Programmed(fabric::Fabric fabric, std::uint16_t top = 0)
      : plan(route::plan_routes(std::move(fabric)).value()),
        world(plan.fabric, keep_lids()),
        port(world.open(first_host())),
        session(*port, {}, world.clock()) {
    sweep();
    for (fabric::NodeIndex n = 0; n < observed.nodes.size(); ++n)
      if (observed.fabric.node(n).is_switch()) program(n, top);
    sweep();  // LinearFDBTop again
  }

  void sweep() {
    discover::Sweep machine;
    ASSERT_TRUE(session.run(machine).has_value());
    observed = machine.take_observed();
    ASSERT_THAT(observed.troubles, IsEmpty());
  }

  void set(fabric::NodeIndex n, std::uint16_t attribute, std::uint32_t modifier,
           const auto& value) {
    auto request =
        mad::smp_request(0, 1, observed.nodes[n].route, wire::Method::Set, attribute, modifier);
    wire::set_body(request.mad, value);
    const auto reply = session.call(std::move(request));
    ASSERT_TRUE(reply.has_value()) << reply.error().message;
    ASSERT_EQ(reply->mad.status(), 0);
  }

  void program(fabric::NodeIndex n, std::uint16_t top) {
    const auto s = plan.graph.switch_of(*plan.fabric.find_node(observed.fabric.node(n).guid));
    auto info = *observed.nodes[n].switch_info;
    info.linear_fdb_top = top != 0 ? top : plan.graph.max_lid().value;
    set(n, wire::attr::kSwitchInfo, 0, info);
    const auto row = plan.routes.lfts.row(s);
    for (std::uint32_t block = 0; block <= info.linear_fdb_top / 64U; ++block) {
      wire::LinearForwardingTable lft;
      for (std::size_t i = 0; i < 64; ++i) {
        const std::size_t lid = std::size_t{block} * 64 + i;
        lft.port[i] = lid < row.size() ? row[lid] : tables::kNoPort;
      }
      if (block == info.linear_fdb_top / 64U) lft.port[info.linear_fdb_top % 64U] = 1;
      if (top == 0 && block == plan.graph.max_lid().value / 64U)
        lft.port[plan.graph.max_lid().value % 64U] = row[plan.graph.max_lid().value];
      set(n, wire::attr::kLinearForwarding, block, lft);
    }
    wire::MulticastForwardingTable mft;
    mft.port_mask[3] = 0x0006;
    set(n, wire::attr::kMulticastForwarding, 0, mft);
  }
};

fabric::Fabric small_tree() {
  fabric::FatTree kind;
  kind.radix = 8;
  return fabric::generate(kind).value();
}

TEST(TableReader, ReadsWhatIsProgrammed) {
  Programmed net(small_tree());
  TableReaderOptions options;
  options.multicast = true;
  TableReader reader(net.observed, options);
  ASSERT_TRUE(net.session.run(reader).has_value());
  EXPECT_THAT(reader.errors(), IsEmpty());
  const auto tables = reader.take_tables();
  ASSERT_THAT(tables, SizeIs(12));
  EXPECT_EQ(tables::linear_tables(net.plan.graph, tables), net.plan.routes.lfts);
  for (const auto& table : tables) {
    ASSERT_THAT(table.mft, SizeIs(1));
    EXPECT_EQ(table.mft.begin()->first, Lid{0xC003});
    EXPECT_TRUE(table.mft.begin()->second.test(1) && table.mft.begin()->second.test(2));
    EXPECT_THAT(table.address, StartsWith("DR path slid 0; dlid 0; 0,1"));
  }
}

TEST(Sl2VlReader, ReadsWhatSwitchesAndCasMap) {
  Programmed net(small_tree());
  wire::SlToVlTable row;
  for (std::size_t sl = 0; sl < 16; ++sl) row.vl[sl] = static_cast<std::uint8_t>(sl % 4);
  wire::SlToVlTable drops = row;
  drops.vl[2] = 15;
  const fabric::CompactGraph graph(net.observed.fabric);
  const auto& arc = graph.arcs(0)[0];
  for (fabric::NodeIndex n = 0; n < net.observed.nodes.size(); ++n) {
    const auto ports = net.observed.fabric.node(n).num_ports;
    if (!net.observed.fabric.node(n).is_switch()) {
      net.set(n, wire::attr::kSlToVl, 0, row);
      continue;
    }
    for (std::uint32_t in = 0; in <= ports; ++in)
      for (std::uint32_t out = 1; out <= ports; ++out)
        net.set(n, wire::attr::kSlToVl, in << 8 | out, row);
  }
  net.set(graph.node_of(0), wire::attr::kSlToVl, graph.arcs(0)[1].out_port * 256U + arc.out_port,
          drops);
  Sl2VlReader reader(net.observed, 0);
  ASSERT_TRUE(net.session.run(reader).has_value());
  const auto tables = reader.tables(graph);
  EXPECT_THAT(reader.errors(), IsEmpty());
  EXPECT_EQ(tables.injection().vl, row.vl);
  EXPECT_EQ(tables.row(0, graph.arcs(0)[1].out_port, arc.out_port).vl, drops.vl);
  EXPECT_EQ(tables.row(0, 0, arc.out_port).vl, row.vl);
  EXPECT_EQ(tables.row(1, 1, graph.arcs(1)[0].out_port).vl, row.vl);

  // A CA of its own mind is named.
  for (fabric::NodeIndex n = 0; n < net.observed.nodes.size(); ++n)
    if (!net.observed.fabric.node(n).is_switch()) {
      net.set(n, wire::attr::kSlToVl, 0, drops);
      break;
    }
  Sl2VlReader again(net.observed, 0);
  ASSERT_TRUE(net.session.run(again).has_value());
  again.tables(graph);
  ASSERT_FALSE(again.errors().empty());
  EXPECT_THAT(again.errors()[0], HasSubstr("maps SLs to VLs otherwise"));
}

TEST(TableReader, ReadsATopThatIsAMultipleOf64) {
  Programmed net(small_tree(), 128);
  TableReader reader(net.observed, {});
  ASSERT_TRUE(net.session.run(reader).has_value());
  EXPECT_EQ(reader.blocks(), 12U * 3);
  for (const auto& table : reader.take_tables()) {
    ASSERT_THAT(table.lft, SizeIs(129));
    EXPECT_EQ(table.lft[128], 1);
  }
}

TEST(TableReader, ReadsOnlyTheBlocksThatAreAskedFor) {
  Programmed net(small_tree(), 200);
  TableReaderOptions options;
  options.first = options.last = Lid{70};
  TableReader reader(net.observed, options);
  EXPECT_EQ(reader.blocks(), 12U);
  options.only = 1;
  TableReader one(net.observed, options);
  EXPECT_EQ(one.blocks(), net.observed.fabric.node(1).is_switch() ? 1U : 0U);
}

TEST(TableReader, ABlockThatIsNotAnsweredIsNamedAndLeavesNothingStale) {
  Programmed net(small_tree());
  fabric::NodeIndex silent = 0;  // the last switch of the sweep: nobody is behind it alone
  for (fabric::NodeIndex n = 0; n < net.observed.nodes.size(); ++n)
    if (net.observed.fabric.node(n).is_switch()) silent = n;
  const Guid guid = net.observed.fabric.node(silent).guid;
  net.world.model().set_behaviour(*net.plan.fabric.find_node(guid), sim::Behaviour::Silent);
  TableReader reader(net.observed, {});
  ASSERT_TRUE(net.session.run(reader).has_value());
  ASSERT_THAT(reader.errors(), SizeIs(1));
  EXPECT_THAT(reader.errors()[0], AllOf(HasSubstr("LFT block 0 of "), HasSubstr(to_string(guid)),
                                        HasSubstr("is not read")));
  std::size_t whole = 0;
  for (const auto& table : reader.take_tables()) {
    const bool empty = std::all_of(table.lft.begin(), table.lft.end(),
                                   [](auto port) { return port == tables::kNoPort; });
    EXPECT_EQ(empty, table.guid == guid);
    whole += !empty;
  }
  EXPECT_EQ(whole, 11U);
}

TEST(Path, FollowsTheTablesAndSaysWhereTheyBreak) {
  const auto plan = route::plan_routes(small_tree()).value();
  auto tables = tables::switch_tables(plan.fabric, plan.graph, plan.routes.lfts);
  std::vector<fabric::Destination> hosts;
  for (const auto& d : plan.graph.destinations())
    if (!d.is_switch()) hosts.push_back(d);
  const auto from = hosts.front().end_port;
  const auto& to = hosts.back();
  const auto good = follow(plan.fabric, tables, from, to.lid);
  EXPECT_TRUE(good.arrives()) << good.failure;
  EXPECT_THAT(good.steps, SizeIs(5));  // host, leaf, spine, leaf, host
  EXPECT_THAT(path_text(plan.fabric, good), AllOf(StartsWith("From ca {0x"), HasSubstr("\nTo ca")));

  const auto itself = follow(plan.fabric, tables, from, plan.fabric.port(from).lid);
  EXPECT_TRUE(itself.arrives());
  EXPECT_THAT(itself.steps, SizeIs(1));

  tables[to.leaf].lft[to.lid.value] = tables::kNoPort;
  const auto gap = follow(plan.fabric, tables, from, to.lid);
  EXPECT_THAT(gap.failure, HasSubstr("has no entry for LID"));
  EXPECT_THAT(gap.steps, SizeIs(4));  // every hop up to the failure
  // The last leaf sends it back up: the walk must notice.
  for (const auto& arc : plan.graph.arcs(to.leaf))
    if (plan.graph.node_of(arc.to) == gap.steps[2].node)
      tables[to.leaf].lft[to.lid.value] = arc.out_port;
  EXPECT_THAT(follow(plan.fabric, tables, from, to.lid).failure, StartsWith("loop: "));
  const auto nobody = follow(plan.fabric, tables, from, Lid{9999});
  EXPECT_THAT(nobody.failure, HasSubstr("has no entry for LID 9999"));
  EXPECT_THAT(nobody.steps, SizeIs(2));
}

TEST(Path, EndsAtThePortThatIsAskedForAndAtNoOtherWithItsLid) {
  auto plan = route::plan_routes(small_tree()).value();
  const auto tables = tables::switch_tables(plan.fabric, plan.graph, plan.routes.lfts);
  std::vector<fabric::PortRef> hosts;
  for (const auto& d : plan.graph.destinations())
    if (!d.is_switch()) hosts.push_back(d.end_port);
  const auto here = hosts[0], right = hosts[5], twin = hosts[6];
  const Lid shared = plan.fabric.port(right).lid;
  plan.fabric.port(twin).lid = shared;
  plan.fabric.reindex();

  EXPECT_TRUE(follow(plan.fabric, tables, here, shared, right).arrives());
  EXPECT_TRUE(follow(plan.fabric, tables, here, shared).arrives()) << "one of those that have it";
  const auto wrong = follow(plan.fabric, tables, here, shared, twin);
  EXPECT_THAT(wrong.failure, AllOf(HasSubstr(to_string(plan.fabric.node(right.node).guid)),
                                   HasSubstr(" too, and the path ends there, not at "),
                                   HasSubstr(to_string(plan.fabric.node(twin.node).guid))));
  EXPECT_THAT(path_text(plan.fabric, wrong), HasSubstr("\nBROKEN: "));
  // Its own LID does not lead a port to another.
  EXPECT_FALSE(follow(plan.fabric, tables, right, shared, twin).arrives());

  const auto all = shared_lids(plan.fabric);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].lid, shared);
  EXPECT_THAT(all[0].ports, ::testing::UnorderedElementsAre(right, twin));
}

}  // namespace
}  // namespace ib::tools
