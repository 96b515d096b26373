// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PathWalk against two switches in a row, each of which can be told to misbehave: one case for each
// way a walk can end.
#include "libdiag/query/path_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace ib::query {
namespace {

using ::testing::HasSubstr;

constexpr Lid kHere{1}, kLeft{2}, kRight{3}, kThere{4};

struct Node {
  wire::NodeType type{wire::NodeType::Switch};
  std::string name;
  std::uint64_t guid{};
  Lid lid{};
  std::uint8_t num_ports{4}, local_port{1}, lmc{0};
  std::uint16_t linear_fdb_top{10};
  std::map<std::uint16_t, std::uint8_t> table;     // by LID; absent: 255
  std::map<std::uint8_t, wire::PortState> states;  // absent: ACTIVE
  std::map<std::uint16_t, std::uint16_t> status;   // by attribute; absent: 0
  bool silent{false};
};

Node node(const char* name, std::uint64_t guid, Lid lid) {
  Node made;
  made.name = name;
  made.guid = guid;
  made.lid = lid;
  return made;
}
Node host(const char* name, std::uint64_t guid, Lid lid) {
  Node made = node(name, guid, lid);
  made.type = wire::NodeType::ChannelAdapter;
  made.num_ports = 1;
  return made;
}

//   here [1] -- [1] left [2] -- [1] right [3] -- [1] there
// keyed by the directed route that leads to the node.
std::map<std::string, Node> chain() {
  Node left = node("left", 0x20, kLeft), right = node("right", 0x30, kRight);
  left.table = {{1, 1}, {2, 0}, {3, 2}, {4, 2}};
  right.table = {{1, 1}, {2, 1}, {3, 0}, {4, 3}};
  return {{"0", host("here", 0x10, kHere)},
          {"0,1", left},
          {"0,1,2", right},
          {"0,1,2,3", host("there", 0x40, kThere)}};
}

class PathWalkEnds : public ::testing::Test {
 protected:
  Walk walk(Lid dlid = kThere, WalkOptions options = {}) {
    PathWalk machine(dlid, std::move(options));
    for (auto requests = machine.take_requests(); !requests.empty();
         requests = machine.take_requests()) {
      EXPECT_FALSE(machine.done()) << "it asks although it is done";
      for (const mad::Request& request : requests) {
        ++asked;
        machine.on_completion(Instant{0}, answer(request));
      }
    }
    EXPECT_TRUE(machine.done());
    return machine.walk();
  }

  std::map<std::string, Node> nodes = chain();
  std::size_t asked{0};
  /// Where a route is not in `nodes`: the node that stands there.
  std::function<std::optional<Node>(const mad::DirectedRoute&)> beyond;

 private:
  mad::Completion answer(const mad::Request& request) {
    const auto path = request.mad.get<&wire::SmpHeader::initial_path>();
    mad::DirectedRoute route;
    for (std::size_t i = 1; i <= request.mad.get<&wire::SmpHeader::hop_count>(); ++i)
      route.hops.push_back(path[i]);
    std::optional<Node> at;
    if (const auto found = nodes.find(to_string(route)); found != nodes.end()) {
      at = found->second;
    } else if (beyond) {
      at = beyond(route);
    }
    if (!at || at->silent)
      return {request.cookie, fail(ErrorKind::TimedOut, "no answer"), Duration{0}, 8};
    mad::Packet reply;
    reply.mad = request.mad;
    fill(*at, request.mad.attribute_id(),
         static_cast<std::uint8_t>(request.mad.attribute_modifier()), reply.mad);
    const auto status = at->status.find(request.mad.attribute_id());
    if (status != at->status.end()) reply.mad.set<&wire::MadHeader::status>(status->second);
    return {request.cookie, reply, Duration{0}, 1};
  }

