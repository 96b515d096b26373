// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibroutes: reading tables from a simulated fabric in virtual time, following them, and the
// program itself on files.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "libdiag/discover/sweep.h"
#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/report/plan_files.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/sim/host_port.h"
#include "tests/unit/tables/judge.h"
#include "tools/ibroutes/path.h"
#include "tools/ibroutes/shared_lids.h"
#include "tools/ibroutes/sl2vl_reader.h"
#include "tools/ibroutes/table_reader.h"

namespace ib::tools {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
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

// ---- the program, on files

struct Ran {
  std::string out;
  int status;
};
Ran run(const std::string& program, const std::string& arguments) {
  const std::string text = judge::output_of(std::string(IBKIT_BIN_DIR "/") + program + " " +
                                            arguments + " 2>&1; printf '\\nstatus %d' $?");
  const std::size_t at = text.rfind("\nstatus ");
  return {text.substr(0, at), std::stoi(text.substr(at + 8))};
}
Ran ibroutes(const std::string& arguments) { return run("ibroutes", arguments); }
const std::string kNet4 = IBKIT_SOURCE_DIR "/tests/golden/net4/";

TEST(Ibroutes, VerifiesFiles) {
  for (const std::string tables : {"dump_fts", "opensm-lfts.dump", "opensm.fdbs"}) {
    const Ran ran = ibroutes(std::string("verify --from ")
                                 .append(kNet4)
                                 .append("topology,")
                                 .append(kNet4)
                                 .append(tables));
    EXPECT_EQ(ran.status, 0) << ran.out;
    EXPECT_EQ(ran.out,
              "pairs: 22\nunreachable: 0\nloops: 0\ncredit-loop-channels: 0\nload-max: 4\n"
              "load-mean: 4.0\nverdict: routes are verified\n");
  }
}

TEST(Ibroutes, TwoFilesAreTwoNames) {
  for (const std::string from : {"topology", "topology,", ",tables"}) {
    const Ran ran = ibroutes("verify --from " + from);
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "ibroutes: --from: expected TOPOLOGY,TABLES, got '" + from + "'\n");
  }
}

/// Where no cable joins the pieces that is a note; where one does, tables that do not know it fail.
TEST(Ibroutes, AFabricInPiecesPassesWhenEachIsRightWithinItself) {
  const judge::Scratch scratch;
  const std::string topology = IBKIT_SOURCE_DIR "/tests/golden/documents/apart.topo";
  judge::write_file(scratch / "tables",
                    "Unicast lids [0x0-0x4] of switch Lid 1 guid 0x0000000000000020 (left):\n"
                    "0x0001 000 : \n0x0003 001 : \n2 valid lids dumped\n"
                    "Unicast lids [0x0-0x4] of switch Lid 2 guid 0x0000000000000030 (right):\n"
                    "0x0002 000 : \n0x0004 001 : \n2 valid lids dumped\n");
  const std::string tables = "," + (scratch / "tables").string();
  const Ran ran = ibroutes("verify --from " + topology + tables);
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out,
            "pairs: 4\npairs-disconnected: 4\nunreachable: 0\nloops: 0\ncredit-loop-channels: 0\n"
            "load-max: 0\nload-mean: 0.0\n"
            "note: the fabric is disconnected: no link joins its 2 subfabrics\n"
            "note: subfabric 1: 1 switch ('left' (0x0000000000000020)) and 1 host ('here HCA-1' "
            "(0x0000000000000010))\n"
            "note: subfabric 2: 1 switch ('right' (0x0000000000000030)) and 1 host ('there HCA-1' "
            "(0x0000000000000040))\n"
            "verdict: routes are verified\n");
  const auto json =
      nlohmann::json::parse(ibroutes("verify --json --from " + topology + tables).out);
  EXPECT_EQ(json["pairs_disconnected"], 4);
  EXPECT_EQ(json["subfabrics"][1]["switches"][0]["node_guid"], "0x0000000000000030");
  EXPECT_EQ(json["subfabrics"][1]["hosts"][0]["name"], "there HCA-1");

  std::string joined = judge::read_file(topology);
  for (const auto& [here, there] : {std::pair{"20", "30"}, {"30", "20"}}) {
    const std::string head = std::string("\"S-00000000000000") + here + "\"\t\t#";
    const std::size_t line = joined.find('\n', joined.find(head)) + 1;
    joined.insert(line, std::string("[2]\t\"S-00000000000000") + there + "\"[2]\t\t# 4xEDR\n");
  }
  judge::write_file(scratch / "joined", joined);
  const Ran both = ibroutes("verify --from " + (scratch / "joined").string() + tables);
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.out, AllOf(HasSubstr("pairs: 8\n"), HasSubstr("unreachable: 4\n"),
                              HasSubstr("has no entry"), Not(HasSubstr("disconnected"))));
}

