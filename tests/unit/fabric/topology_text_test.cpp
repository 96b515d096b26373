// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/topology_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/topology_gaps.h"

namespace ib::fabric {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::LinkSpeed;
using wire::LinkWidth;
using wire::NodeType;

constexpr std::string_view kSmall = R"(#
# Topology file: generated on Sun Feb 21 16:30:17 2021
#
# Initiated from node 0c42a103008b40d0 port 0c42a103008b40d1

vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb8599f0300fc6de4
switchguid=0xb8599f0300fc6de4(b8599f0300fc6de5)
Switch	41 "S-b8599f0300fc6de4"		# "MF0;sw95:MQM8700/U1" enhanced port 0 lid 13 lmc 0
[3]	"S-0002c903007b78b0"[1]		# "sw226" lid 19 2xHDR
[23]	"H-ec0d9a03007d7d0a"[1](ec0d9a03007d7d0b) 		# "r-dcs96 HCA-1" lid 9 4xEDR

vendid=0x2c9
devid=0xc738
sysimgguid=0x2c903007b78b0
switchguid=0x2c903007b78b0(2c903007b78b0)
Switch	36 "S-0002c903007b78b0"		# "sw226" base port 0 lid 19 lmc 0
[1]	"S-b8599f0300fc6de4"[3]		# "MF0;sw95:MQM8700/U1" lid 13 2xHDR

vendid=0x2c9
devid=0x1017
sysimgguid=0xec0d9a03007d7d0a
caguid=0xec0d9a03007d7d0a
Ca	2 "H-ec0d9a03007d7d0a"		# "r-dcs96 HCA-1"
[1](ec0d9a03007d7d0b) 	"S-b8599f0300fc6de4"[23]		# lid 9 lmc 1 "MF0;sw95:MQM8700/U1" lid 13 4xEDR
)";

Fabric read(std::string_view text, std::vector<std::string>* warnings = nullptr) {
  auto fabric = read_topology(text, "t.topo", warnings);
  EXPECT_TRUE(fabric.has_value()) << fabric.error().message;
  return fabric.has_value() ? *std::move(fabric) : Fabric{};
}

std::string error_of(std::string_view text) {
  const auto fabric = read_topology(text, "t.topo");
  if (fabric.has_value()) return "no error";
  EXPECT_EQ(fabric.error().kind, ErrorKind::Usage);
  return fabric.error().message;
}

TEST(TopologyReader, ReadsNodesPortsAndCables) {
  std::vector<std::string> warnings;
  const Fabric f = read(kSmall, &warnings);
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(f.initiated_from_node, Guid{0x0c42a103008b40d0});
  EXPECT_EQ(f.initiated_from_port, Guid{0x0c42a103008b40d1});
  ASSERT_THAT(f.nodes(), SizeIs(3));
  EXPECT_EQ(f.count(NodeType::Switch), 2U);
  EXPECT_EQ(f.link_count(), 2U);

  const Node& sw = f.node(0);
  EXPECT_EQ(sw.description, "MF0;sw95:MQM8700/U1");
  EXPECT_EQ(sw.file_id, "S-b8599f0300fc6de4");
  EXPECT_EQ(sw.num_ports, 41);
  EXPECT_TRUE(sw.enhanced_port0);
  EXPECT_FALSE(f.node(1).enhanced_port0);
  EXPECT_EQ(sw.vendor_id, 0x2c9U);
  EXPECT_EQ(sw.device_id, 0xd2f0);
  EXPECT_EQ(f.port(0, 0).guid, Guid{0xb8599f0300fc6de5});
  EXPECT_EQ(f.port(0, 0).lid, Lid{13});
  EXPECT_EQ(f.port(0, 3).peer, (PortRef{1, 1}));
  EXPECT_EQ(f.port(0, 3).width, LinkWidth::W2x);
  EXPECT_EQ(f.port(0, 3).speed, LinkSpeed::Hdr);
  EXPECT_FALSE(f.port(0, 4).peer);

  const Port& ca = f.port(2, 1);
  EXPECT_EQ(ca.guid, Guid{0xec0d9a03007d7d0b});
  EXPECT_EQ(ca.lid, Lid{9});
  EXPECT_EQ(ca.lmc, 1);
  EXPECT_FALSE(f.port(2, 2).present);
  EXPECT_EQ(f.find_lid(Lid{8}), std::nullopt);
  EXPECT_EQ(f.find_lid(Lid{10}), (PortRef{2, 1})) << "LMC 1 covers two LIDs";
  EXPECT_EQ(f.find_port_guid(Guid{0xec0d9a03007d7d0b}), (PortRef{2, 1}));
  EXPECT_EQ(f.find_port_guid(Guid{0xb8599f0300fc6de5}), (PortRef{0, 0}));
  EXPECT_EQ(f.find_node(Guid{0x2c903007b78b0}), 1U);
}

