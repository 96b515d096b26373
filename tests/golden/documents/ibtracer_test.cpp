// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibtracer's text and JSON of reports made by hand: one whole with every kind of evidence, one
// contradicted, one broken.
#include <gtest/gtest.h>

#include "tests/golden/documents/golden.h"
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

}  // namespace
}  // namespace ibtracer
