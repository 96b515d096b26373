// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "libdiag/base/text.h"
#include "libdiag/fabric/graph.h"
#include "libdiag/fabric/topology_text.h"

namespace ib::fabric {
namespace {

using ::testing::HasSubstr;
using wire::NodeType;

Fabric made(const std::string& line) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, ' ')) words.emplace_back(word);
  auto fabric = generate(words);
  EXPECT_TRUE(fabric.has_value()) << line << ": " << fabric.error().message;
  return fabric.has_value() ? *std::move(fabric) : Fabric{};
}

std::string refusal(const std::string& line) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, ' ')) words.emplace_back(word);
  const auto fabric = generate(words);
  return fabric.has_value() ? "no error" : fabric.error().message;
}

bool in_one_piece(const Fabric& f) {
  std::vector<bool> seen(f.nodes().size(), false);
  std::vector<NodeIndex> queue{0};
  seen[0] = true;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const Port& port : f.ports(queue[i])) {
      if (!port.peer || seen[port.peer.node]) continue;
      seen[port.peer.node] = true;
      queue.push_back(port.peer.node);
    }
  }
  return queue.size() == f.nodes().size();
}

struct Case {
  const char* words;
  std::size_t switches, hosts, links;
};

class Kinds : public ::testing::TestWithParam<Case> {};

TEST_P(Kinds, HaveTheExpectedPartsAndReadBack) {
  const Case& c = GetParam();
  const Fabric f = made(c.words);
  EXPECT_EQ(f.count(NodeType::Switch), c.switches);
  EXPECT_EQ(f.count(NodeType::ChannelAdapter), c.hosts);
  EXPECT_EQ(f.link_count(), c.links);
  EXPECT_TRUE(in_one_piece(f));
  std::vector<std::string> warnings;
  const std::string text = topology_text(f);
  const auto again = read_topology(text, "gen", &warnings);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_THAT(warnings, ::testing::IsEmpty());
  EXPECT_EQ(topology_text(*again), text);
}

INSTANTIATE_TEST_SUITE_P(
    Generate, Kinds,
    ::testing::Values(
        Case{"fat-tree", 54, 648, 1296}, Case{"fat-tree --levels 3 --radix 4", 20, 16, 48},
        Case{"fat-tree --levels 3 --radix 24", 720, 3456, 3456UL * 3},
        Case{"fat-tree --hosts-per-leaf 24 --leaves 24 --spines 12", 36, 576, 576 + 288},
        Case{"fat-tree --radix 8 --oversubscription 3", 10, 48, 64},
        Case{"fat-tree --levels 3 --radix 8 --pods 2 --spines 4", 20, 32, 32UL * 3},
        Case{"fat-tree --radix 8 --top-hosts 3", 12, 32 + 12, 64 + 12},
        Case{"fat-tree --levels 3 --radix 4 --middle-hosts 2 --top-hosts 1", 20, 16 + 16 + 4,
             48 + 16 + 4},
        Case{"torus 4x4x4 --hosts 2 --cables 2", 64, 128, 128 + 192 * 2},
        Case{"torus 2x3", 6, 6, 6 + 3 + 6}, Case{"torus 6", 6, 6, 12},
        Case{"mesh 3x4", 12, 12, 12 + 8 + 9}, Case{"hypercube 4", 16, 16, 16 + 32},
        Case{"hyperx 12x8 --hosts 7", 96, 672, 672 + 8 * 66 + 12 * 28},
        Case{"dragonfly-plus", 40, 80, 80 + 80 + 40}, Case{"dragonfly", 36, 72, 72 + 54 + 36},
        Case{"random --switches 125 --links 1000 --hosts 8", 125, 1000, 2000},
        Case{"kautz --degree 5 --diameter 3 --hosts 7", 150, 1050, 1050 + 750},
        Case{"janus-like", 214, 1356, 4168}, Case{"superpod-like", 40, 582, 1114},
        Case{"lab-like", 2, 13, 16}));

TEST(Generate, IsTheSameEveryTime) {
  for (const char* words : {"random --seed 7", "fat-tree --missing 10 --seed 3", "janus-like"}) {
    EXPECT_EQ(topology_text(made(words)), topology_text(made(words)));
  }
  EXPECT_NE(topology_text(made("random --seed 7")), topology_text(made("random --seed 8")));
}

TEST(Generate, MissingPartsLeaveOnePiece) {
  const Fabric whole = made("fat-tree --radix 8 --levels 3");
  for (const char* seed : {"1", "2", "3"}) {
    const Fabric f = made(std::string("fat-tree --radix 8 --levels 3 --missing-hosts 10 "
                                      "--missing-links 25 --seed ") +
                          seed);
    EXPECT_TRUE(in_one_piece(f));
    EXPECT_EQ(f.count(NodeType::ChannelAdapter), 115U);
    EXPECT_EQ(f.link_count(), 115U + 192U);
    // What is left keeps its name.
    const auto n = whole.find_node(f.node(0).guid);
    ASSERT_TRUE(n.has_value());
    EXPECT_EQ(whole.node(*n).description, f.node(0).description);
  }
  const Fabric f = made("fat-tree --radix 8 --missing-switches 25");
  EXPECT_EQ(f.count(NodeType::Switch), 9U);
  EXPECT_TRUE(in_one_piece(f));
}