TEST(Ibroutes, ALidOfTwoPortsFailsAndNamesBoth) {
  const judge::Scratch scratch;
  std::string text = judge::read_file(kNet4 + "topology");
  for (std::size_t at = 0; (at = text.find("lid 12", at)) != std::string::npos;)
    text.replace(at, 6, "lid 10");
  judge::write_file(scratch / "topology", text);
  const std::string from = " --from " + (scratch / "topology").string() + "," + kNet4 + "dump_fts";
  const Ran ran = ibroutes("verify" + from);
  EXPECT_EQ(ran.status, 1);
  for (const std::string lid : {"10", "11"})
    EXPECT_THAT(ran.out, HasSubstr("error: duplicate LID " + lid +
                                   ": assigned to 2 ports: 'host-3 HCA-1' (0x0000000000000120) "
                                   "port 1, 'host-4 HCA-1' (0x0000000000000130) port 1\n"));
  const auto json = nlohmann::json::parse(ibroutes("verify --json" + from).out);
  ASSERT_EQ(json["duplicate_lids"].size(), 2U);
  EXPECT_EQ(json["duplicate_lids"][1]["lid"], 11);
  EXPECT_EQ(json["duplicate_lids"][1]["ports"][1]["name"], "host-4 HCA-1");

  const Ran other = ibroutes("path 2 host-4" + from);
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.out,
              AllOf(HasSubstr("ibroutes: warning: duplicate LID 10: assigned to 2 ports: "),
                    HasSubstr("\nBROKEN: 'host-3 HCA-1' (0x0000000000000120) port 1 has "
                              "LID 10 too, and the path ends there, not at 'host-4")));
  EXPECT_EQ(ibroutes("path 2 host-3" + from).status, 0);
  EXPECT_EQ(ibroutes("path 2 11" + from).status, 0);
}

TEST(Ibroutes, ANodeHasItsOwnNameAndThatOfTheMap) {
  const judge::Scratch scratch;
  judge::write_file(scratch / "map", "0x220 \"NEW NAME\"\n0x130 \"far\"\n");
  const std::string from = " --from " + kNet4 + "topology," + kNet4 + "dump_fts --node-name-map " +
                           (scratch / "map").string();
  for (const char* name : {"'NEW NAME'", "spine"}) {
    const Ran table = ibroutes(fmt::format("-S {}{}", name, from));
    EXPECT_EQ(table.status, 0) << table.out;
    EXPECT_THAT(table.out, HasSubstr("(NEW NAME)"));
    const Ran path = ibroutes(fmt::format("path 2 {}{}", name, from));
    EXPECT_EQ(path.status, 0) << path.out;
    EXPECT_THAT(path.out, HasSubstr("\"NEW NAME\"\n"));
  }
  for (const char* name : {"far", "host-4", "'host-4 HCA-1'"})
    EXPECT_THAT(ibroutes(fmt::format("path {} 2{}", name, from)).out,
                StartsWith("From ca {0x0000000000000130}"));
  EXPECT_EQ(ibroutes("-S nobody" + from).status, 1);
  EXPECT_EQ(ibroutes("path 2 99" + from).status, 1);
  EXPECT_EQ(ibroutes("path 2 70000" + from).out,
            "ibroutes: expected a LID up to 0xbfff, got '70000'\n");
  // Of a plan, too: what is left out has either name.
  for (const char* name : {"'NEW NAME'", "spine"})
    for (const std::string& topology : {from, " --node-name-map " + (scratch / "map").string() +
                                                  " --load " + kNet4 + "topology"}) {
      const Ran plan = ibroutes(fmt::format("plan --without {}{}", name, topology));
      EXPECT_EQ(plan.status, 0) << plan.out;
      EXPECT_THAT(plan.out, HasSubstr("note: without the switch 'NEW NAME' ("));
    }
  const Ran near = ibroutes("path host-4x 2" + from);
  EXPECT_EQ(near.status, 1);
  EXPECT_THAT(near.out, HasSubstr("no node is named 'host-4x'; did you mean 'host-4' (LID "));
}

