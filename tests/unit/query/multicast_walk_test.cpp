// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// walk_multicast_tree() over three switches with hosts, each of which can be told to misbehave: one
// case for each thing that it names.
#include "libdiag/query/multicast_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/query/echo_port.h"

namespace ib::query {
namespace {

using test::Echo;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Lid kGroup{0xC021};

struct Cable {
  std::string to;
  std::uint8_t port{};
};

struct Node {
  bool is_switch{true};
  std::uint64_t guid{};
  Lid lid{};
  std::uint8_t num_ports{20};
  std::uint16_t multicast_fdb_cap{64};
  std::uint8_t default_port{255}, default_not_primary_port{255};
  std::set<std::uint8_t> entry;
  std::set<std::uint8_t> down;
  std::map<std::uint8_t, Cable> cables;
  bool silent{}, refuses_tables{};
};

//   here [1] -- [1] left [18] -- [1] top [2] -- [19] right [1] -- [1] there
//              left [2] -- [1] near
class TreeWalkTest : public ::testing::Test {
 protected:
  TreeWalkTest() {
    std::uint64_t number = 0;
    for (const char* name : {"here", "near", "there", "left", "top", "right"}) {
      Node& node = nodes[name];
      node.is_switch = ++number > 3;
      node.guid = 0x10 * number;
      node.lid = Lid{static_cast<std::uint16_t>(number)};
      if (!node.is_switch) node.num_ports = 1;
    }
    cable("here", 1, "left", 1);
    cable("near", 1, "left", 2);
    cable("left", 18, "top", 1);
    cable("top", 2, "right", 19);
    cable("right", 1, "there", 1);
    nodes["left"].entry = {1, 2, 18};
    nodes["top"].entry = {1, 2};
    nodes["right"].entry = {1, 19};
  }

  void cable(const std::string& a, std::uint8_t a_port, const std::string& b, std::uint8_t b_port) {
    nodes[a].cables[a_port] = {b, b_port};
    nodes[b].cables[b_port] = {a, a_port};
  }

  MulticastTree walk(const TreeStart& start = {}) {
    const auto tree = walk_multicast_tree(session, kGroup, start);
    EXPECT_TRUE(tree) << (tree ? "" : tree.error().message);
    return tree ? *tree : MulticastTree{};
  }
  static std::vector<std::string> shown(const MulticastTree& tree) {
    std::vector<std::string> all;
    all.reserve(tree.nodes.size());
    for (const TreeNode& node : tree.nodes)
      all.push_back(std::to_string(node.depth) + " " + node.hop.description + " lid " +
                    std::to_string(node.hop.lid.value) + " in " +
                    std::to_string(node.hop.ingress_port) + " out " + to_string(node.out));
    return all;
  }
  static std::vector<std::string> faults(const MulticastTree& tree) {
    std::vector<std::string> all;
    all.reserve(tree.faults.size());
    for (const TreeFault& fault : tree.faults)
      all.push_back(std::string(tree_fault_name(fault.kind)) + ": " + fault.message);
    return all;
  }

  std::map<std::string, Node> nodes;
  Echo echo{[this](const mad::Packet& request) { return answer(request); }};
  mad::Session session{echo, {}, [this] { return echo.now; }};

 private:
  std::optional<mad::Packet> answer(const mad::Packet& request) {
    const auto path = request.mad.get<&wire::SmpHeader::initial_path>();
    std::string at = "here";
    std::uint8_t in = 1;
    for (std::size_t i = 1; i <= request.mad.get<&wire::SmpHeader::hop_count>(); ++i) {
      const Node& from = nodes[at];
      const auto cable = from.cables.find(path[i]);
      if (cable == from.cables.end() || from.down.contains(path[i])) return std::nullopt;
      at = cable->second.to;
      in = cable->second.port;
    }
    const Node& node = nodes[at];
    if (node.silent) return std::nullopt;
    auto reply = test::answer_to(request, wire::Method::GetResp);
    fill(reply.mad, at, node, in);
    return reply;
  }

