// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibroutes on files: tables verified, followed, dumped, as text and as JSON, and its exit statuses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/unit/tables/judge.h"
#include "tests/unit/tools/ibroutes_program.h"

namespace ib::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

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

TEST(Ibroutes, JudgesVlsOfFiles) {
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
  const std::string vls =
      " --sl2vl " + (scratch / "sl2vl").string() + " --sls " + (scratch / "sls").string();
  const Ran ran = ibroutes(from + vls);
  EXPECT_EQ(ran.status, 1) << ran.out;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("asymmetric-sls: 1\n"), HasSubstr("'leaf two'"),
                    HasSubstr("on VL 15"), HasSubstr("with SL 0, but those answer with SL 3")));
  const auto json = nlohmann::json::parse(ibroutes(from + vls + " --json").out);
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
