// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"

namespace ib::fabric {
namespace {

using ::testing::HasSubstr;

TEST(NodeNames, ReadsAMap) {
  const auto names = NodeNames::read(
      "# head nodes\r\n\r\n0x10 \"alpha one\" # first\n  0x0000000000000020\t\"b\"\n0x10 "
      "\"late\"\n",
      "map");
  ASSERT_TRUE(names.has_value()) << names.error().message;
  EXPECT_EQ(names->size(), 2U);
  EXPECT_EQ(names->find(Guid{0x10}), "alpha one");
  EXPECT_EQ(names->find(Guid{0x20}), "b");
  EXPECT_EQ(names->find(Guid{0x30}), std::nullopt);
  Node node;
  node.guid = Guid{0x30};
  node.description = "own\x1b";
  EXPECT_EQ(names->name_of(node), "own ");
}

TEST(NodeNames, SaysWhatIsWrongWithAnEntry) {
  const auto error = [](std::string_view text) {
    const auto names = NodeNames::read(text, "map");
    return names.has_value() ? "no error" : names.error().message;
  };
  EXPECT_EQ(error("# x\nhost \"a\"\n"),
            "map:2:1: expected a node GUID (0x and hexadecimal digits), got 'host'");
  EXPECT_EQ(error(" 0xzz \"a\""),
            "map:1:2: expected a node GUID (0x and hexadecimal digits), got '0xzz'");
  EXPECT_EQ(error("0x10 alpha"), "map:1:6: expected a name in quotes, got 'alpha'");
  EXPECT_EQ(error("0x10"), "map:1:5: expected a name in quotes, got the end of the line");
  EXPECT_EQ(error("0x10 \"al"), "map:1:9: expected a closing quote, got the end of the line");
  EXPECT_EQ(error("0x10 \"\""), "map:1:6: expected a name that is not empty, got '\"\"'");
  EXPECT_EQ(error("0x10 \"a\" b"), "map:1:10: expected a comment or the end of the line, got 'b'");
}

TEST(NodeNames, EveryLineThatCannotBeReadIsNamedAndTheOthersAreRead) {
  std::vector<Diagnostic> problems;
  const auto names = NodeNames::read("x\n0x1 \"one\"\n0x2 two\n", "map", problems);
  EXPECT_EQ(names.size(), 1U);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].place, (TextPlace{1, 1}));
  EXPECT_EQ(to_string(problems[1]), "map:3:5: error: expected a name in quotes, got 'two'");
}

TEST(NodeNames, ANodeIsCalledAsTheMapSaysElseByItsDescription) {
  Fabric f;
  Node node;
  node.guid = Guid{1};
  node.description = "one HCA-1";
  f.add_node(node);
  node.guid = Guid{2};
  node.description = "two HCA-1";
  f.add_node(node);
  NodeNames::read("0x1 \"rack 1\"\n0x2 \"rack 2\"\n", "map")->name_all(f);
  NodeNames::read("0x2 \"head\"\n", "map")->name_all(f);
  EXPECT_EQ(f.node(0).name(), "one HCA-1") << "the map of before counts no more";
  EXPECT_EQ(f.node(1).name(), "head");
  EXPECT_EQ(f.node(1).description, "two HCA-1");
}

TEST(ShortName, DropsWhatVendorsAdd) {
  const auto shorten = [](const char* description, bool is_switch) {
    Node node;
    node.type = is_switch ? wire::NodeType::Switch : wire::NodeType::ChannelAdapter;
    node.description = description;
    return short_name(node);
  };
  EXPECT_EQ(shorten("node0254 HCA-1", false), "node0254");
  EXPECT_EQ(shorten("MF0;sw95:MQM8700/U1", true), "sw95");
  EXPECT_EQ(shorten("MF0;Director-1:IS5600/L05/U1", true), "Director-1 L05/U1");
  EXPECT_EQ(shorten("leaf-001", true), "leaf-001");
  EXPECT_EQ(shorten("Infiniscale-IV Mellanox Technologies", true),
            "Infiniscale-IV Mellanox Technologies");
}

class FindNode : public ::testing::Test {
 protected:
  Fabric f = *generate_lab_like();
  std::string name(std::string_view text, const NodeNames* names = nullptr) {
    const auto n = find_node(f, text, names);
    return n ? f.node(*n).description : n.error().message;
  }
};

TEST_F(FindNode, ByIdGuidAndName) {
  const std::string full = "MF0;lab-sw95:MQM8700/U1";
  EXPECT_EQ(name("S-0002c90200400000"), full);
  EXPECT_EQ(name("0x0002c90200400000"), full);
  EXPECT_EQ(name("0x2c90200400000"), full);
  EXPECT_EQ(name(full), full);
  EXPECT_EQ(name("lab-sw95"), full);
  EXPECT_EQ(name("lab-96 HCA-2"), "lab-96 HCA-2");
  EXPECT_EQ(name(to_string(f.port(2, 1).guid)), f.node(2).description) << "a port's GUID";
  const auto names = NodeNames::read("0x0002c90200400000 \"core\"\n", "map");
  ASSERT_TRUE(names.has_value());
  EXPECT_EQ(name("core", &*names), full);
}

