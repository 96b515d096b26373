// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibtracer's options, text and JSON, with every field in use.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tools/ibtracer/options.h"
#include "tools/ibtracer/report.h"

namespace ibtracer {
namespace {

using ib::Guid;
using ib::Lid;
using ib::query::WalkEnd;
using ib::wire::NodeType;

std::string golden(const std::string& name) {
  std::ifstream file(std::string(IBKIT_SOURCE_DIR) + "/tests/golden/ibtracer/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The release's number is not what these files hold.
std::string without_version(std::string json) {
  const std::string key = "\"version\": \"";
  const auto at = json.find(key) + key.size();
  return json.replace(at, json.find('"', at) - at, "0.0.0");
}

TracedHop hop(std::uint8_t number, NodeType type, std::uint16_t lid, std::uint8_t in,
              std::uint8_t out, const std::string& name) {
  TracedHop h;
  h.hop_number = number;
  h.hop.type = type;
  h.hop.node_guid = Guid{0x0002c90300000010ULL + number};
  h.hop.port_guid = Guid{0x0002c90300000110ULL + number};
  h.hop.lid = Lid{lid};
  h.hop.ingress_port = in;
  h.hop.egress_port = out;
  h.hop.description = name;
  return h;
}

/// There: by counters, SMP and agent. Back: a switch that another route led to, then nothing.
TraceReport both_ways() {
  Trace there;
  there.dlid = Lid{7};
  there.end = WalkEnd::Arrived;
  there.hops = {hop(0, NodeType::ChannelAdapter, 3, 0, 1, "n1 \"HCA\x1b-1"),
                hop(1, NodeType::Switch, 1, 1, 19, "leaf-1"),
                hop(2, NodeType::ChannelAdapter, 7, 1, 0, "n2 HCA-1")};
  there.hops[1].expected = 2;  // packets to its own LID come in elsewhere
  there.hops[1].own_lid_hops = 1;
  there.hops[1].agent = AgentWord::NoAgent;
  there.hops[1].smp_actual = 2;
  there.hops[1].proof = Proof::Smp;
  there.hops[1].ingress_counters.emplace();
  there.hops[1].ingress_counters->port_rcv_pkts = 5'000'000'000;
  there.hops[1].ingress_errors.emplace();
  there.hops[1].ingress_errors->symbol_error_counter = 9;
  there.hops[2].expected = 1;
  there.hops[2].own_lid_hops = 2;
  there.hops[2].agent = AgentWord::Answered;
  there.hops[2].agent_actual = 1;
  there.hops[2].proof = Proof::Agent;
  there.counters = CounterProof::Proven;
  there.packets_sent = 500;
  there.port_counts = {{1, 1, 3, 504, CounterProof::Proven}};

  Trace back;
  back.dlid = Lid{3};
  back.reverse = true;
  back.end = WalkEnd::LinkDown;
  back.failure = "port 1 of switch \"leaf-1\", by which lid 3 leaves, is DOWN";
  back.hops = {hop(0, NodeType::ChannelAdapter, 7, 0, 1, "n2 HCA-1"),
               hop(1, NodeType::Switch, 1, 19, 1, "leaf-1")};
  back.hops[1].expected = 19;
  back.hops[1].smp_actual = 20;
  back.hops[1].mismatch = Mismatch::Unexplained;
  back.hops[1].note = "came in by port 20 although the tables for lid 1 say 19";

  TraceReport report;
  report.traces = {there, back};
  report.errors = {"counters of \"n2 HCA-1\" port 1: no answer"};
  return report;
}

Options options_of(std::vector<std::string> words) {
  words.insert(words.begin(), "ibtracer");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  auto parsed = parse_options(static_cast<int>(argv.size()), argv.data());
  EXPECT_TRUE(std::holds_alternative<Options>(parsed));
  return std::holds_alternative<Options>(parsed) ? std::get<Options>(parsed) : Options{};
}

TEST(IbtracerOptions, RetriesAreTheSameWhetherANodeAnsweredBeforeOrNot) {
  const auto usual = transactor_options(options_of({"7"}));
  EXPECT_EQ(usual.attempts_min, 8);
  EXPECT_EQ(usual.attempts_known, 12);
  for (const unsigned n : {0U, 2U, 100U}) {
    const auto asked = transactor_options(options_of({"-r", std::to_string(n), "7"}));
    EXPECT_EQ(asked.attempts_min, n + 1);
    EXPECT_EQ(asked.attempts_known, n + 1);
  }
  const auto patient = transactor_options(options_of({"-t", "900", "-n", "3", "7"}));
  EXPECT_EQ(patient.timeout_ceiling, std::chrono::milliseconds(900));
  EXPECT_EQ(patient.window, 3U);
}

TEST(IbtracerReport, Json) {
  EXPECT_EQ(without_version(json_report(both_ways(), Lid{7})), golden("both.json"));
}
TEST(IbtracerReport, Text) { EXPECT_EQ(text_report(both_ways(), true), golden("both.txt")); }
TEST(IbtracerReport, ABrokenWayBackIsFound) { EXPECT_EQ(exit_status(both_ways()), 1); }

}  // namespace
}  // namespace ibtracer