TEST(TopologyReader, WritesWhatItRead) {
  const Fabric f = read(kSmall);
  TopologyTextOptions options;
  options.generated_on = "Sun Feb 21 16:30:17 2021";
  // Blocks come out sorted by GUID: the second switch of the text is the first here.
  const std::string text = topology_text(f, options);
  EXPECT_EQ(text.size(), kSmall.size());
  EXPECT_EQ(topology_text(read(text), options), text);
}

// ---- as people keep them

std::string with_each_line_ended_by(std::string_view end) {
  std::string text;
  for (const char c : kSmall) {
    if (c == '\n')
      text += end;
    else
      text += c;
  }
  return text;
}

TEST(TopologyReader, PassesOverCarriageReturnsOneOrTwoAndSaysSoOnce) {
  for (const char* end : {"\r\n", "\r\r\n"}) {
    std::vector<std::string> warnings;
    EXPECT_EQ(topology_text(read(with_each_line_ended_by(end), &warnings)),
              topology_text(read(kSmall)));
    EXPECT_THAT(warnings, ::testing::ElementsAre("t.topo:1:2: carriage returns at the end of 26 "
                                                 "lines are ignored"));
  }
}

TEST(TopologyReader, PassesOverLinesOfWhiteSpaceAndSaysSoOnce) {
  std::vector<std::string> warnings;
  EXPECT_EQ(topology_text(read(with_each_line_ended_by("\n \t\n"), &warnings)),
            topology_text(read(kSmall)));
  EXPECT_THAT(warnings, ::testing::ElementsAre("t.topo:2:1: 26 lines of white space are ignored"));
}

TEST(TopologyReader, PassesOverWhatATerminalPutBeforeTheFirstRecord) {
  std::vector<std::string> warnings;
  const std::string text =
      "Script started on Sun Feb 21 16:30:10 2021\n"
      "\x1b]0;root@head\a[root@head ~]# ibnetdiscover\nCannot say.\n" +
      std::string(kSmall);
  EXPECT_EQ(topology_text(read(text, &warnings)), topology_text(read(kSmall)));
  EXPECT_THAT(warnings,
              ::testing::ElementsAre("t.topo:1:1: 3 lines before the first record are ignored: "
                                     "'Script started on Sun Feb 21 16:30:10 20' and so on"));
}

TEST(TopologyReader, TextOfAnotherKindIsRefusedWhereItBegins) {
  EXPECT_EQ(error_of("\n{ \"nodes\": [] }\n"),
            "t.topo:2:1: expected a node, a port, vendid=, devid=, sysimgguid=, switchguid=, "
            "caguid= or rtguid=, got '{'");
  std::string text;
  for (int i = 0; i < 30; ++i) text += "so much for that\n";
  EXPECT_THAT(error_of(text + std::string(kSmall)), HasSubstr("t.topo:1:1: expected a node"));
  EXPECT_THAT(error_of(std::string(kSmall) + "[root@head ~]# exit\n"), HasSubstr("t.topo:27:"));
}