TEST(Ibroutes, JudgesLanesOfFiles) {
  const judge::Scratch scratch;
  const std::string from = "verify --from " + kNet4 + "topology," + kNet4 + "dump_fts";
  // The leaf and the spine by their GUIDs; SL 3 from the leaf's hosts, and VL 15 for it.
  const std::string rows = " 0 1 2 15 4 5 6 7 8 9 10 11 12 13 14 7\n";
  std::string sl2vl = "Switch 0x0000000000000210, base LID 1, \"leaf two\"\n";
  for (int in = 0; in <= 12; ++in)
    for (int out = 1; out <= 12; ++out)
      sl2vl += std::to_string(in) + " " + std::to_string(out) + " :" + rows;
  judge::write_file(scratch / "sl2vl", sl2vl);
  judge::write_file(scratch / "sls",
                    "Switch 0x0000000000000210, base LID 1, \"leaf two\"\n0x0001-0xbfff : 3\n");
  const std::string lanes =
      " --sl2vl " + (scratch / "sl2vl").string() + " --sls " + (scratch / "sls").string();
  const Ran ran = ibroutes(from + lanes);
  EXPECT_EQ(ran.status, 1) << ran.out;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("asymmetric-sls: 1\n"), HasSubstr("'leaf two'"),
                    HasSubstr("on VL 15"), HasSubstr("with SL 0, but those answer with SL 3")));
  const auto json = nlohmann::json::parse(ibroutes(from + lanes + " --json").out);
  EXPECT_GT(json["vl_errors"], 0);
  EXPECT_EQ(json["asymmetric_sls"], 1);

  judge::write_file(scratch / "sls", "Switch 0x1, base LID 1, \"?\"\n");
  const Ran bad = ibroutes(from + " --sls " + (scratch / "sls").string());
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.out, HasSubstr("sls:1:8: the topology has no port 0x0000000000000001"));
  EXPECT_EQ(ibroutes(from + " --sl2vl").status, 2);
}

TEST(Ibroutes, FiguresOnRequest) {
  const std::string from =
      "verify --figures --samples 20 --from " + kNet4 + "topology," + kNet4 + "dump_fts";
  const Ran ran = ibroutes(from);
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("hosts: 4\n"), HasSubstr("hops-mean: 2.000 (least 2.000)\n"),
                             HasSubstr("extra-hops-max: 0\n"), HasSubstr("average of 3\n"),
                             HasSubstr("average of 20\n")));
  const auto json = nlohmann::json::parse(ibroutes(from + " --json").out);
  EXPECT_EQ(json["figures"]["hosts"], 4);
  EXPECT_EQ(json["figures"]["permutations"]["patterns"], 20);
}

TEST(Ibroutes, JsonOfAVerdictHasItsFields) {
  const Ran ran = ibroutes("verify --json --from " + kNet4 + "topology," + kNet4 + "dump_fts");
  EXPECT_EQ(ran.status, 0);
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["schema"], "ibkit.ibroutes/2");
  EXPECT_EQ(json["what"], "verdict");
  EXPECT_EQ(json["complete"], true);
  EXPECT_TRUE(json["errors"].empty());
  EXPECT_EQ(json["pairs"], 22);
  EXPECT_EQ(json["load_max"], 4);
  EXPECT_TRUE(json["findings"].is_array());
}

TEST(Ibroutes, JsonOfTablesAndPaths) {
  const std::string from = " --json --from " + kNet4 + "topology," + kNet4 + "dump_fts";
  const auto tables = nlohmann::json::parse(ibroutes(from).out);
  EXPECT_EQ(tables["what"], "tables");
  ASSERT_EQ(tables["switches"].size(), 3U);
  EXPECT_EQ(tables["switches"][0]["node_guid"], "0x0000000000000210");
  EXPECT_EQ(tables["switches"][0]["lft"][2], 11);
  EXPECT_EQ(tables["switches"][0]["lft"][0], 255);
  EXPECT_EQ(tables["destinations"].size(), 7U);
  const auto path = nlohmann::json::parse(ibroutes("path 2 12" + from).out);
  EXPECT_EQ(path["what"], "path");
  EXPECT_EQ(path["arrives"], true);
  EXPECT_EQ(path["hops"].size(), 5U);
  EXPECT_EQ(path["hops"][1]["egress_port"], 12);
}