TEST_F(FindNode, RefusesNamesOfSeveralNodesWithTheirGuids) {
  EXPECT_EQ(name("lab-96"),
            "ambiguous name 'lab-96' (2 nodes); specify one by its GUID or as HOST:HCA:\n"
            "  \"lab-96 HCA-1\" 0x0002c90300000000 LID 3, lab-sw95 port 23\n"
            "  \"lab-96 HCA-2\" 0x0002c90300000010 LID 4, lab-sw95 port 24");
  EXPECT_EQ(find_node(f, "lab-96").error().kind, ErrorKind::Usage);
  EXPECT_EQ(name("nobody"), "no node is named 'nobody'");
  EXPECT_EQ(name("0x77"), "no node or port has the GUID 0x0000000000000077");
  EXPECT_EQ(find_node(f, "nobody").error().kind, ErrorKind::NotFound);
  const Fabric janus = *generate_janus_like();
  EXPECT_THAT(find_node(janus, "Infiniscale-IV Mellanox Technologies").error().message,
              HasSubstr("ambiguous name 'Infiniscale-IV Mellanox Technologies' (79 nodes)"));
}

TEST_F(FindNode, SuggestsTheNearestNames) {
  EXPECT_EQ(
      name("lab-96 HCA-3"),
      "no node is named 'lab-96 HCA-3'; did you mean 'lab-96 HCA-1' (LID 3, lab-sw95 port 23) "
      "or 'lab-96 HCA-2' (LID 4, lab-sw95 port 24)?");
  EXPECT_EQ(name("lab-sw96"), "no node is named 'lab-sw96'; did you mean 'lab-sw95' (LID 1)?");
}

TEST_F(FindNode, ByHostAndHca) {
  EXPECT_EQ(name("lab-96:HCA-2"), "lab-96 HCA-2");
  EXPECT_EQ(find_node_and_port(f, "lab-96:HCA-2:1")->port, 1);
  EXPECT_EQ(find_node(f, "lab-96:HCA-9").error().kind, ErrorKind::NotFound);
}

TEST_F(FindNode, WithAPort) {
  const auto whole = find_node_and_port(f, "MF0;lab-sw95:MQM8700/U1");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->port, std::nullopt);
  const auto with = find_node_and_port(f, "MF0;lab-sw95:MQM8700/U1:23");
  ASSERT_TRUE(with.has_value());
  EXPECT_EQ(with->node, whole->node);
  EXPECT_EQ(with->port, 23);
  EXPECT_EQ(find_node_and_port(f, "lab-sw95:0")->port, 0) << "a switch has a port 0";
  EXPECT_EQ(find_node_and_port(f, "lab-sw95:42").error().message,
            "expected a port of 'lab-sw95', 0 to 41, got 42");
  EXPECT_EQ(find_node_and_port(f, "lab-96 HCA-1:0").error().message,
            "expected a port of 'lab-96 HCA-1', 1 to 1, got 0");
  EXPECT_EQ(find_node_and_port(f, "x:1").error().message, "no node is named 'x'");
}

/// One grammar for all programs: LID, GUID, and every name of a node with or without a port.
TEST(EndPorts, AreFoundByEveryWordThatNamesThem) {
  Fabric f;
  Node leaf;
  leaf.type = wire::NodeType::Switch;
  leaf.guid = Guid{0x10};
  leaf.num_ports = 4;
  leaf.description = "MF0;leaf:MQM8700/U1";
  leaf.map_name = "rack 7";
  Node host;
  host.guid = Guid{0x20};
  host.num_ports = 2;
  host.description = "a06 HCA-1";
  const NodeIndex s = f.add_node(leaf), h = f.add_node(host);
  f.port(s, 0).lid = Lid{3};
  f.port(s, 0).guid = Guid{0x10};
  f.port(h, 2).lid = Lid{0x11};
  f.port(h, 2).guid = Guid{0x22};
  f.reindex();
  const auto found = [&](std::string_view word) {
    const auto port = find_end_port(f, word);
    return port ? *port : PortRef{};
  };
  for (const char* word :
       {"3", "0x3", "0x0000000000000010", "rack 7", "leaf", "leaf:2", "MF0;leaf:MQM8700/U1"})
    EXPECT_EQ(found(word), (PortRef{s, 0})) << word;
  for (const char* word : {"17", "0x0011", "0x0000000000000022", "0x0000000000000020", "a06",
                           "a06:HCA-1", "a06 HCA-1:2", "a06:2"})
    EXPECT_EQ(found(word), (PortRef{h, 2})) << word;
  const auto refused = [&](std::string_view word) {
    const auto port = find_end_port(f, word);
    return port ? "found" : port.error().message;
  };
  EXPECT_EQ(refused("70000"), "expected a LID up to 0xbfff, got '70000'");
  EXPECT_EQ(refused("0xc000"), "expected a LID up to 0xbfff, got '0xc000'");
  EXPECT_EQ(refused("0"), "expected a LID up to 0xbfff, got '0'");
  EXPECT_EQ(refused("9"), "no port has LID 9");
  EXPECT_EQ(refused("rack 8"), "no node is named 'rack 8'; did you mean 'rack 7' (LID 3)?");
}

}  // namespace
}  // namespace ib::fabric