TEST(TopologyReader, ReadsANumberOfPortsWhoseBlankWasLost) {
  std::vector<std::string> warnings;
  std::string text(kSmall);
  for (const char* word : {"Switch\t", "Ca\t"})
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;)
      text.erase(at + std::string_view(word).size() - 1, 1);
  EXPECT_EQ(topology_text(read(text, &warnings)), topology_text(read(kSmall)));
  EXPECT_THAT(warnings,
              ::testing::ElementsAre("t.topo:10:7: no blank behind 'Switch' in 3 lines; read as if "
                                     "there were one"));
}

TEST(TopologyReader, CommentsStandAnywhere) {
  std::vector<std::string> warnings;
  std::string text;
  for (std::string_view rest = kSmall; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1))
    text += "  # moved to rack 7\n" + std::string(rest.substr(0, rest.find('\n') + 1));
  for (const char* end : {"devid=0xd2f0", "caguid=0xec0d9a03007d7d0a"})
    text.insert(text.find(end) + std::string_view(end).size(), " # by hand");
  EXPECT_EQ(topology_text(read(text, &warnings)), topology_text(read(kSmall)));
  EXPECT_THAT(warnings, IsEmpty());
}

/// Wherever in the file it ends.
TEST(TopologyReader, AFileThatEndsInTheMiddleIsOneLine) {
  // From where its first node is known.
  const std::size_t first = kSmall.find("0fc6de4\"\t\t#") + 8;
  for (std::size_t size = first; size + 1 < kSmall.size(); ++size) {
    std::vector<std::string> warnings;
    const auto fabric = read_topology(kSmall.substr(0, size), "t.topo", &warnings);
    ASSERT_TRUE(fabric.has_value()) << size << ": " << fabric.error().message;
    ASSERT_THAT(warnings, SizeIs(1)) << size << kSmall.substr(0, size);
    EXPECT_THAT(warnings[0], HasSubstr(kUndescribed)) << size;
  }
  std::vector<std::string> warnings;
  const std::size_t size = kSmall.find("[23]\t\"H-ec0d") + 10;
  read(kSmall.substr(0, size), &warnings);
  EXPECT_THAT(warnings,
              ::testing::ElementsAre("t.topo:12:1: the file does not describe 1 node "
                                     "('S-0002c903007b78b0' first): it ends in the middle of line "
                                     "12; 1 cable ignored"));
}

TEST(TopologyReader, AFileThatEndsBehindALineMayEndInTheMiddleAllTheSame) {
  const auto said = [](std::string_view text) {
    std::vector<std::string> warnings;
    read(text, &warnings);
    return warnings;
  };
  const auto until = [](const char* what) { return kSmall.substr(0, kSmall.find(what)); };
  EXPECT_THAT(said(until("[3]")),
              ::testing::ElementsAre("t.topo:10:1: the file does not describe all of "
                                     "'S-b8599f0300fc6de4': is it truncated?"));
  EXPECT_THAT(said(until("[1](ec0d9a03007d7d0b) \t\"S")),
              ::testing::ElementsAre(
                  "t.topo:25:1: the file does not describe all of 'H-ec0d9a03007d7d0a': is it "
                  "truncated? 1 cable known from one end"));
  std::string next(kSmall);
  next += "\nvendid=0x2c9\ndevid=0xd2f0\n";
  EXPECT_THAT(said(next),
              ::testing::ElementsAre(
                  "t.topo:29:1: the file does not describe the node of line 28: is it truncated?"));
}

