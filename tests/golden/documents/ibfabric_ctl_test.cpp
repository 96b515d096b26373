// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibfabric ctl ... --json`: every document the server gives, of a small fabric after one SMP.
#include <gtest/gtest.h>

#include "libdiag/fabric/text_file.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/mad/request.h"
#include "libdiag/wire/smp_attributes.h"
#include "tests/golden/documents/golden.h"
#include "tools/ibfabric/control.h"

namespace ibfabric {
namespace {

class NoFile final : public Capture {
 public:
  ib::Result<void> start(const std::string&) override { return {}; }
  ib::Result<void> stop() override { return {}; }
};

/// Two programs have a port open, one of them without a threshold.
class TwoFiles final : public Hosts {
 public:
  std::vector<OpenFile> open_files() const override {
    return {{{0, 1}, 4711, {8192, 12, dropped_}}, {{1, 1}, 4712, {0, 0, 0}}};
  }
  void reset_dropped() override { dropped_ = 0; }

 private:
  std::uint64_t dropped_{345};
};

ib::sim::Model small_model() {
  const auto text = ib::fabric::read_file_or_pipe(ib::golden::path("topology/small.topo"));
  ib::sim::ModelOptions options;
  options.keep_lids = true;
  return ib::sim::Model(ib::fabric::read_topology(text.value(), "small.topo").value(), options);
}

class CtlGolden : public ::testing::Test {
 protected:
  /// What a command line says, as it comes over the socket.
  std::string ctl(std::vector<std::string> words, std::map<std::string, std::string> options = {}) {
    CtlCommand command{words.front(), {words.begin() + 1, words.end()}, std::move(options), true};
    const CtlResult result = control.execute(ib::Instant{0}, decode(encode(command)));
    EXPECT_EQ(result.status, 0) << result.text;
    return result.text;
  }