TEST(Ibroutes, JsonIsTheGoldenFile) {
  const std::string from = " --json --from " + kNet4 + "topology," + kNet4 + "dump_fts";
  for (const auto& [command, name] :
       {std::pair{"", "json-tables"}, {"verify", "json-verdict"}, {"path 2 12", "json-path"}}) {
    // The version grows with every release; it is not part of the format.
    std::string got = ibroutes(command + from).out;
    const std::size_t at = got.find("\"version\": \"") + 12;
    got.replace(at, got.find('"', at) - at, "V");
    EXPECT_EQ(got, judge::read_file(kNet4 + name)) << name;
  }
}

/// What seconds there are is nobody's promise.
std::string without_seconds(std::string text) {
  const std::string key = "\"seconds\": ";
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos;) {
    at += key.size();
    text.replace(at, text.find_first_of(",}", at) - at, "null");
  }
  return text;
}

/// The document with what differs from run to run replaced.
std::string steady(std::string text) {
  text = without_seconds(std::move(text));
  for (const auto& [key, value] :
       {std::pair<std::string, const char*>{"\"version\": \"", "V"}, {"\"topology\": \"", "T"}}) {
    const std::size_t at = text.find(key) + key.size();
    text.replace(at, text.find('"', at) - at, value);
  }
  return text;
}

TEST(Ibroutes, ComparesEnginesWithWhatIsProgrammed) {
  const std::string from = " --from " + kNet4 + "topology," + kNet4 + "dump_fts";
  const Ran text = ibroutes("plan --compare minhop,updn" + from);
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, ::testing::ContainsRegex("engine      result    unreachable .*\n"
                                                 "programmed  verified            0 .*  -\n"
                                                 "minhop      verified            0 .*\n"
                                                 "updn        verified            0 .*\n$"));
  EXPECT_EQ(steady(ibroutes("plan --compare minhop,updn --json" + from).out),
            judge::read_file(kNet4 + "json-comparison"));
  EXPECT_EQ(steady(ibroutes("compare minhop,updn --json" + from).out),
            judge::read_file(kNet4 + "json-comparison"));
  const Ran all = ibroutes("plan --compare" + from);
  for (const auto& engine : route::engines())
    EXPECT_EQ(all.out.find(std::string("\n") + engine.name + ' ') != std::string::npos,
              engine.given == nullptr)
        << engine.name;
  // What is programmed is judged as it is, engines by what would be left.
  const Ran less = ibroutes("plan --compare minhop --damage 10 --seed 2 --lmc 1" + from);
  EXPECT_EQ(less.status, 0);
  EXPECT_THAT(less.out, HasSubstr("\nnote: without "));
  EXPECT_THAT(less.out, HasSubstr("(10 per cent, seed 2)\n\nengine "));
  EXPECT_THAT(less.out, ::testing::ContainsRegex("programmed  verified            0 "));
  const Ran gone = ibroutes("plan --compare minhop --json --without nosuch" + from);
  EXPECT_EQ(gone.status, 1);
  EXPECT_THAT(gone.out, HasSubstr("nosuch"));
  EXPECT_EQ(ibroutes("plan --compare nonsense" + from).status, 2);
  EXPECT_EQ(ibroutes("plan --compare --root_guid_file /nonexistent" + from).status, 2);
}

/// What of the output is not the program's name, a time, or a table that ibsm alone plans.
std::string routes_alone(std::string text) {
  const std::pair<const char*, const char*> cuts[] = {
      {"ibroutes|ibsm", "PROGRAM"},
      {"(seconds: |\"seconds\": | +)[0-9]+\\.[0-9]+\n?", "$1"},
      {",\n  \"tables\": \\[[^\\]]*\\]", ""},
      {"table: [^\n]*\n", ""}};
  for (const auto& [what, by] : cuts) text = std::regex_replace(text, std::regex(what), by);
  return text;
}

/// One command: of a saved topology both programs print the same routes, whatever the options.
TEST(Ibroutes, PlansASavedTopologyAsIbsmDoes) {
  const std::string topology = kNet4 + "topology";
  for (const std::string options :
       {"-R minhop --figures", "--compare minhop,updn --vls 2", "-R updn -l 1 --json",
        "-R minhop,no_fallback --without 'leaf two:12' -X /dev/null", "-R nonsense",
        "--damage 10% --seed 3 -R minhop", "--load x"}) {
    const auto one = [&](const Ran& ran) {
      return std::to_string(ran.status) + ' ' + routes_alone(ran.out);
    };
    EXPECT_EQ(one(ibroutes("plan " + topology + ' ' + options)),
              one(run("ibsm", "plan " + topology + ' ' + options)))
        << options;
  }
}