  static void fill(const Node& at, std::uint16_t attribute, std::uint8_t port, wire::Mad& to) {
    switch (attribute) {
      case wire::attr::kNodeInfo: {
        wire::NodeInfo info;
        info.node_type = at.type;
        info.num_ports = at.num_ports;
        info.node_guid = Guid{at.guid};
        info.port_guid = Guid{at.guid + 1};
        info.local_port_num = PortNum{at.local_port};
        return wire::set_body(to, info);
      }
      case wire::attr::kNodeDescription: {
        wire::NodeDescription description;
        std::copy(at.name.begin(), at.name.end(), description.text.begin());
        return wire::set_body(to, description);
      }
      case wire::attr::kPortInfo: {
        wire::PortInfo info;
        info.lid = at.lid;
        info.lmc = at.lmc;
        const auto state = at.states.find(port);
        info.port_state = state == at.states.end() ? wire::PortState::Active : state->second;
        return wire::set_body(to, info);
      }
      case wire::attr::kSwitchInfo: {
        wire::SwitchInfo info;
        info.linear_fdb_top = at.linear_fdb_top;
        return wire::set_body(to, info);
      }
      default: {
        ASSERT_EQ(attribute, wire::attr::kLinearForwarding);
        wire::LinearForwardingTable table;
        table.port.fill(255);
        for (const auto& [lid, out] : at.table) table.port[lid % 64] = out;
        return wire::set_body(to, table);
      }
    }
  }
};

TEST_F(PathWalkEnds, Arrived) {
  const Walk found = walk();
  EXPECT_EQ(found.end, WalkEnd::Arrived) << found.failure;
  EXPECT_EQ(found.failure, "");
  ASSERT_EQ(found.hops.size(), 4U);
  const std::uint8_t in[] = {0, 1, 1, 1}, out[] = {1, 2, 3, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found.hops[i].ingress_port, in[i]) << i;
    EXPECT_EQ(found.hops[i].egress_port, out[i]) << i;
    EXPECT_EQ(found.hops[i].lid.value, i + 1);
  }
  EXPECT_EQ(found.hops[3].description, "there");
}

TEST_F(PathWalkEnds, ArrivedAtASwitchByAnyLidOfARangeAndAtOurselves) {
  EXPECT_EQ(walk(kRight).hops.size(), 3U);
  EXPECT_EQ(walk(kHere).hops.size(), 1U);
  nodes["0,1,2,3"].lmc = 1;  // LIDs 4 and 5
  nodes["0,1"].table[5] = 2;
  nodes["0,1,2"].table[5] = 3;
  EXPECT_TRUE(walk(Lid{5}).arrived());
}

TEST_F(PathWalkEnds, StartsWhereItIsTold) {
  WalkOptions options;
  options.start = {{1, 2}};
  const Walk found = walk(kHere, options);  // from the right switch back
  EXPECT_EQ(found.end, WalkEnd::TimedOut);  // nobody stands at 0,1,2,1 here
  ASSERT_EQ(found.hops.size(), 1U);
  EXPECT_EQ(found.hops[0].egress_port, 1);
  EXPECT_THAT(found.failure, HasSubstr("beyond port 1 of switch \"right\""));
}

TEST_F(PathWalkEnds, LinkDown) {
  nodes["0,1"].states[2] = wire::PortState::Down;
  EXPECT_EQ(walk().end, WalkEnd::LinkDown);
  EXPECT_THAT(walk().failure, HasSubstr("port 2 of switch \"left\""));
  EXPECT_EQ(walk().hops.size(), 2U);
  nodes["0,1"].states[2] = wire::PortState::Initialize;  // up, but nothing passes
  EXPECT_EQ(walk().end, WalkEnd::LinkDown);
  EXPECT_THAT(walk().failure, HasSubstr("INIT"));
}

TEST_F(PathWalkEnds, NoEntry) {
  nodes["0,1,2"].table.erase(4);
  EXPECT_EQ(walk().end, WalkEnd::NoEntry);
  EXPECT_EQ(walk().hops.size(), 3U);
  nodes["0,1,2"].table[4] = 77;  // a port it has not
  EXPECT_EQ(walk().end, WalkEnd::NoEntry);
  nodes["0,1,2"] = chain()["0,1,2"];
  nodes["0,1,2"].linear_fdb_top = 3;  // what stands beyond it does not count
  EXPECT_EQ(walk().end, WalkEnd::NoEntry);
  EXPECT_THAT(walk().failure, HasSubstr("LinearFDBTop is 3"));
}

