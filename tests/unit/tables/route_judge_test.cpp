// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// verify() against tests/tools/route_judge.py, which reads our dumps and shares no code with us; on
// routes as engines make them, and with a fault planted.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/route/engine.h"
#include "libdiag/tables/dump.h"
#include "libdiag/tables/sl2vl_dump.h"
#include "libdiag/tables/verify.h"
#include "tests/unit/tables/cut.h"
#include "tests/unit/tables/judge.h"

namespace ib::tables {
namespace {

using fabric::SwitchIndex;

struct Case {
  fabric::Fabric fabric;
  fabric::CompactGraph graph;
  route::Routes routes;

  Case(Result<fabric::Fabric> made, const char* engine)
      : fabric(std::move(made.value())), graph(fabric) {
    auto computed = route::find_engine(engine)->compute({&fabric, &graph, {}, nullptr, 8});
    EXPECT_TRUE(computed.has_value()) << engine << ": " << computed.error().message;
    if (computed) routes = std::move(*computed);
  }

  Verdict verdict() const {
    VerifyOptions options;
    options.credit_loops_are_must = routes.promises_deadlock_freedom;
    options.loads = false;
    return verify(fabric, graph, routes.lfts, routes.virtual_lanes, {}, options);
  }

  nlohmann::json judged() const {
    const judge::Scratch scratch;
    std::ostringstream topology;
    fabric::write_topology(topology, fabric);
    judge::write_file(scratch / "topology", topology.str());
    std::string lfts, sls, sl2vl;
    const DestinationNames names(fabric);
    for (const auto& one : switch_tables(fabric, graph, routes.lfts))
      append_dump_fts_lft(lfts, one, names);
    append_path_sls(sls, fabric, graph, routes.virtual_lanes.sls);
    append_sl2vl(sl2vl, fabric, graph, routes.virtual_lanes.sl_to_vl);
    judge::write_file(scratch / "lfts", lfts);
    judge::write_file(scratch / "sls", sls);
    judge::write_file(scratch / "sl2vl", sl2vl);
    const std::string text = judge::output_of(
        "/usr/bin/python3 '" IBKIT_SOURCE_DIR "/tests/tools/route_judge.py' '" +
        (scratch / "topology").string() + "' '" + (scratch / "lfts").string() + "' --json --sls '" +
        (scratch / "sls").string() + "' --sl2vl '" + (scratch / "sl2vl").string() + "'");
    auto json = nlohmann::json::parse(text, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << text;
    return json;
  }

  /// Equal in everything both know; returns whether something was found.
  bool expect_agreement(const std::string& what) const {
    const Verdict mine = verdict();
    const auto theirs = judged();
    if (theirs.is_discarded()) return false;
    EXPECT_EQ(mine.pairs, theirs["pairs"]) << what;
    EXPECT_EQ(mine.pairs_apart, theirs["apart"]) << what;
    EXPECT_EQ(mine.unreachable, theirs["unreachable"]) << what;
    EXPECT_EQ(mine.loops, theirs["loops"]) << what;
    EXPECT_EQ(mine.credit_loop_channels, theirs["credit_loops"]) << what;
    EXPECT_EQ(mine.asymmetric_pairs, theirs["asymmetric"]) << what;
    EXPECT_EQ(mine.vl_faults, theirs["dropped"]) << what;
    return !mine.must_ok();
  }

  /// The VLs with a row of its own at every place.
  void spell_out_rows() {
    SlToVl rows(graph, routes.virtual_lanes.sl_to_vl.injection());
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (unsigned in = 0; in <= graph.num_ports(s); ++in)
        for (unsigned out = 1; out <= graph.num_ports(s); ++out)
          rows.set(s, static_cast<std::uint8_t>(in), static_cast<std::uint8_t>(out),
                   routes.virtual_lanes.sl_to_vl.row(s, static_cast<std::uint8_t>(in),
                                                     static_cast<std::uint8_t>(out)));
    routes.virtual_lanes.sl_to_vl = rows;
  }
};

Case torus(const char* engine) {
  return {fabric::generate(fabric::Grid{{4, 3}, true, 2, 1}), engine};
}
Case tree() {
  fabric::FatTree kind;
  kind.radix = 6;
  kind.levels = 3;
  return {fabric::generate(kind), "minhop"};
}

TEST(RouteJudge, AgreesOnWhatEnginesMake) {
  for (const char* engine : {"minhop", "updn", "dor", "lash", "dfsssp", "torus-2QoS"})
    torus(engine).expect_agreement(std::string("torus, ") + engine);
  tree().expect_agreement("tree");
  Case(fabric::generate(fabric::DragonflyPlus{3, 2, 2, 2, 2}), "dfsssp")
      .expect_agreement("dragonfly+");
  Case(fabric::generate(fabric::RandomGraph{10, 20, 2}), "lash").expect_agreement("random");
}

TEST(RouteJudge, BothPassAFabricInPiecesAndFindAFaultWithinOne) {
  // A torus cut twice across all its rings.
  auto rings = fabric::generate(fabric::Grid{{6, 3}, true, 2, 1}).value();
  cut(rings, [](fabric::NodeIndex a, fabric::NodeIndex b) { return a / 9 != b / 9; });
  for (const char* engine : {"minhop", "updn", "lash", "dfsssp", "nue"}) {
    Case c(Result<fabric::Fabric>(rings), engine);
    EXPECT_FALSE(c.expect_agreement(engine)) << engine;
    EXPECT_EQ(c.verdict().pairs, 2 * 9U * (9 + 18));
    EXPECT_EQ(c.verdict().pairs_apart, c.verdict().pairs);
    // One entry within a piece; then one that leads in a circle to a LID of the other.
    const auto& d = c.graph.destinations();
    const auto near =
        std::find_if(d.begin(), d.end(), [](const auto& x) { return !x.is_switch(); });
    const SwitchIndex other = c.graph.arcs(near->leaf)[0].to;
    Case wrong = c;
    wrong.routes.lfts.set(other, near->lid, kNoPort);
    EXPECT_TRUE(wrong.expect_agreement(std::string(engine) + ", an entry less")) << engine;
    const auto far = std::find_if(d.begin(), d.end(), [&](const auto& x) {
      return !x.is_switch() && pieces_of(c.graph).of[x.leaf] != pieces_of(c.graph).of[near->leaf];
    });
    c.routes.lfts.set(near->leaf, far->lid, c.graph.arcs(near->leaf)[0].out_port);
    EXPECT_FALSE(c.expect_agreement(std::string(engine) + ", a stale entry")) << engine;
    c.routes.lfts.set(other, far->lid, c.graph.arcs(near->leaf)[0].in_port);
    EXPECT_TRUE(c.expect_agreement(std::string(engine) + ", a circle")) << engine;
    EXPECT_EQ(c.verdict().loops, 2U);
    EXPECT_EQ(c.verdict().unreachable, 0U);
  }
}

TEST(RouteJudge, BothFindAWrongEntry) {
  Case c = tree();
  ASSERT_FALSE(c.expect_agreement("whole"));
  const auto& d = c.graph.destinations();
  const auto last =
      std::find_if(d.rbegin(), d.rend(), [](const auto& x) { return !x.is_switch(); });
  const auto first = std::find_if(d.begin(), d.end(), [](const auto& x) { return !x.is_switch(); });
  c.routes.lfts.set(first->leaf, last->lid, first->port);
  EXPECT_TRUE(c.expect_agreement("a leaf delivers another leaf's LID"));
}

TEST(RouteJudge, BothFindAWrongRow) {
  Case c = torus("dfsssp");
  ASSERT_FALSE(c.expect_agreement("whole"));
  c.spell_out_rows();
  ASSERT_FALSE(c.expect_agreement("spelt out"));
  // One row, from a host to the first link of some path.
  const auto& d = c.graph.destinations();
  const auto host = std::find_if(d.begin(), d.end(), [](const auto& x) { return !x.is_switch(); });
  const auto other = std::find_if(
      d.rbegin(), d.rend(), [&](const auto& x) { return !x.is_switch() && x.leaf != host->leaf; });
  SlToVlRow row = c.routes.virtual_lanes.sl_to_vl.injection();
  row.vl[c.routes.virtual_lanes.sls.at(host->leaf, other->leaf).value] = 15;
  c.routes.virtual_lanes.sl_to_vl.set(host->leaf, host->port,
                                      c.routes.lfts.at(host->leaf, other->lid), row);
  EXPECT_TRUE(c.expect_agreement("a row that drops"));

  // Every row to VL 0: the layers fall together.
  Case flat(fabric::generate(fabric::Grid{{6}, true, 2, 1}), "dfsssp");
  ASSERT_FALSE(flat.expect_agreement("ring"));
  flat.routes.virtual_lanes.sl_to_vl = SlToVl(SlToVlRow{});
  EXPECT_TRUE(flat.expect_agreement("one VL for all"));
}

TEST(RouteJudge, BothFindASwappedPort) {
  Case c = tree();
  // Two hosts of different leaves change places; nobody tells the tables.
  std::vector<fabric::PortRef> hosts;
  for (const auto& d : c.graph.destinations())
    if (!d.is_switch()) hosts.push_back(d.end_port);
  const auto a = hosts.front(), b = hosts.back();
  const auto at_a = c.fabric.port(a).peer, at_b = c.fabric.port(b).peer;
  const auto width = c.fabric.port(a).width;
  const auto speed = c.fabric.port(a).speed;
  c.fabric.disconnect(a);
  c.fabric.disconnect(b);
  c.fabric.connect(a, at_b, width, speed);
  c.fabric.connect(b, at_a, width, speed);
  c.graph = fabric::CompactGraph(c.fabric);
  EXPECT_TRUE(c.expect_agreement("swapped"));
}

TEST(RouteJudge, BothFindAnAsymmetricSl) {
  Case c = torus("dfsssp");
  const Sl was = c.routes.virtual_lanes.sls.at(0, 5);
  PathSls sls(c.graph.switch_count(), Sl{0});
  for (SwitchIndex a = 0; a < c.graph.switch_count(); ++a)
    for (SwitchIndex b = 0; b < c.graph.switch_count(); ++b)
      sls.set_one_way(a, b, c.routes.virtual_lanes.sls.at(a, b));
  sls.set_one_way(0, 5, Sl{static_cast<std::uint8_t>(was.value == 0 ? 1 : 0)});
  c.routes.virtual_lanes.sls = sls;
  EXPECT_TRUE(c.expect_agreement("asymmetric"));
  EXPECT_EQ(c.verdict().asymmetric_pairs, 1U);
}

TEST(RouteJudge, LanesComeBackFromTheirDumps) {
  for (const char* engine : {"dfsssp", "torus-2QoS"}) {
    const Case c = torus(engine);
    std::string sls, sl2vl;
    append_path_sls(sls, c.fabric, c.graph, c.routes.virtual_lanes.sls);
    append_sl2vl(sl2vl, c.fabric, c.graph, c.routes.virtual_lanes.sl_to_vl);
    const auto read_back = read_path_sls(sls, "sls", c.fabric, c.graph);
    ASSERT_TRUE(read_back.has_value()) << read_back.error().message;
    const auto tables = read_sl2vl(sl2vl, "sl2vl", c.fabric, c.graph);
    ASSERT_TRUE(tables.has_value()) << tables.error().message;
    std::string again, tables_again;
    append_path_sls(again, c.fabric, c.graph, *read_back);
    append_sl2vl(tables_again, c.fabric, c.graph, *tables);
    EXPECT_EQ(sls, again);
    EXPECT_EQ(sl2vl, tables_again);
  }
}

/// Packets to a switch without hosts have an SL as well, which a reader of the file gets.
TEST(RouteJudge, PathSlsToSwitchesWithoutHostsComeBack) {
  const Case c(fabric::generate(fabric::DragonflyPlus{}), "dfp");
  PathSls sls(c.graph.switch_count(), Sl{0});
  std::size_t without_hosts = 0;
  for (SwitchIndex a = 0; a < c.graph.switch_count(); ++a)
    for (SwitchIndex b = 0; b < a; ++b) sls.set(a, b, Sl{static_cast<std::uint8_t>((a + b) % 3)});
  std::string text;
  append_path_sls(text, c.fabric, c.graph, sls);
  const auto read = read_path_sls(text, "sls", c.fabric, c.graph).value();
  for (SwitchIndex a = 0; a < c.graph.switch_count(); ++a)
    for (SwitchIndex b = 0; c.graph.end_ports()[a] != 0 && b < c.graph.switch_count(); ++b) {
      EXPECT_EQ(read.at(a, b), sls.at(a, b));
      without_hosts += c.graph.end_ports()[b] == 0;
    }
  EXPECT_GT(without_hosts, 0U);
}

TEST(RouteJudge, BadLanesAreRefusedByLineAndColumn) {
  const Case c = torus("minhop");
  std::string sl2vl;
  append_sl2vl(sl2vl, c.fabric, c.graph, SlToVl(SlToVlRow{}));
  const auto says = [&](const std::string& text) {
    const auto read = read_sl2vl(text, "f", c.fabric, c.graph);
    return read ? std::string("nothing") : read.error().message;
  };
  const std::string header = sl2vl.substr(0, sl2vl.find('\n') + 1);
  EXPECT_EQ(says("1 2 : 0"), "f:1:1: expected the header of a port, got '1 2 : 0'");
  EXPECT_EQ(says(header + "1 2 : 0 1"), "f:2:10: expected a VL from 0 to 15, got end of line");
  EXPECT_EQ(says(header + "  1 99 : 0"), "f:2:5: expected an output port, got '99 : 0'");
  EXPECT_EQ(says("Switch 0x1, base LID 3, \"x\"\n"),
            "f:1:8: the topology has no port 0x0000000000000001");
  const auto sl = [&](const std::string& text) {
    const auto read = read_path_sls(text, "f", c.fabric, c.graph);
    return read ? std::string("nothing") : read.error().message;
  };
  EXPECT_EQ(sl(header + "0x1-0x0 : 1"), "f:2:5: expected a LID not below the first, got '0x0 : 1'");
  EXPECT_EQ(sl(header + "0x1 : 16"), "f:2:7: expected an SL from 0 to 15, got '16'");
}

}  // namespace
}  // namespace ib::tables