TEST(TopologyReader, AHostWhosePortsAreDownIsAllThatItSees) {
  const std::string ca =
      "vendid=0x2c9\ndevid=0x1017\nsysimgguid=0x5\ncaguid=0x5\nCa\t2 \"H-5\"\t\t# \"h\"\n";
  for (const char* from : {"", "# Initiated from node 0000000000000005 port 0000000000000006\n"}) {
    std::vector<std::string> warnings;
    read(from + ca, &warnings);
    EXPECT_THAT(warnings, IsEmpty());
  }
}

TEST(TopologyReader, APortThatTheLastNodeLeftOutBetweenOthersIsNoEnd) {
  std::vector<std::string> warnings;
  read(
      "switchguid=0x1(1)\nSwitch 4 \"S-1\"\n[1] \"H-2\"[1]\n[2] \"H-2\"[2]\n"
      "caguid=0x2\nCa 2 \"H-2\"\n[2] \"S-1\"[2]\n",
      &warnings);
  EXPECT_THAT(warnings, ::testing::ElementsAre("t.topo:3:5: only this end names the cable"));
}

TEST(TopologyReader, AcceptsChassisGroupingAndFullInfo) {
  const Fabric f = read(
      "\nChassis 1 (guid 0x8f1)\n\n# Spine Nodes\n"
      "sysimgguid=0x8f1\t\t# Chassis 1\nswitchguid=0x8f2(8f2)\t# ISR2012 Spine 1 Chip 1\n"
      "Switch\t24 \"S-00000000000008f2\"\t\t# \"ISR\" base port 0 lid 3 lmc 0\n"
      "[1][ext 7]\t\"S-00000000000008f3\"[2][ext 9]\t\t# \"ISR\" lid 4 4xDDR s=2 w=2 v=4\n"
      "\nNon-Chassis Nodes\n"
      "switchguid=0x8f3(8f3)\nSwitch\t24 \"S-00000000000008f3\"\t\t# \"x\" base port 0 lid 4 lmc "
      "0\n"
      "[2][ext 9]\t\"S-00000000000008f2\"[1][ext 7]\t\t# \"ISR\" lid 3 4xDDR s=2 w=2 v=4\n");
  EXPECT_EQ(f.link_count(), 1U);
  EXPECT_EQ(f.port(0, 1).external_port, 7);
  EXPECT_EQ(f.port(1, 2).external_port, 9);
  EXPECT_EQ(f.port(0, 1).vl_cap, 4);
  EXPECT_EQ(f.node(0).system_image_guid, Guid{0x8f1});
}

TEST(TopologyReader, AcceptsNamesWithQuotesAndHashes) {
  const Fabric f = read(
      "switchguid=0x1(1)\nSwitch 4 \"S-0000000000000001\" # \"a \"b\" # lid 7\" base port 0 lid 5 "
      "lmc 0\n"
      "[1] \"H-0000000000000002\"[1](3)  # \"say \"hi\" lid 4\" lid 6 4xEDR\n"
      "caguid=0x2\nCa 1 \"H-0000000000000002\" # \"say \"hi\" lid 4\"\n"
      "[1](3) \"S-0000000000000001\"[1] # lid 6 lmc 0 \"a \"b\" # lid 7\" lid 5 4xEDR\n");
  EXPECT_EQ(f.node(0).description, "a \"b\" # lid 7");
  EXPECT_EQ(f.node(1).description, "say \"hi\" lid 4");
  EXPECT_EQ(f.port(0, 0).lid, Lid{5});
  EXPECT_EQ(f.port(1, 1).lid, Lid{6});
  EXPECT_EQ(f.port(1, 1).speed, LinkSpeed::Edr);
}

TEST(TopologyReader, AcceptsMissingCommentsAndLids) {
  std::vector<std::string> warnings;
  const Fabric f = read(
      "Switch 4 \"S-0000000000000001\"\n[1] \"H-2\"[1]\nCa 1 \"H-0000000000000002\"\n"
      "[1] \"S-0000000000000001\"[1]\n",
      &warnings);
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(f.link_count(), 1U);
  EXPECT_EQ(f.node(1).guid, Guid{2});
  EXPECT_EQ(f.port(1, 1).guid, Guid{3}) << "node GUID plus port number where nobody wrote one";
  EXPECT_EQ(f.port(0, 0).lid, kNoLid);
}