TEST(Generate, HostsAboveTheLeavesLeaveTheCablesWhereTheyWere) {
  const std::string tree = "fat-tree --levels 3 --radix 4";
  const Fabric whole = made(tree), f = made(tree + " --middle-hosts 1 --top-hosts 2");
  for (NodeIndex n = 0; n < whole.nodes().size(); ++n) {
    const Node& node = whole.node(n);
    const NodeIndex same = *f.find_node(node.guid);
    EXPECT_EQ(f.node(same).description, node.description);
    unsigned more = 0;
    for (std::uint8_t p = 1; p <= f.node(same).num_ports; ++p) {
      if (p > node.num_ports) {
        ++more;
        continue;
      }
      if (!whole.port(n, p).peer) continue;
      EXPECT_EQ(f.node(f.port(same, p).peer.node).guid,
                whole.node(whole.port(n, p).peer.node).guid);
    }
    const bool is_core = node.description.starts_with("core");
    EXPECT_EQ(more, is_core ? 2U : node.description.starts_with("spine") ? 1U : 0U);
  }
}

TEST(Generate, LookAlikesShowTheirDamage) {
  const Fabric f = *generate_janus_like();
  std::map<std::uint64_t, unsigned> chassis;
  std::map<std::pair<NodeIndex, NodeIndex>, unsigned> bundles;
  bool host_on_line_card = false, idle_second_port = false;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    const Node& node = f.node(n);
    if (!node.is_switch()) {
      if (node.num_ports == 2 && !f.port(n, 2).present) idle_second_port = true;
      continue;
    }
    ++chassis[node.system_image_guid.value];
    for (const Port& port : f.ports(n)) {
      if (!port.peer) continue;
      if (f.node(port.peer.node).is_switch()) {
        ++bundles[{n, port.peer.node}];
      } else if (node.description.find("/L") != std::string::npos) {
        host_on_line_card = true;
      }
    }
  }
  EXPECT_EQ(std::count_if(chassis.begin(), chassis.end(), [](auto& c) { return c.second == 45; }),
            3);
  std::map<unsigned, unsigned> widths;
  for (const auto& bundle : bundles) ++widths[bundle.second];
  EXPECT_GE(widths.size(), 5U) << "uneven multiplicities";
  EXPECT_TRUE(host_on_line_card);
  EXPECT_TRUE(idle_second_port);
}

TEST(Generate, LinksAndLidsAsAsked) {
  const Fabric f = made("torus 4 --link 2xHDR --no-lids");
  EXPECT_EQ(f.port(0, 1).width, wire::LinkWidth::W2x);
  EXPECT_EQ(f.port(0, 1).speed, wire::LinkSpeed::Hdr);
  EXPECT_EQ(f.port(0, 0).lid, kNoLid);
  EXPECT_EQ(made("torus 4").find_lid(Lid{8})->port, 1);
}

TEST(Generate, RefusesInWords) {
  EXPECT_THAT(refusal("tree"), HasSubstr("expected a kind of fabric (fat-tree, torus"));
  EXPECT_THAT(refusal("tree"), HasSubstr("got 'tree'"));
  EXPECT_EQ(refusal("fat-tree --radix x"),
            "gen fat-tree: --radix: expected a number up to 254, got 'x'");
  EXPECT_EQ(refusal("fat-tree --radix"), "gen fat-tree: --radix needs a value");
  EXPECT_EQ(refusal("fat-tree --groups 3"),
            "gen fat-tree: expected an option of this kind, got '--groups'");
  EXPECT_EQ(refusal("fat-tree 7"), "gen fat-tree: expected nothing more, got '7'");
  EXPECT_EQ(refusal("torus 4xx4"),
            "gen torus: sizes: expected up to 8 numbers joined by x, like 4x4x4, got '4xx4'");
  EXPECT_EQ(refusal("torus --link 4x"),
            "gen torus: --link: expected a width and speed like 4xEDR, got '4x'");
  EXPECT_EQ(refusal("torus --missing 101"),
            "gen torus: --missing: expected a number from 0 to 100, got '101'");
  EXPECT_EQ(refusal("fat-tree --radix 4 --hosts-per-leaf 4"),
            "gen fat-tree: a leaf of 4 ports cannot have 4 hosts and an uplink");
  EXPECT_EQ(refusal("fat-tree --radix 4 --leaves 9"),
            "gen fat-tree: switch 'spine-001' has too few ports for this fabric");
  EXPECT_EQ(refusal("fat-tree --radix 4 --middle-hosts 1"),
            "gen fat-tree: a tree of 2 levels has no switches between leaves and spines for hosts");
  EXPECT_EQ(refusal("fat-tree --radix 4 --top-hosts 254"),
            "gen fat-tree: switch 'spine-002' has too few ports for this fabric");
  EXPECT_EQ(refusal("fat-tree --radix 254 --levels 3"),
            "gen fat-tree: this fabric has more than 200000 nodes");
  EXPECT_EQ(refusal("hyperx 300x300"),
            "gen hyperx: a switch would need 602 ports; there are at most 254");
  EXPECT_EQ(refusal("torus 4x4 --hosts 250 --cables 2"),
            "gen torus: a switch would need 258 ports; there are at most 254");
  EXPECT_EQ(refusal("kautz --degree 100 --diameter 9"),
            "gen kautz: this Kautz graph has more switches than can be");
}

TEST(Generate, FullThreeLevelTreeOf36PortSwitches) {
  const Fabric f = made("fat-tree --levels 3");
  EXPECT_EQ(f.count(NodeType::Switch), 1620U);
  EXPECT_EQ(f.count(NodeType::ChannelAdapter), 11664U);
  EXPECT_EQ(f.link_count(), 3U * 11664U);
  const CompactGraph g(f);
  EXPECT_EQ(g.arc_count(), 4U * 11664U);
  EXPECT_EQ(g.destinations().size(), 1620U + 11664U);
}

}  // namespace
}  // namespace ib::fabric