TEST(Ibroutes, PlansRoutesAndSaysWhatWouldChange) {
  const judge::Scratch scratch;
  const std::string dir = (scratch / "dumps").string(), svg = (scratch / "loads.svg").string();
  const std::string from = " --from " + kNet4 + "topology," + kNet4 + "dump_fts";
  const Ran text = ibroutes("plan -R minhop,no_fallback --dump " + dir + " --svg " + svg + from);
  EXPECT_EQ(text.status, 0) << text.out;
  EXPECT_THAT(text.out, AllOf(StartsWith("topology: "), HasSubstr("\nengine: minhop\n"),
                              HasSubstr("\nverdict: routes are verified\n"),
                              ::testing::ContainsRegex("\nentries-to-change: [0-9]+\n"
                                                       "blocks-to-write: [0-9]+\n")));
  EXPECT_THAT(judge::read_file(svg),
              AllOf(HasSubstr("<svg"), HasSubstr("topology, routed by minhop")));
  // What was dumped is what would be programmed, and nothing is left to change then.
  const std::string dumped = " --from " + dir + "/fabric.topo," + dir + "/dump_fts.txt";
  EXPECT_THAT(ibroutes("plan -R minhop" + dumped).out,
              HasSubstr("\nentries-to-change: 0\nblocks-to-write: 0\n"));
  EXPECT_EQ(ibroutes("verify" + dumped).status, 0);
  EXPECT_EQ(steady(ibroutes("plan -R minhop --figures --json" + from).out),
            judge::read_file(kNet4 + "json-plan"));
  // As it would be: other LIDs or fewer links are no change to what is programmed.
  const Ran less = ibroutes("plan --damage 10% --seed 2 --lmc 1" + from);
  EXPECT_EQ(less.status, 0);
  EXPECT_THAT(less.out, AllOf(HasSubstr("note: without "), ::testing::Not(HasSubstr("-to-write"))));
  for (const char* wrong :
       {"plan -R nonsense", "plan minhop", "plan --without 'host-3 HCA-1'", "plan --damage 5x",
        "plan --svg -", "plan --dump ''", "plan --root_guid_file /nonexistent"})
    EXPECT_EQ(ibroutes(wrong + from).status, 2) << wrong;
  EXPECT_EQ(ibroutes("plan --svg /nonexistent/x.svg" + from).status, 4);
}

/// Credit loops are refused unless they are allowed.
TEST(Ibroutes, PlansThatCanDeadlockAreRefused) {
  const judge::Scratch scratch;
  const std::string dir = (scratch / "ring").string();
  const auto ring =
      fabric::read_topology_file(IBKIT_SOURCE_DIR "/tests/golden/documents/ring.topo");
  ASSERT_TRUE(ring.has_value());
  ASSERT_TRUE(report::write_dumps(dir, route::plan_routes(*ring).value()).has_value());
  const std::string from = " --from " + dir + "/fabric.topo," + dir + "/dump_fts.txt";
  const Ran refused = ibroutes("plan -R minhop,no_fallback --vls 1" + from);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.out,
              AllOf(HasSubstr("\nverdict: routes can deadlock ("), HasSubstr("credit loop")));
  const Ran allowed = ibroutes("plan -R minhop,no_fallback --vls 1 --allow-credit-loops" + from);
  EXPECT_EQ(allowed.status, 0);
  EXPECT_THAT(allowed.out, HasSubstr("\nverdict: routes can deadlock ("));
  EXPECT_THAT(ibroutes("plan -R minhop --vls 1" + from).out,
              HasSubstr("\nverdict: routes are verified\n"));
}