TEST(TopologyReader, KeepsSelfLoops) {
  const Fabric f = read(
      "switchguid=0x1(1)\nSwitch 4 \"S-0000000000000001\"\n"
      "[1] \"S-0000000000000001\"[2] # \"\" lid 0 4xFDR10\n"
      "[2] \"S-0000000000000001\"[1] # \"\" lid 0 4xFDR10\n[3] \"S-0000000000000001\"[3]\n");
  EXPECT_EQ(f.link_count(), 2U);
  EXPECT_EQ(f.port(0, 1).peer, (PortRef{0, 2}));
  EXPECT_EQ(f.port(0, 3).peer, (PortRef{0, 3}));
  EXPECT_EQ(f.port(0, 1).speed, LinkSpeed::Fdr10);
}

TEST(TopologyReader, UsesACableThatOneEndNames) {
  std::vector<std::string> warnings;
  const Fabric f = read(
      "Switch 4 \"S-0000000000000001\"\n"
      "[1] \"H-0000000000000002\"[1](2a)  # \"h\" lid 6 4xEDR\nCa 1 \"H-0000000000000002\"\n",
      &warnings);
  EXPECT_EQ(f.link_count(), 1U);
  EXPECT_EQ(f.port(1, 1).guid, Guid{0x2a});
  EXPECT_EQ(f.port(1, 1).lid, Lid{6});
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0], "t.topo:2:5: only this end names the cable");
}

TEST(TopologyReader, WarnsWhereTheEndsOfACableKnowOneAnotherOtherwise) {
  std::vector<std::string> warnings;
  const Fabric f = read(
      "Switch 4 \"S-0000000000000001\"\n"
      "[1] \"H-0000000000000002\"[1](2a)  # \"h\" lid 6 4xEDR\nCa 1 \"H-0000000000000002\"\n"
      "[1](2b) \"S-0000000000000001\"[1]  # lid 7 lmc 0 \"s\" lid 1 4xEDR\n",
      &warnings);
  EXPECT_EQ(f.port(1, 1).guid, Guid{0x2b});
  EXPECT_EQ(f.port(1, 1).lid, Lid{7});
  EXPECT_THAT(warnings, ::testing::ElementsAre(
                            "t.topo:2:5: port GUID 0x000000000000002a is 0x000000000000002b at the "
                            "other end of the cable, which is used",
                            "t.topo:2:5: LID 6 is 7 at the other end of the cable, which is used"));
}

TEST(TopologyReader, WarnsOfNodesAndPortsThatShareAGuid) {
  std::vector<std::string> warnings;
  read(
      "switchguid=0x1(1)\nSwitch 4 \"S-1\"\n[1](2a) \"H-a\"[1]\n[2] \"H-b\"[1]\n"
      "switchguid=0x1(7)\nSwitch 4 \"S-2\"\n"
      "caguid=0x10\nCa 1 \"H-a\"\n[1](2a) \"S-1\"[1]\n"
      "caguid=0x20\nCa 1 \"H-b\"\n[1](2a) \"S-1\"[2]\n",
      &warnings);
  EXPECT_THAT(warnings,
              ::testing::IsSupersetOf(
                  {std::string("t.topo:6:1: node GUID 0x0000000000000001 of 'S-2' is that of "
                               "'S-1', line 2, too"),
                   std::string("t.topo:11:1: port GUID 0x000000000000002a of 'H-b' is that of "
                               "'H-a', line 8, too")}));
}

