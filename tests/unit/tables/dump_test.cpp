// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Dump formats against what dump_fts 44 and opensm 3.3.23 printed of a small net on ibsim
// (tests/golden/net4: three switches, four hosts, LMC 1).
#include "libdiag/tables/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/route/engine.h"
#include "libdiag/tables/subnet_lst.h"
#include "tests/unit/tables/judge.h"

namespace ib::tables {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string golden(const char* name) {
  return judge::read_file(std::string(IBKIT_SOURCE_DIR "/tests/golden/net4/") + name);
}

/// The net with the LMC that ibnetdiscover's text gives to CA ports only in their own block.
struct Net4 {
  fabric::Fabric fabric = fabric::read_topology(golden("topology"), "topology").value();
  fabric::CompactGraph graph{fabric};
  std::vector<SwitchTables> tables = read_tables(golden("dump_fts"), "dump_fts").value();
  DestinationNames names{fabric};

  Net4() {
    for (auto& table : tables)
      table.num_ports = fabric.node(*fabric.find_node(table.guid)).num_ports;
  }
};

std::string all_lfts(const Net4& net, const DumpOptions& options = {}) {
  std::string out;
  for (const auto& table : net.tables) append_dump_fts_lft(out, table, net.names, options);
  return out;
}

TEST(Dump, WritesWhatDumpFtsPrints) {
  const Net4 net;
  EXPECT_EQ(all_lfts(net), golden("dump_fts"));
  DumpOptions all, brief;
  all.all = true;
  brief.no_names = true;
  EXPECT_EQ(all_lfts(net, all), golden("dump_fts-a"));
  EXPECT_EQ(all_lfts(net, brief), golden("dump_fts-n"));
}

TEST(Dump, WritesEmptyMulticastTablesAsDumpFtsDoes) {
  Net4 net;
  std::string out;
  for (auto& table : net.tables) {
    table.multicast_cap = 1024;
    append_dump_fts_mft(out, table);
  }
  EXPECT_EQ(out, golden("dump_fts-M"));
}

TextSink into(std::string& text) {
  return [&text](std::string_view piece) { text += piece; };
}

TEST(Dump, WritesWhatOpensmWrites) {
  Net4 net;
  std::sort(net.tables.begin(), net.tables.end(),
            [](const auto& a, const auto& b) { return a.guid < b.guid; });
  std::string lfts, fdbs;
  for (auto& table : net.tables) {
    table.address = "Lid " + to_string(net.fabric.port(*net.fabric.find_node(table.guid), 0).lid);
    append_opensm_lfts(lfts, table, net.names);
  }
  write_opensm_fdbs(into(fdbs), net.graph, linear_tables(net.graph, net.tables));
  EXPECT_EQ(lfts, golden("opensm-lfts.dump"));
  EXPECT_EQ(fdbs, golden("opensm.fdbs"));
}

TEST(Dump, AllFormatsReadBackToTheSameTables) {
  const Net4 net;
  const LinearTables wanted = linear_tables(net.graph, net.tables);
  for (const char* name : {"dump_fts-a", "dump_fts-n", "opensm-lfts.dump", "opensm.fdbs"}) {
    const auto tables = read_tables(golden(name), name);
    ASSERT_TRUE(tables.has_value()) << tables.error().message;
    EXPECT_EQ(linear_tables(net.graph, *tables), wanted) << name;
  }
}

TEST(Dump, TheTopLidIsPrintedEvenWhereItIsAMultipleOf64) {
  const Net4 net;
  SwitchTables table = net.tables[0];
  table.lft.assign(65, kNoPort);
  table.lft[64] = 1;
  std::string out;
  append_dump_fts_lft(out, table, net.names);
  EXPECT_THAT(out, StartsWith("Unicast lids [0x0-0x40] of switch "));
  EXPECT_THAT(out, HasSubstr("0x0040 001 : (node info not available fabric scan)\n1 valid lids"));
}

TEST(Dump, RangesAreInclusive) {
  const Net4 net;
  DumpOptions options;
  options.first = Lid{4};
  options.last = Lid{5};
  std::string out;
  append_dump_fts_lft(out, net.tables[0], net.names, options);
  EXPECT_THAT(out, StartsWith("Unicast lids [0x4-0x5] of switch "));
  EXPECT_THAT(out, HasSubstr("2 valid lids dumped \n"));
}

/// A switch whose groups use the first, a middle and the last of its ports.
SwitchTables with_groups() {
  SwitchTables table;
  table.guid = Guid{0x2C903004A1234};
  table.address = "DR path slid 0; dlid 0; 0,1";
  table.name = "leaf";
  table.num_ports = 36;
  table.multicast_cap = 64;
  table.multicast_top = 0xC021;
  for (unsigned port : {0U, 17U, 36U}) table.mft[Lid{0xC000}].set(port);
  table.mft[Lid{0xC021}].set(5);
  return table;
}

TEST(Dump, MulticastColumnsAndMasks) {
  const SwitchTables table = with_groups();
  std::string columns, masks;
  append_dump_fts_mft(columns, table);
  EXPECT_EQ(
      columns,
      "Multicast mlids [0xc000-0xc021] of switch DR path slid 0; dlid 0; 0,1 guid "
      "0x0002c903004a1234 (leaf):\n"
      "            0                   1                   2                   3             \n"
      "     Ports: 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 \n"
      " MLid\n"
      "0xc000      x                                 x                                     x \n"
      "0xc021                x                                                               \n"
      "2 valid mlids dumped \n");
  DumpOptions brief;
  brief.no_names = true;
  brief.verbose = true;
  append_dump_fts_mft(masks, table, brief);
  EXPECT_EQ(masks,
            "Multicast mlids [0xc000-0xc021] of switch DR path slid 0; dlid 0; 0,1 guid "
            "0x0002c903004a1234 (leaf):\n"
            " MLid       Port Mask\n"
            "Switch multicast mlid capability is 64 top is 0xc021\n"
            "0xc000      000100020010\n"
            "0xc021      002000000000\n"
            "2 valid mlids dumped \n");
  std::string mcfdbs;
  append_opensm_mcfdbs(mcfdbs, table);
  EXPECT_EQ(mcfdbs,
            "\nSwitch 0x0002c903004a1234\nLID    : Out Port(s)\n"
            "0xC000 : 0x000  0x011  0x024 \n0xC021 : 0x005 \n");
  for (const std::string& text : {columns, masks, mcfdbs}) {
    const auto read = read_tables(text, "mft");
    ASSERT_TRUE(read.has_value()) << read.error().message;
    ASSERT_THAT(*read, SizeIs(1));
    EXPECT_EQ((*read)[0].guid, table.guid);
    EXPECT_EQ((*read)[0].mft, table.mft);
  }
}

TEST(Dump, ALongerWayIsNotOptimal) {
  const auto fabric = fabric::generate(fabric::Grid{{5}, true, 1, 1}).value();
  const fabric::CompactGraph graph(fabric);
  LinearTables tables(5, graph.max_lid());
  for (fabric::SwitchIndex s = 0; s < 5; ++s)
    for (const auto& d : graph.destinations())
      for (const auto& arc : graph.arcs(s))
        if (d.leaf == s)
          tables.set(s, d.lid, d.port);
        else if (arc.to == (s + 1) % 5)
          tables.set(s, d.lid, arc.out_port);
  std::string out;
  write_opensm_fdbs(into(out), graph, tables);
  EXPECT_THAT(out, HasSubstr(" : 05   : No 2 hop path possible via port "));
  EXPECT_THAT(out, HasSubstr("yes"));
  EXPECT_EQ(linear_tables(graph, read_tables(out, "fdbs").value()), tables);
}

TEST(Dump, SaysWhereABadFileIsBad) {
  const auto message = [](const char* text) {
    const auto tables = read_tables(text, "f");
    return tables ? "" : tables.error().message;
  };
  EXPECT_EQ(message("0x0001 001 : x\n"),
            "f:1:1: expected the header of a forwarding table, got '0x0001 001 : x'");
  const std::string header = "Unicast lids [0x0-0x4] of switch Lid 1 guid 0x10 (a):\n";
  EXPECT_EQ(message((header + "0x0001 x\n").c_str()),
            "f:2:8: expected a port number of three digits, got 'x'");
  EXPECT_EQ(message((header + "0x0001 01").c_str()),
            "f:2:8: expected a port number of three digits, got '01'")
      << "cut off: this was 011 to 019";
  EXPECT_EQ(message((header + "0xd001 001\n").c_str()),
            "f:2:1: expected a unicast LID, got '0xd001 001'");
  EXPECT_EQ(message("Unicast lids [0x0-0x4] of switch Lid 1\n"),
            "f:1:34: expected an address and ' guid 0x', got 'Lid 1'");
  EXPECT_EQ(message("what\n"),
            "f:1:1: expected the header or a row of a forwarding table, got 'what'");
  EXPECT_EQ(message("\nSwitch 0x10\nLID    : Out Port(s)\n0xC000 : 0x00Z\n"),
            "f:4:14: expected a port number, got 'Z'");
}

TEST(Dump, AFileCutBetweenRowsIsNoticedWhereTheFormatCanShowIt) {
  const std::string header = "Unicast lids [0x0-0x4] of switch Lid 1 guid 0x10 (a):\n";
  const std::string rows = "0x0001 001 : x\n0x0002 002 : y\n";
  EXPECT_TRUE(read_tables(header + rows + "2 valid lids dumped \n", "f"));
  EXPECT_TRUE(read_tables(header + "0 valid lids dumped \n", "f"));
  const auto cut = read_tables(header + rows, "f");
  ASSERT_FALSE(cut);
  EXPECT_EQ(
      cut.error().message,
      "f:4:1: expected '... lids dumped' below the 2 rows of switch 0x0000000000000010, got end "
      "of file");
  const auto short_of_one = read_tables(header + rows + "3 valid lids dumped \n", "f");
  ASSERT_FALSE(short_of_one);
  EXPECT_EQ(short_of_one.error().message,
            "f:4:1: expected the number of the rows above it, 2, got '3 valid lids dumped '");
  // Of a whole dump every shorter beginning is refused, except where a table ends.
  const std::string whole = golden("dump_fts");
  const std::size_t trailer = whole.find("lids dumped");
  ASSERT_NE(trailer, whole.npos);
  for (std::size_t at = whole.find('\n') + 1; at < trailer; at = whole.find('\n', at) + 1)
    EXPECT_FALSE(read_tables(whole.substr(0, at), "f")) << at;
}

TEST(Dump, BrokenTextNeverCrashesTheReaders) {
  std::mt19937 random(7);
  const std::string whole = golden("dump_fts") + golden("dump_fts-M") + golden("opensm.fdbs");
  const std::string lst = golden("opensm-subnet.lst");
  for (int round = 0; round < 400; ++round) {
    for (std::string text : {whole, lst}) {
      for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random() % 256);
      text.resize(random() % text.size());
      (void)read_tables(text, "broken");
      (void)read_subnet_lst(text, "broken");
    }
  }
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(SubnetLst, IsOpensmsWithSixDigitsOnBothSides) {
  std::string wanted = golden("opensm-subnet.lst");
  for (std::size_t at; (at = wanted.find("VenID:00000000")) != std::string::npos;)
    wanted.replace(at, 14, "VenID:000000");
  const auto fabric = read_subnet_lst(golden("opensm-subnet.lst"), "lst");
  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  EXPECT_EQ(fabric->nodes().size(), 7U);
  EXPECT_EQ(fabric->link_count(), 8U);
  std::string out;
  append_subnet_lst(out, *fabric, Lid{2});
  EXPECT_EQ(sorted_lines(out), sorted_lines(wanted));
}

TEST(SubnetLst, ReadsTheDeviceThatOpensmShiftedOnThePeersSide) {
  const std::string line =
      "{ CA Ports:01 SystemGUID:01 NodeGUID:01 PortGUID:02 VenID:0002C9 DevID:1017 Rev:000000A1 "
      "{a} LID:0001 PN:01 } { SW Ports:24 SystemGUID:10 NodeGUID:10 PortGUID:10 VenID:000002C9 "
      "DevID:CB200000 Rev:000000A1 {s} LID:0002 PN:24 } PHY=4x LOG=ARM SPD=FDR10\n";
  const auto fabric = read_subnet_lst(line, "lst");
  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  EXPECT_EQ(fabric->node(0).device_id, 0x1017);
  EXPECT_EQ(fabric->node(1).device_id, 0xCB20);
  EXPECT_EQ(fabric->port(0, 1).speed, wire::LinkSpeed::Fdr10);
  EXPECT_EQ(fabric->port(0, 1).state, wire::PortState::Armed);
  const auto bad = read_subnet_lst(line.substr(0, 60) + "\n", "lst");
  ASSERT_FALSE(bad.has_value());
  EXPECT_THAT(bad.error().message, StartsWith("lst:1:"));
}

// ibdmchk prints its verdict and then may die of a fault at exit: its text counts, not its status.

std::string ibdmchk(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                    const LinearTables& tables) {
  const judge::Scratch scratch;
  std::string lst, fdbs;
  append_subnet_lst(lst, fabric);
  write_opensm_fdbs(into(fdbs), graph, tables);
  judge::write_file(scratch / "lst", lst);
  judge::write_file(scratch / "fdbs", fdbs);
  return judge::output_of("ibdmchk -s '" + (scratch / "lst").string() + "' -f '" +
                          (scratch / "fdbs").string() + "' -m /dev/null");
}

TEST(Ibdmchk, AcceptsOurDumpsOfATreeAndFindsNoCreditLoop) {
  fabric::FatTree kind;
  kind.radix = 8;
  const auto fabric = fabric::generate(kind).value();
  const fabric::CompactGraph graph(fabric);
  const auto routes = route::find_engine("minhop")->compute({&fabric, &graph, {}, nullptr});
  const std::string text = ibdmchk(fabric, graph, routes->lfts);
  EXPECT_THAT(text, HasSubstr("-I- no credit loops found"));
  EXPECT_THAT(text, HasSubstr("Scanned:992 CA to CA paths"));  // 32 x 31
  EXPECT_THAT(text, Not(HasSubstr("-E-")));
}

TEST(Ibdmchk, FindsTheCreditLoopOfAClockwiseRing) {
  const auto fabric = fabric::generate(fabric::Grid{{3}, true, 2, 1}).value();
  const fabric::CompactGraph graph(fabric);
  LinearTables tables(3, graph.max_lid());
  for (fabric::SwitchIndex s = 0; s < 3; ++s)
    for (const auto& d : graph.destinations())
      for (const auto& arc : graph.arcs(s))
        if (d.leaf == s)
          tables.set(s, d.lid, d.port);
        else if (arc.to == (s + 1) % 3)
          tables.set(s, d.lid, arc.out_port);
  EXPECT_THAT(ibdmchk(fabric, graph, tables), HasSubstr("credit loops in routing"));
}

}  // namespace
}  // namespace ib::tables