TEST(Ibroutes, StatusesSayWhatHappened) {
  EXPECT_EQ(ibroutes("--help").status, 0);
  EXPECT_EQ(ibroutes("verify --help").status, 0);
  EXPECT_EQ(ibroutes("--no-such-option").status, 2);
  EXPECT_EQ(ibroutes("verify --from nothing").status, 2);
  EXPECT_EQ(ibroutes("verify --from " + kNet4 + "topology,/does/not/exist").status, 2);
  EXPECT_THAT(ibroutes("--json verify").out,
              HasSubstr("expected the verb 'verify' before the options"));
  EXPECT_EQ(ibroutes("--json verify").status, 2);
  EXPECT_EQ(ibroutes("5 3 --from " + kNet4 + "topology," + kNet4 + "dump_fts").status, 2);
  const Ran bad = ibroutes("verify --from " + kNet4 + "topology," + kNet4 + "topology");
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.out, HasSubstr("topology:6:1: expected the header or a row"));

  // One switch's table is missing: incomplete, whatever the rest says.
  const judge::Scratch scratch;
  const std::string dump = judge::read_file(kNet4 + "dump_fts");
  judge::write_file(scratch / "part", dump.substr(0, dump.find("Unicast", 10)));
  const std::string part = kNet4 + "topology," + (scratch / "part").string();
  const Ran missing = ibroutes("verify --from " + part);
  EXPECT_EQ(missing.status, 3) << missing.out;
  EXPECT_THAT(
      missing.out,
      AllOf(HasSubstr("no table of 'leaf one' (0x0000000000000200) and 1 more\n"),
            HasSubstr("\nverdict: incomplete (some of the fabric or its tables is unknown)")));

  // A topology that ends in the middle, for every verb, and for ibsm.
  const std::string topology = judge::read_file(kNet4 + "topology");
  judge::write_file(scratch / "cut", topology.substr(0, topology.find("\nCa")));
  const std::string cut = (scratch / "cut").string();
  for (const Ran& ran : {ibroutes("verify --from " + cut + ',' + kNet4 + "dump_fts"),
                         ibroutes("plan --from " + cut + ',' + kNet4 + "dump_fts"),
                         ibroutes("plan " + cut), run("ibsm", "plan " + cut)}) {
    EXPECT_EQ(ran.status, 3) << ran.out;
    EXPECT_THAT(ran.out,
                AllOf(HasSubstr("the file does not describe"),
                      HasSubstr("\nverdict: incomplete (the topology file ends in the middle): ")));
  }
  const auto document = nlohmann::json::parse(run("ibsm", "plan --json 2>/dev/null " + cut).out);
  EXPECT_EQ(document["complete"], false);
  EXPECT_THAT(document["errors"], SizeIs(1));

  // Where no port has a LID nothing can be followed, and that is no clean bill.
  std::string bare = judge::read_file(kNet4 + "topology");
  for (std::size_t at = 0; (at = bare.find(" lid ", at)) != std::string::npos;) {
    at += 5;
    bare.replace(at, bare.find_first_not_of("0123456789", at) - at, "0");
  }
  judge::write_file(scratch / "bare", bare);
  const Ran nothing =
      ibroutes("verify --from " + (scratch / "bare").string() + "," + kNet4 + "dump_fts");
  EXPECT_EQ(nothing.status, 1) << nothing.out;
  EXPECT_THAT(nothing.out, AllOf(HasSubstr("pairs: 0\n"),
                                 HasSubstr("verdict: nothing to verify: no port has a LID\n")));

  // A wrong entry is a finding.
  std::string wrong = dump;
  wrong.replace(wrong.find("0x0002 001"), 10, "0x0002 009");
  judge::write_file(scratch / "wrong", wrong);
  const std::string files = kNet4 + "topology," + (scratch / "wrong").string();
  const Ran found = ibroutes("verify --from " + files);
  EXPECT_EQ(found.status, 1);
  EXPECT_THAT(found.out, AllOf(HasSubstr("unreachable: 1\n"), HasSubstr("error: LID 2 ('host-1")));
  const Ran path = ibroutes("path 12 2 --from " + files);
  EXPECT_EQ(path.status, 1);
  EXPECT_THAT(path.out, HasSubstr("BROKEN: "));
}

TEST(Ibroutes, WritesOpensmsFiles) {
  const judge::Scratch scratch;
  const std::string dir = (scratch / "dump").string();
  const Ran ran = ibroutes("dump --format opensm " + dir + " --from " + kNet4 + "topology," +
                           kNet4 + "dump_fts");
  EXPECT_EQ(ran.status, 0) << ran.out;
  for (const char* name : {"opensm-lfts.dump", "opensm.fdbs"})
    EXPECT_EQ(judge::read_file(dir + "/" + name), judge::read_file(kNet4 + name)) << name;
  EXPECT_EQ(judge::read_file(dir + "/opensm.mcfdbs"), "");
  EXPECT_THAT(judge::read_file(dir + "/opensm-subnet.lst"), StartsWith("{ CA Ports:01 "));
}

}  // namespace
}  // namespace ib::tools
