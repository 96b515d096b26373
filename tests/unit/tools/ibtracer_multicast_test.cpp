// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A group's trace: answers of agents and what they make of members, who is to blame, verdicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/echo_port.h"
#include "tools/ibtracer/multicast.h"
#include "tools/ibtracer/multicast_answer.h"
#include "tools/ibtracer/multicast_blame.h"
#include "tools/ibtracer/multicast_questions.h"
#include "tools/ibtracer/report.h"

namespace ibtracer {
namespace {

using ib::Gid;
using ib::Guid;
using ib::Lid;
using ib::PortNum;
using ib::query::PortSet;
using ib::query::TreeFault;
using ib::query::TreeFaultKind;
using ib::query::TreeNode;
using ib::query::test::Echo;
using ::testing::HasSubstr;
namespace wire = ib::wire;

wire::PortSetBytes set_of(std::initializer_list<std::uint8_t> ports) {
  wire::PortSetBytes bytes{};
  for (const auto port : ports) wire::add_port(bytes, port);
  return bytes;
}

TEST(PortSets, HavePortNAtBitNModulo8OfByteNBy8) {
  const auto bytes = set_of({0, 9, 255});
  EXPECT_EQ(bytes[0], 0x01);
  EXPECT_EQ(bytes[1], 0x02);
  EXPECT_EQ(bytes[31], 0x80);
  EXPECT_EQ(ports_of(bytes).count(), 3U);
  EXPECT_EQ(bytes_of(ports_of(bytes)), bytes);
}

class Answers : public ::testing::Test {
 protected:
  Answers() {
    asked.mgid.bytes[0] = 0xFF;
    asked.mlid = Lid{0xC003};
    asked.expected_ingress = set_of({1, 2});
    body = asked;
    body.known = wire::kKnowsIngress | wire::kKnowsEgress;
    body.answers = 2;
    body.answer = 1;
    body.port = PortNum{2};
    body.port_guid = Guid{0x12};
    body.actual_ingress = set_of({1, 2});
  }
  ib::Result<MulticastAnswer> read(std::uint16_t status = 0) const {
    wire::Mad mad = wire::make_mad(wire::MgmtClass::VendorIbtracer, wire::Method::GetResp,
                                   wire::attr::kMulticastRoute, 1);
    wire::set_body(mad, body);
    mad.set<&wire::MadHeader::status>(status);
    return read_multicast_answer(mad, asked, 1);
  }
  std::string complaint(std::uint16_t status = 0) const {
    const auto answer = read(status);
    return answer ? "" : answer.error().message;
  }
  wire::MulticastRoute asked, body;
};

TEST_F(Answers, SayWhichPortTheySpeakOf) {
  const auto answer = read();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_FALSE(answer->contradicts);
  EXPECT_EQ(answer->answers, 2);
  EXPECT_EQ(answer->port, 2);
  EXPECT_EQ(answer->port_guid, Guid{0x12});
  EXPECT_EQ(answer->ingress.count(), 2U);
}

TEST_F(Answers, WithStatusSevenContradictWhereASetDiffers) {
  body.port = PortNum{3};
  ASSERT_TRUE(read(wire::status::kBadValue));
  EXPECT_TRUE(read(wire::status::kBadValue)->contradicts);
  EXPECT_EQ(complaint(), "status 0x0000 with port 3");
  body.port = PortNum{2};
  EXPECT_EQ(complaint(wire::status::kBadValue), "status 0x001c with port 2");
  body.actual_egress = set_of({1});
  EXPECT_TRUE(read(wire::status::kBadValue)->contradicts) << "a host that passes packets on";
}

TEST_F(Answers, OfWhoKnowsNothingTellNothing) {
  body.known = 0;
  body.port = PortNum{0};
  const auto answer = read();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->ingress.none());
}

TEST_F(Answers, ThatAnswerSomethingElseAreMalformed) {
  EXPECT_EQ(read(wire::status::kBadAttribute).error().mad_status, wire::status::kBadAttribute);
  body.answer = 0;
  EXPECT_EQ(complaint(), "answer 0 of 2, where answer 1 was asked for");
  body.answer = body.answers = 1;
  EXPECT_EQ(complaint(), "answer 1 of 1, where answer 1 was asked for");
  body.answers = 2;
  body.mlid = Lid{0xC004};
  EXPECT_EQ(complaint(), "it repeats another question");
}

TreeNode node(bool is_switch, std::uint64_t guid, std::size_t parent, std::uint8_t parent_port,
              std::uint8_t in, const char* name) {
  TreeNode made;
  made.hop.type = is_switch ? wire::NodeType::Switch : wire::NodeType::ChannelAdapter;
  made.hop.node_guid = Guid{guid};
  made.hop.port_guid = Guid{guid + in};
  made.hop.lid = Lid{static_cast<std::uint16_t>(guid)};
  made.hop.num_ports = is_switch ? 20 : 2;
  made.hop.ingress_port = in;
  made.hop.description = name;
  made.parent = parent;
  made.parent_port = parent_port;
  return made;
}
PortSet ports(std::initializer_list<std::uint8_t> numbers) {
  PortSet set;
  for (const auto number : numbers) set.set(number);
  return set;
}

/// here -- [1] leaf [2], [3] -- [1] and [2] of one host
MulticastReport one_leaf() {
  MulticastReport report;
  report.mgid.bytes = {0xFF, 0x12};
  report.mlid = Lid{0xC003};
  report.source = "here";
  report.tree.nodes = {node(false, 0x10, TreeNode::kNone, 0, 0, "here"),
                       node(true, 0x20, 0, 1, 1, "leaf"), node(false, 0x30, 1, 2, 1, "host"),
                       node(false, 0x30, 1, 3, 2, "host")};
  report.tree.nodes[0].out = ports({1});
  report.tree.nodes[1].entry = ports({1, 2, 3});
  report.tree.nodes[1].out = ports({2, 3});
  report.agents.resize(4);
  for (std::uint8_t port = 0; port < 3; ++port) {
    Member member;
    member.node_guid = Guid{port == 0 ? 0x10U : 0x30U};
    member.port_gid = Gid::from(ib::kDefaultSubnetPrefix, Guid{port == 0 ? 0x11U : 0x30U + port});
    member.name = port == 0 ? "here" : "host";
    member.lid = Lid{static_cast<std::uint16_t>(port == 0 ? 1 : 4 + port)};
    member.port = port == 0 ? 1 : port;
    member.join_state = 1;
    member.word = port == 0 ? MemberWord::Source : MemberWord::Doubtful;
    if (port != 0) member.place = port + 1U;
    report.members.push_back(member);
  }
  return report;
}

/// Agents by LID: what each says of which port, in the order of its answers; none: 0x000C.
using Agents = std::map<std::uint16_t, std::vector<std::pair<std::uint8_t, std::uint64_t>>>;

MulticastReport asked(const Agents& agents, std::vector<std::string>* questions = nullptr) {
  Echo echo([&](const ib::mad::Packet& request) -> std::optional<ib::mad::Packet> {
    auto reply = ib::query::test::answer_to(request, wire::Method::GetResp);
    const auto agent = agents.find(request.address.lid.value);
    if (agent == agents.end()) {
      reply.mad.set<&wire::MadHeader::status>(wire::status::kBadAttribute);
    } else if (request.mad.attribute_id() == wire::attr::kMulticastRoute) {
      const std::uint32_t chosen = request.mad.attribute_modifier();
      if (questions != nullptr)
        questions->push_back("lid " + std::to_string(request.address.lid.value) + " answer " +
                             std::to_string(chosen));
      auto body = wire::body<wire::MulticastRoute>(request.mad);
      body.known = wire::kKnowsIngress | wire::kKnowsEgress;
      body.answers = static_cast<std::uint8_t>(agent->second.size());
      body.answer = static_cast<std::uint8_t>(chosen);
      body.port = PortNum{agent->second[chosen].first};
      body.port_guid = Guid{agent->second[chosen].second};
      wire::add_port(body.actual_ingress, body.port.value);
      if (!wire::has_port(body.expected_ingress, body.port.value))
        reply.mad.set<&wire::MadHeader::status>(wire::status::kBadValue);
      wire::set_body(reply.mad, body);
    }
    return reply;
  });
  ib::mad::Session session(echo, {}, [&] { return echo.now; });
  MulticastReport report = one_leaf();
  EXPECT_TRUE(ask_agents(session, {}, report));
  return report;
}

TEST(MulticastQuestions, AllAnswersOfANodeAreFetchedFromOneOfItsPorts) {
  std::vector<std::string> questions;
  const auto report = asked({{5, {{1, 0x31}, {2, 0x32}}}}, &questions);
  EXPECT_THAT(questions, ::testing::ElementsAre("lid 5 answer 0", "lid 5 answer 1"));
  EXPECT_EQ(report.members[1].word, MemberWord::Confirmed);
  EXPECT_EQ(report.members[2].word, MemberWord::Confirmed);
  EXPECT_EQ(report.agents[1], AgentWord::NoAgent) << "the switch";
  EXPECT_EQ(report.verdict(), Verdict::Verified);
}

TEST(MulticastQuestions, APortThatTheFirstAgentDoesNotSpeakOfIsAskedByItself) {
  std::vector<std::string> questions;
  auto report = asked({{5, {{1, 0x31}}}, {6, {{2, 0x32}}}}, &questions);
  EXPECT_THAT(questions, ::testing::ElementsAre("lid 5 answer 0", "lid 6 answer 0"));
  EXPECT_EQ(report.verdict(), Verdict::Verified);
  report = asked({{5, {{1, 0x31}}}});
  EXPECT_EQ(report.members[1].word, MemberWord::Confirmed);
  EXPECT_EQ(report.members[2].word, MemberWord::Doubtful);
  EXPECT_EQ(report.members[2].agent, AgentWord::NoAgent);
  EXPECT_EQ(report.verdict(), Verdict::Partly);
}

TEST(MulticastQuestions, AnswersThatContradictEachOtherLeaveADoubt) {
  const auto report = asked({{5, {{1, 0x31}, {2, 0x32}, {2, 0x39}}}});
  EXPECT_EQ(report.members[1].word, MemberWord::Confirmed);
  EXPECT_EQ(report.members[2].word, MemberWord::Doubtful);
  EXPECT_THAT(report.members[2].note, HasSubstr("gives two answers"));
}

TEST(MulticastQuestions, AnAgentThatTakesPacketsByAnotherPortContradicts) {
  const auto report = asked({{5, {{4, 0x31}}}});
  EXPECT_EQ(report.members[1].word, MemberWord::Contradicted);
  EXPECT_EQ(report.verdict(), Verdict::Mismatch);
  EXPECT_THAT(
      text_report(report, false),
      HasSubstr("MISMATCH group ff12:: (lid 0xc003): \"host\": its agent says that "
                "0x0000000000000031 is its port 4, and takes packets by 4; the tree leads to "
                "port 1\n"));
}

TEST(MulticastBlame, IsTheSwitchOfTheTreeThatTheOtherSideComesTo) {
  const auto report = one_leaf();
  ib::query::MulticastTree side;
  side.nodes = {node(true, 0x40, TreeNode::kNone, 0, 7, "right"),
                node(true, 0x20, 0, 8, 9, "leaf")};
  side.nodes[1].entry = ports({1, 2, 3});
  const auto fault = where_they_meet(report.tree, side, report.mlid);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, TreeFaultKind::NotThere);
  EXPECT_EQ(fault->node_guid, Guid{0x20});
  EXPECT_EQ(fault->port, 9);
  EXPECT_EQ(
      fault->message,
      "the entry of switch \"leaf\" for lid 0xc003 has not port 9, where switch \"right\" is");
  auto tree = report.tree;
  tree.faults = {{TreeFaultKind::LinkDown, Guid{0x20}, 9, "port 9 is DOWN"}};
  EXPECT_EQ(where_they_meet(tree, side, report.mlid)->message, "port 9 is DOWN");
  side.nodes.pop_back();
  EXPECT_FALSE(where_they_meet(report.tree, side, report.mlid));
}

TEST(MulticastVerdict, IsTheWorstOfMembersAndFaults) {
  auto report = one_leaf();
  report.members[1].word = report.members[2].word = MemberWord::Confirmed;
  EXPECT_EQ(report.verdict(), Verdict::Verified);
  const auto with = [&](TreeFaultKind kind) {
    report.faults = {{kind, Guid{0x20}, 2, "leaf"}};
    return report.verdict();
  };
  EXPECT_EQ(with(TreeFaultKind::Unread), Verdict::Partly);
  EXPECT_EQ(with(TreeFaultKind::Stranger), Verdict::Mismatch);
  EXPECT_EQ(with(TreeFaultKind::NoWayUp), Verdict::Mismatch);
  EXPECT_EQ(with(TreeFaultKind::Twice), Verdict::Broken);
  report.faults.clear();
  report.members[1].word = MemberWord::SendsOnly;
  EXPECT_EQ(report.verdict(), Verdict::Verified);
  report.members[2].word = MemberWord::Missing;
  EXPECT_EQ(report.verdict(), Verdict::Broken);
  EXPECT_EQ(exit_status(report.verdict()), 1);
}

}  // namespace
}  // namespace ibtracer