  static void fill(wire::Mad& mad, const std::string& name, const Node& node, std::uint8_t in) {
    const std::uint32_t modifier = mad.attribute_modifier();
    switch (mad.attribute_id()) {
      case wire::attr::kNodeInfo: {
        wire::NodeInfo info;
        info.node_type = node.is_switch ? wire::NodeType::Switch : wire::NodeType::ChannelAdapter;
        info.node_guid = Guid{node.guid};
        info.port_guid = Guid{node.guid + (node.is_switch ? 0 : in)};
        info.num_ports = node.num_ports;
        info.local_port_num = PortNum{in};
        return wire::set_body(mad, info);
      }
      case wire::attr::kNodeDescription: {
        wire::NodeDescription text;
        std::copy(name.begin(), name.end(), text.text.begin());
        return wire::set_body(mad, text);
      }
      case wire::attr::kPortInfo: {
        wire::PortInfo info;
        info.lid = node.lid;
        const bool is_down = node.down.contains(static_cast<std::uint8_t>(modifier));
        info.port_state = is_down ? wire::PortState::Down : wire::PortState::Active;
        return wire::set_body(mad, info);
      }
      case wire::attr::kSwitchInfo: {
        wire::SwitchInfo info;
        info.multicast_fdb_cap = node.multicast_fdb_cap;
        info.default_multicast_primary_port = node.default_port;
        info.default_multicast_not_primary_port = node.default_not_primary_port;
        return wire::set_body(mad, info);
      }
      case wire::attr::kMulticastForwarding: {
        EXPECT_EQ(modifier & 0xFFFF, 1U) << "block 1 of 32 LIDs has 0xc021";
        if (node.refuses_tables) return mad.set<&wire::MadHeader::status>(wire::status::kBadValue);
        wire::MulticastForwardingTable table;
        for (const std::uint8_t port : node.entry)
          if (port / 16U == modifier >> 28)
            table.port_mask[1] = static_cast<std::uint16_t>(table.port_mask[1] | 1U << port % 16);
        return wire::set_body(mad, table);
      }
      default:
        FAIL() << "nothing else is asked";
    }
  }
};

TEST_F(TreeWalkTest, GoesOnFromEverySwitchButBack) {
  const MulticastTree tree = walk();
  EXPECT_THAT(shown(tree), ElementsAre("0 here lid 1 in 0 out 1", "1 left lid 4 in 1 out 2, 18",
                                       "2 near lid 2 in 1 out none", "2 top lid 5 in 1 out 2",
                                       "3 right lid 6 in 19 out 1", "4 there lid 3 in 1 out none"));
  EXPECT_THAT(faults(tree), IsEmpty());
  EXPECT_EQ(tree.nodes[5].parent, 4U);
  EXPECT_EQ(tree.nodes[5].parent_port, 1);
  ASSERT_NE(tree.find(Guid{0x30}, 1), nullptr);
  EXPECT_EQ(tree.find(Guid{0x30}, 2), nullptr);
}

TEST_F(TreeWalkTest, MayBeginAtASwitchWhereAMemberIs) {
  const MulticastTree tree = walk({mad::DirectedRoute{{1, 18, 2}}, 1, 0});
  EXPECT_THAT(shown(tree), ElementsAre("0 right lid 6 in 1 out 19", "1 top lid 5 in 2 out 1",
                                       "2 left lid 4 in 18 out 1, 2", "3 here lid 1 in 1 out none",
                                       "3 near lid 2 in 1 out none"));
}

TEST_F(TreeWalkTest, ASwitchWithoutAnEntryDropsWhatComes) {
  nodes["right"].entry = {};
  const std::string said =
      "no MFT entry: switch \"right\" has no entry for lid 0xc021 and drops "
      "what comes in by port 19";
  EXPECT_THAT(faults(walk()), ElementsAre(said));
  nodes["right"].entry = {1, 19};
  nodes["right"].multicast_fdb_cap = 33;  // LIDs 0xc000 to 0xc020
  EXPECT_THAT(faults(walk()), ElementsAre(said)) << "beyond MulticastFDBCap there is no entry";
}

TEST_F(TreeWalkTest, ASwitchWithoutAnEntryMayHaveADefaultPort) {
  nodes["right"].entry = {};
  nodes["right"].default_port = 1;
  MulticastTree tree = walk();
  EXPECT_THAT(faults(tree), IsEmpty());
  EXPECT_EQ(tree.nodes.size(), 6U);
  EXPECT_TRUE(tree.nodes[4].by_default_port);
  nodes["right"].default_port = 19;  // where it comes from: then by the other
  nodes["right"].default_not_primary_port = 1;
  EXPECT_EQ(walk().nodes.size(), 6U);
  nodes["right"].default_not_primary_port = 0;  // none
  EXPECT_EQ(walk().nodes.size(), 5U);
}

TEST_F(TreeWalkTest, APortWithoutALinkIsNamed) {
  nodes["top"].down = {2};
  EXPECT_THAT(faults(walk()),
              ElementsAre("link down: port 2 of switch \"top\", by which lid 0xc021 "
                          "leaves, is DOWN"));
  nodes["top"].entry = {1, 21};
  EXPECT_THAT(faults(walk()),
              ElementsAre("link down: the entry of switch \"top\" for lid 0xc021 has "
                          "port 21, of 20 ports"));
}

TEST_F(TreeWalkTest, WhatComesTwiceIsNamedAndNotFollowed) {
  cable("right", 3, "left", 3);
  nodes["right"].entry = {1, 3, 19};
  const MulticastTree tree = walk();
  EXPECT_EQ(tree.nodes.size(), 6U);
  EXPECT_THAT(faults(tree),
              ElementsAre("loop: packets come twice to switch \"left\": by its port 1, "
                          "and by port 3 from switch \"right\" port 3"));
  EXPECT_EQ(tree.faults[0].node_guid, Guid{0x60});
}

TEST_F(TreeWalkTest, AnEntryWithoutTheWayUpIsNamed) {
  nodes["right"].entry = {1};
  EXPECT_THAT(faults(walk()),
              ElementsAre(HasSubstr("no way up: the entry of switch \"right\" for lid "
                                    "0xc021 has not port 19, by which")));
}

TEST_F(TreeWalkTest, WhoDoesNotAnswerOrRefusesIsNamed) {
  nodes["there"].silent = true;
  MulticastTree tree = walk();
  EXPECT_EQ(tree.nodes.size(), 5U);
  EXPECT_THAT(
      faults(tree),
      ElementsAre(HasSubstr("no answer: beyond port 1 of switch \"right\": Get(NodeInfo)")));
  nodes["there"].silent = false;
  nodes["right"].refuses_tables = true;
  tree = walk();
  EXPECT_EQ(tree.nodes.size(), 5U);
  EXPECT_THAT(faults(tree), ElementsAre(HasSubstr("no answer: the table of switch \"right\": ")));
}

TEST_F(TreeWalkTest, WithoutABeginningThereIsNoTree) {
  nodes["here"].silent = true;
  const auto tree = walk_multicast_tree(session, kGroup, {});
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().kind, ErrorKind::Unavailable);
}

}  // namespace
}  // namespace ib::query