  ib::sim::Model model = small_model();
  NoFile capture;
  TwoFiles hosts;
  Control control{model, capture, hosts};
};

TEST_F(CtlGolden, Seed) { ib::golden::expect_same(ctl({"seed", "42"}), "ctl-seed.json"); }

TEST_F(CtlGolden, Faults) {
  const auto document = ctl({"faults"}, {{"loss", "2.5"}, {"sma-us", "150000"}});
  ib::golden::expect_same(document, "ctl-faults.json");
  EXPECT_EQ(ctl({"faults"}), document) << "asked for alone they are what they were set to";
}

TEST_F(CtlGolden, FaultsOfALink) {
  ib::golden::expect_same(ctl({"faults", "node01 HCA-1", "1"}, {{"delay-ms", "3"}}),
                          "ctl-faults-link.json");
}

TEST_F(CtlGolden, Thresholds) {
  ib::golden::expect_same(ctl({"thresholds"}), "ctl-thresholds.json");
  ib::golden::expect_same(ctl({"thresholds", "reset"}), "ctl-thresholds-reset.json");
  EXPECT_EQ(ctl({"thresholds"}).find("345"), std::string::npos);
}

TEST_F(CtlGolden, Flows) {
  const auto added = ctl({"flow", "add", "node01 HCA-1", "node02 HCA-1"}, {{"sl", "3"}});
  ib::golden::expect_same(added, "ctl-flow-add.json");
  ib::golden::expect_same(ctl({"flow", "list"}), "ctl-flow-list.json");
}

TEST_F(CtlGolden, VPorts) {
  ctl({"device", "node02 HCA-1", "vports=2"});
  ctl({"vport", "node02 HCA-1", "2", "guid", "0x0002c90200000777"});
  ibfabric::CtlCommand show{"vport", {"node02 HCA-1"}, {}, true};
  ib::golden::expect_same(ctl({"vport", "node02 HCA-1"}), "ctl-vport.json");
  show.json = false;
  EXPECT_EQ(control.execute(ib::Instant{0}, show).text,
            "1 down 0x0203c90300000021 P_Keys 0xffff\n2 down 0x0002c90200000777 P_Keys 0xffff\n");
  const auto refusal = [&](const std::vector<std::string>& words) {
    const CtlResult result = control.execute(ib::Instant{0}, {"vport", words, {}});
    EXPECT_NE(result.status, 0);
    return result.text;
  };
  EXPECT_EQ(refusal({"node02 HCA-1", "3", "up"}), "its virtual ports are 1 to 2\n");
  EXPECT_EQ(refusal({"node01 HCA-1", "1", "up"}),
            "the port has no virtual ports (ctl device NODE vports=N)\n");
  EXPECT_EQ(refusal({"node02 HCA-1", "1", "sideways"}),
            "expected vport NODE[:PORT] [INDEX up|down|lid on|lid off|guid GUID|describe TEXT]\n");
}

TEST_F(CtlGolden, Counters) {
  ib::golden::expect_same(ctl({"counters", "node01 HCA-1", "1", "SymbolErrorCounter=7"}),
                          "ctl-counters.json");
}

TEST_F(CtlGolden, WhatFlowAndCountersRefuse) {
  const auto refusal = [&](const std::vector<std::string>& words,
                           const std::map<std::string, std::string>& options = {}) {
    const CtlResult result =
        control.execute(ib::Instant{0}, {words.front(), {words.begin() + 1, words.end()}, options});
    EXPECT_NE(result.status, 0);
    return result.text;
  };
  const std::string form =
      "expected flow add SRC DST, flow list, flow del ID|all, or flow pattern "
      "shift|alltoall|random [N]\n";
  EXPECT_EQ(refusal({"flow"}), form);
  EXPECT_EQ(refusal({"flow", "add", "node01 HCA-1"}), form);
  EXPECT_EQ(refusal({"flow", "sing"}), form);
  EXPECT_EQ(refusal({"flow", "add", "node77", "node01 HCA-1"}),
            "no node is named 'node77'; did you mean 'node01' (LID 4, leaf <&> \"A\" port 1) or "
            "'node02' (LID 5, leaf <&> \"A\" port 2)?\n");
  EXPECT_EQ(refusal({"flow", "add", "node01 HCA-1", "node02 HCA-1"}, {{"sl", "16"}}),
            "--sl: expected an SL from 0 to 15, got '16'\n");
  EXPECT_EQ(refusal({"flow", "add", "node01 HCA-1", "node02 HCA-1"}, {{"rate", "-1"}}),
            "--rate: expected Gb/s, more than 0 and at most 100000, got '-1'\n");
  EXPECT_EQ(refusal({"flow", "add", "node01 HCA-1", "node02 HCA-1"}, {{"size", "0"}}),
            "--size: expected bytes of a message, 1 to 2147483648, got '0'\n");
  EXPECT_EQ(refusal({"flow", "list"}, {{"rate", "1"}}),
            "--rate belongs to flow add and flow pattern\n");
  EXPECT_EQ(refusal({"flow", "del", "7"}), "there is no flow 7\n");
  EXPECT_EQ(refusal({"flow", "del", "x"}),
            "flow del: expected the number of a flow, or all, got 'x'\n");
  EXPECT_EQ(refusal({"flow", "pattern", "shfit"}),
            "flow pattern: expected shift, alltoall or random, got 'shfit'\n");
  EXPECT_EQ(refusal({"flow", "pattern", "shift"}),
            "a pattern takes two host ports at least that are ACTIVE and have LIDs, there are 0: "
            "start a subnet manager first\n");
  EXPECT_EQ(refusal({"counters", "node01 HCA-1"}),
            "expected counters NODE PORT [NAME=VALUE|NAME=+RATE]...\n");
  EXPECT_EQ(refusal({"counters", "node01 HCA-1", "1", "PortRcvErrors=x"}),
            "PortRcvErrors: expected a number up to 4294967295, or +RATE, got 'x'\n");
  EXPECT_EQ(refusal({"counters", "node01 HCA-1", "1", "PortRcvErrors=+x"}),
            "PortRcvErrors: expected + and how much it grows a second, up to 1e9, got 'x'\n");
  EXPECT_EQ(refusal({"counters", "node01 HCA-1", "1", "PortRcvErrors=1", "Errors=1"}).substr(0, 33),
            "unknown counter 'Errors'; those t");
  EXPECT_EQ(model.error_counters(ib::Instant{0}, {0, 1})[3].second, 0U) << "nothing half done";
}

TEST_F(CtlGolden, Pcap) {
  ib::golden::expect_same(ctl({"pcap", "/somewhere/mads.pcap"}), "ctl-pcap.json");
  ib::golden::expect_same(ctl({"pcap", "off"}), "ctl-pcap-off.json");
}

TEST_F(CtlGolden, ShowOfAHost) {
  ib::golden::expect_same(ctl({"show", "node02 HCA-1"}), "ctl-show-ca.json");
}

TEST_F(CtlGolden, ShowOfOnePortOfASwitch) {
  ib::golden::expect_same(ctl({"show", "S-0002c90200000010", "0"}), "ctl-show-port0.json");
  ib::golden::expect_same(ctl({"show", "0x0002c90200000010", "3"}), "ctl-show-port.json");
}

TEST_F(CtlGolden, StatsAfterOneSmpThereAndBack) {
  ib::fabric::NodeIndex host = 0;
  while (model.topology().node(host).description != "node01 HCA-1") ++host;
  const auto request = ib::mad::smp_request(0, 0, ib::mad::DirectedRoute{{1}},
                                            ib::wire::Method::Get, ib::wire::attr::kNodeInfo, 0);
  model.send(ib::Instant{0}, {host, 1}, true, {request.address, request.mad, {}});
  model.advance(ib::Instant{0} + std::chrono::seconds(1));
  ib::golden::expect_same(ctl({"stats"}), "ctl-stats.json");
}

}  // namespace
}  // namespace ibfabric