TEST_F(PathWalkEnds, WrongPort) {
  nodes["0,1,2,3"].lid = Lid{9};
  EXPECT_EQ(walk().end, WalkEnd::WrongPort);
  EXPECT_THAT(walk().failure, HasSubstr("ca \"there\" port 1, whose lid is 9"));
  nodes["0,1,2"].table[4] = 0;  // a switch that keeps what is not its own
  EXPECT_EQ(walk().end, WalkEnd::WrongPort);
  EXPECT_EQ(walk().hops.size(), 3U);
}

TEST_F(PathWalkEnds, Loop) {
  nodes["0,1,2"].table[4] = 1;  // back to the left
  nodes["0,1,2,1"] = nodes["0,1"];
  nodes["0,1,2,1"].local_port = 2;
  const Walk found = walk();
  EXPECT_EQ(found.end, WalkEnd::Loop);
  ASSERT_EQ(found.hops.size(), 4U);
  EXPECT_EQ(found.hops[3].node_guid, found.hops[1].node_guid);
  EXPECT_THAT(found.failure, HasSubstr("lead lid 4 back to switch \"left\""));
}

TEST_F(PathWalkEnds, TooLong) {
  beyond = [](const mad::DirectedRoute& route) {
    Node one = node("one of many", 0x1000 + route.hops.size(), Lid{9});
    one.table[4] = 2;
    return std::optional(one);
  };
  nodes["0,1,2"].table[4] = 2;
  const Walk found = walk();
  EXPECT_EQ(found.end, WalkEnd::TooLong);
  EXPECT_EQ(found.hops.back().route.hops.size(), 63U);  // a directed route holds no more
}

TEST_F(PathWalkEnds, TimedOut) {
  nodes["0,1,2"].silent = true;
  const Walk found = walk();
  EXPECT_EQ(found.end, WalkEnd::TimedOut);
  EXPECT_EQ(found.hops.size(), 2U) << "who never said a word is no hop";
  EXPECT_THAT(found.failure, HasSubstr("beyond port 2 of switch \"left\": no answer"));
}

TEST_F(PathWalkEnds, Refused) {
  nodes["0,1,2"].status[wire::attr::kSwitchInfo] = 0x001c;
  const Walk found = walk();
  EXPECT_EQ(found.end, WalkEnd::Refused);
  EXPECT_EQ(found.hops.size(), 3U);
  EXPECT_THAT(found.failure, HasSubstr("Get(SwitchInfo) over DR path 0,1,2: status 0x001c"));
}

TEST_F(PathWalkEnds, ANameThatIsRefusedIsNoFailure) {
  nodes["0,1,2"].status[wire::attr::kNodeDescription] = 0x000c;
  EXPECT_TRUE(walk().arrived());
}

TEST_F(PathWalkEnds, BadAnswer) {
  nodes["0,1,2"].local_port = 9;  // of four
  EXPECT_EQ(walk().end, WalkEnd::BadAnswer);
  EXPECT_THAT(walk().failure, HasSubstr("LocalPortNum 9 of 4 ports"));
  nodes["0,1,2"].local_port = 0;  // port 0 has no cable to come in by
  EXPECT_EQ(walk().end, WalkEnd::BadAnswer);
}

TEST_F(PathWalkEnds, EachHasAWordOfItsOwn) {
  std::map<std::string_view, int> words;
  for (int end = 0; end <= static_cast<int>(WalkEnd::BadAnswer); ++end)
    ++words[walk_end_name(static_cast<WalkEnd>(end))];
  EXPECT_EQ(words.size(), static_cast<std::size_t>(WalkEnd::BadAnswer) + 1);
  EXPECT_EQ(words.count(""), 0U);
}

}  // namespace
}  // namespace ib::query
