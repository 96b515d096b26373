// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibtracer's text and JSON of reports made by hand: one whole with every kind of evidence, one
// contradicted, one broken.
#include <gtest/gtest.h>

#include "tests/golden/documents/golden.h"
#include "tools/ibtracer/multicast.h"
#include "tools/ibtracer/report.h"

namespace ibtracer {
namespace {

using ib::Guid;
using ib::Lid;

TracedHop hop(std::uint8_t number, const char* name, std::uint64_t guid, std::uint16_t lid,
              std::uint8_t in, std::uint8_t out) {
  TracedHop made;
  made.hop.type =
      number == 0 || out == 0 ? ib::wire::NodeType::ChannelAdapter : ib::wire::NodeType::Switch;
  made.hop.node_guid = Guid{guid};
  made.hop.port_guid = Guid{guid + 1};
  made.hop.lid = Lid{lid};
  made.hop.description = name;
  made.hop.ingress_port = made.expected = in;
  made.hop.egress_port = out;
  made.hop_number = made.own_lid_hops = number;
  if (number == 0) return made;
  made.smp_actual = in;
  made.agent = AgentWord::NoAgent;
  made.proof = Proof::Smp;
  return made;
}

Trace whole() {
  Trace trace;
  trace.dlid = Lid{4};
  trace.end = ib::query::WalkEnd::Arrived;
  trace.hops = {hop(0, "here HCA-1", 0x10, 1, 0, 1), hop(1, "left \"A\"", 0x20, 2, 1, 2),
                hop(2, "right", 0x30, 3, 1, 3), hop(3, "there HCA-1", 0x40, 4, 1, 0)};
  auto& last = trace.hops.back();
  last.agent = AgentWord::Answered;
  last.agent_actual = 1;
  last.proof = Proof::Agent;
  return trace;
}

void expect_both(const TraceReport& report, const std::string& name) {
  ib::golden::expect_same(json_report(report, Lid{4}), name + ".json");
  ib::golden::expect_same(text_report(report, true), name + ".txt");
}

TEST(IbtracerGolden, VerifiedWithCountersBothWays) {
  TraceReport report;
  report.traces = {whole(), whole()};
  auto& there = report.traces.front();
  there.counters = CounterProof::Proven;
  there.packets_sent = 640;
  there.port_counts = {{1, 0, 2, 641, CounterProof::Proven}, {2, 0, 0, 640, CounterProof::Proven}};
  auto& counted = there.hops[1];
  counted.ingress_counters.emplace();
  counted.ingress_counters->port_rcv_pkts = 1ULL << 40;
  counted.ingress_counters->port_rcv_data = 72;
  counted.ingress_counters->port_xmit_pkts = 3;
  counted.ingress_counters->port_xmit_data = 4;
  counted.ingress_errors.emplace();
  counted.ingress_errors->symbol_error_counter = 5;
  counted.ingress_errors->port_xmit_discards = 6;
  report.traces.back().reverse = true;
  report.traces.back().dlid = Lid{1};
  EXPECT_EQ(exit_status(report), 0);
  expect_both(report, "ibtracer-verified");
}

TEST(IbtracerGolden, AMismatchAndAProofThatIsMissing) {
  TraceReport report;
  report.traces = {whole()};
  report.errors = {"counters of lid 3 port 1: no answer"};
  auto& hops = report.traces.front().hops;
  hops[1].proof = Proof::None;
  hops[1].smp_actual.reset();
  hops[1].agent = AgentWord::Silent;
  hops[2].mismatch = Mismatch::Unexplained;
  hops[2].smp_actual = 9;
  hops[2].note = "came in by port 9, the tables say 1";
  EXPECT_EQ(exit_status(report), 1);
  expect_both(report, "ibtracer-mismatch");
}

TEST(IbtracerGolden, Broken) {
  TraceReport report;
  report.traces = {whole()};
  Trace& trace = report.traces.front();
  trace.hops.resize(2);
  trace.end = ib::query::WalkEnd::LinkDown;
  trace.failure = "port 2 of switch \"left \"A\"\", by which lid 4 leaves, is DOWN";
  EXPECT_EQ(exit_status(report), 1);
  expect_both(report, "ibtracer-broken");
}

/// here -- [1] left [2], [3] -- there, stranger; far is behind a port that the entry has not.
MulticastReport group() {
  MulticastReport report;
  report.mgid = ib::Gid{{0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF}};
  report.mlid = Lid{0xC001};
  report.source = "here HCA-1";
  const auto add = [&](const char* name, std::uint64_t guid, std::size_t parent, std::uint8_t port,
                       std::initializer_list<std::uint8_t> out) {
    ib::query::TreeNode node;
    const bool is_source = parent == ib::query::TreeNode::kNone;
    node.hop.type = guid == 0x20 ? ib::wire::NodeType::Switch : ib::wire::NodeType::ChannelAdapter;
    node.hop.node_guid = Guid{guid};
    node.hop.port_guid = Guid{guid + 1};
    node.hop.lid = Lid{static_cast<std::uint16_t>(guid / 16)};
    node.hop.description = name;
    node.hop.ingress_port = is_source ? 0 : 1;
    node.parent = parent;
    node.parent_port = port;
    node.depth = is_source ? std::uint8_t{0}
                           : static_cast<std::uint8_t>(report.tree.nodes[parent].depth + 1);
    for (const std::uint8_t p : out) node.out.set(p);
    report.tree.nodes.push_back(node);
  };
  add("here HCA-1", 0x10, ib::query::TreeNode::kNone, 0, {1});
  add("left", 0x20, 0, 1, {2, 3});
  add("there HCA-1", 0x30, 1, 2, {});
  add("stranger", 0x40, 1, 3, {});
  report.agents = {AgentWord::NotAsked, AgentWord::NoAgent, AgentWord::Silent, AgentWord::NotAsked};
  const auto join = [&](const char* name, std::uint64_t guid, MemberWord word, AgentWord agent) {
    Member& member = report.members.emplace_back();
    member.port_gid = ib::Gid::from(ib::kDefaultSubnetPrefix, Guid{guid + 1});
    member.node_guid = Guid{guid};
    member.name = name;
    member.lid = Lid{static_cast<std::uint16_t>(guid / 16)};
    member.port = 1;
    member.join_state = 1;
    member.word = word;
    member.agent = agent;
  };
  join("here HCA-1", 0x10, MemberWord::Source, AgentWord::NotAsked);
  join("there HCA-1", 0x30, MemberWord::Doubtful, AgentWord::Silent);
  join("far HCA-1", 0x50, MemberWord::Missing, AgentWord::Answered);
  using ib::query::TreeFaultKind;
  report.members.back().note = "the entry of switch \"left\" for lid 0xc001 has not port 4";
  report.faults = {
      {TreeFaultKind::NotThere, Guid{0x20}, 4, report.members.back().note},
      {TreeFaultKind::Stranger, Guid{0x20}, 3,
       "switch \"left\" sends lid 0xc001 out by port 3 to ca \"stranger\" port 1, which "
       "is no member"}};
  return report;
}

TEST(IbtracerGolden, AGroupWithAMemberThatIsMissingAndAPortTooMany) {
  const MulticastReport report = group();
  EXPECT_EQ(exit_status(report.verdict()), 1);
  ib::golden::expect_same(json_report(report), "ibtracer-group.json");
  ib::golden::expect_same(text_report(report, true), "ibtracer-group.txt");
}

}  // namespace
}  // namespace ibtracer