TEST(TopologyReader, MutualCablesWinOverOneSidedClaims) {
  std::vector<std::string> warnings;
  const Fabric f = read(
      "Switch 4 \"S-0000000000000001\"\n[1] \"S-0000000000000003\"[1]\n"
      "Switch 4 \"S-0000000000000002\"\n[1] \"S-0000000000000003\"[1]\n"
      "Switch 4 \"S-0000000000000003\"\n[1] \"S-0000000000000002\"[1]\n",
      &warnings);
  EXPECT_EQ(f.link_count(), 1U);
  EXPECT_EQ(f.port(2, 1).peer, (PortRef{1, 1}));
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings[0], HasSubstr("t.topo:2:5: the two ends disagree"));
}

TEST(TopologyReader, IgnoresCablesToNodesTheFileDoesNotDescribe) {
  std::vector<std::string> warnings;
  const Fabric f =
      read("Switch 4 \"S-0000000000000001\"\n[1] \"H-0000000000000009\"[1]\n", &warnings);
  EXPECT_EQ(f.link_count(), 0U);
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings[0], HasSubstr("t.topo:2:5: the file does not describe node"));
}

/// A file that was cut off is one line, not one for each cable.
TEST(TopologyReader, ManyUndescribedNodesAreOneWarning) {
  std::vector<std::string> warnings;
  std::string text = "Switch 8 \"S-0000000000000001\"\n";
  for (int port = 1; port <= 8; ++port)
    text += "[" + std::to_string(port) + "] \"H-000000000000001" + std::to_string(port) + "\"[1]\n";
  read(text, &warnings);
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0],
            "t.topo:2:5: the file does not describe 8 nodes ('H-0000000000000011' first): is it "
            "truncated? 8 cables ignored");
}

TEST(TopologyReader, UnknownSpeedsAreUnknown) {
  std::vector<std::string> warnings;
  const Fabric f = read(
      "Switch 4 \"S-0000000000000001\"\n[1] \"S-0000000000000001\"[2] # \"\" lid 0 4x???\n"
      "[2] \"S-0000000000000001\"[1] # \"\" lid 0 4x???\n"
      "[3] \"S-0000000000000001\"[4] # \"\" lid 0 4xZDR\n"
      "[4] \"S-0000000000000001\"[3] # \"\" lid 0 4xZDR\n",
      &warnings);
  EXPECT_EQ(f.port(0, 1).speed, LinkSpeed::Unknown);
  EXPECT_EQ(f.port(0, 1).width, LinkWidth::W4x);
  EXPECT_EQ(f.port(0, 3).speed, LinkSpeed::Unknown);
  EXPECT_THAT(warnings, SizeIs(2)) << "??? is the tool's own word, ZDR is not";
}

TEST(TopologyReader, ReadsHandWrittenNames) {
  const Fabric f = read("Switch 8 \"leaf\"\n[1] \"host\"[2]\nHca 2 \"host\"\n[2] \"leaf\"[1]\n");
  EXPECT_EQ(f.link_count(), 1U);
  EXPECT_EQ(f.node(0).description, "leaf");
  EXPECT_NE(f.node(0).guid, f.node(1).guid);
  EXPECT_NE(f.node(0).guid, Guid{});
}

TEST(TopologyReader, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(error_of("vendid=0x2c9\nfoo\n"),
            "t.topo:2:1: expected a node, a port, vendid=, devid=, sysimgguid=, switchguid=, "
            "caguid= or rtguid=, got 'foo'");
  EXPECT_EQ(error_of("vendid=zz\n"), "t.topo:1:8: expected a hexadecimal number, got 'zz'");
  EXPECT_EQ(error_of("vendid=0x2c9q\n"), "t.topo:1:8: expected a hexadecimal number, got '0x2c9q'");
  EXPECT_EQ(error_of("[1] \"S-1\"[1]\n"),
            "t.topo:1:1: expected a node before its ports, got '[1]'");
  EXPECT_EQ(error_of("Switch x \"S-1\"\n"),
            "t.topo:1:8: expected a number of ports, 1 to 254, got 'x'");
  EXPECT_EQ(error_of("Switch 0 \"S-1\"\n"),
            "t.topo:1:8: expected a number of ports, 1 to 254, got '0'");
  EXPECT_EQ(error_of("Switch 4 \"S-11\"\n[0] \"S-11\"[1]\n"),
            "t.topo:2:2: expected a port number, 1 to 4, got '0]'");
  EXPECT_EQ(error_of("Switch 4 \"S-11\"\n[1] \"S-11\"[0]\n"),
            "t.topo:2:12: expected a port number, 1 to 254, got '0]'");
  EXPECT_EQ(error_of("Switch 4\n"),
            "t.topo:1:9: expected a node id in quotes, got the end of the line");
  EXPECT_EQ(error_of("Switch 4 \"S-1\n"),
            "t.topo:1:11: expected a node id and a closing quote, got 'S-1'");
  EXPECT_EQ(error_of("Switch 4 \"S-11\"\n[5] \"S-11\"[1]\n"),
            "t.topo:2:2: expected a port number, 1 to 4, got '5]'");
  EXPECT_EQ(error_of("Switch 4 \"S-11\"\n[1] \"S-11\"[9]\n"),
            "t.topo:2:12: expected a port of 'S-11', 1 to 4, got 9");
  EXPECT_EQ(error_of("Switch 4 \"S-11\"\n[1] \"S-11\"[2]\n[1] \"S-11\"[3]\n"),
            "t.topo:3:1: expected a port that was not described before, got '[1]'");
  EXPECT_EQ(error_of("Switch 4 \"S-11\"\nSwitch 4 \"S-11\"\n"),
            "t.topo:2:10: expected a node id that was not used before, got 'S-11'");
  EXPECT_EQ(error_of("Switch 4 \"S-11\" # \"x\" base port 0 lid 70000 lmc 0\n"),
            "t.topo:1:39: expected a LID, 0 to 65535, got '70000'");
  EXPECT_EQ(error_of("switchguid=0xabc(zz)\n"),
            "t.topo:1:18: expected a port GUID in hexadecimal, got 'zz)'");
  EXPECT_EQ(error_of("Switch 4 \"S-\x1b[2J\" junk\n"),
            "t.topo:1:19: expected a comment or the end of the line, got 'junk'");
  EXPECT_EQ(error_of("\x1b[31m\n").find('\x1b'), std::string::npos) << "messages are printable";
}

TEST(TopologyReader, AFileWithoutANodeIsNoFabric) {
  EXPECT_EQ(error_of(""), "t.topo:1:1: expected a node, got the end of the file");
  EXPECT_EQ(error_of("# Topology file\n#\n"),
            "t.topo:3:1: expected a node, got the end of the file");
}

TEST(TopologyReader, MissingFileIsNamed) {
  const auto fabric = read_topology_file("/nonexistent/x.topo");
  ASSERT_FALSE(fabric.has_value());
  EXPECT_EQ(fabric.error().message, "/nonexistent/x.topo: No such file or directory");
}

TEST(TopologyWriter, FullInfoAppendsRawCodes) {
  Fabric f = read(kSmall);
  f.port(0, 23).vl_cap = 3;
  TopologyTextOptions options;
  options.full_info = true;
  EXPECT_THAT(topology_text(f, options), HasSubstr("lid 9 4xEDR s=4 w=2 v=3\n"));
}

TEST(TopologyWriter, HostileNamesStayOnTheirLine) {
  Fabric f;
  Node node;
  node.guid = Guid{1};
  node.num_ports = 1;
  node.description = "x\"\nSwitch 4 \"S-2";
  f.add_node(node);
  const Fabric again = read(topology_text(f));
  EXPECT_THAT(again.nodes(), SizeIs(1));
  EXPECT_EQ(again.node(0).description, "x\" Switch 4 \"S-2");
}

}  // namespace
}  // namespace ib::fabric
