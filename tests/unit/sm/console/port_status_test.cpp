// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// portstatus and querylid.
#include <gmock/gmock.h>

#include "tests/unit/sm/console/view.h"

namespace sm::console::test {
namespace {

using ib::fabric::PortRef;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct ConsolePorts : testing::Test {
  ConsolePorts() {
    auto observed = std::make_shared<ib::discover::Observed>(*snapshot->observed);
    for (auto& port : observed->ports)
      change(port, [](ib::wire::PortInfo& info) {
        info.link_speed_ext_enabled = info.link_speed_ext_supported = info.link_speed_ext_active;
      });
    snapshot->observed = observed;
  }
  std::shared_ptr<Snapshot> snapshot = sa::test::snapshot_of(small_tree());
  View view = view_of(snapshot);

  using Change = void (*)(ib::wire::PortInfo&);
  static void change(ib::discover::ObservedPort& port, Change how) {
    auto info = port.info();
    how(info);
    ib::wire::encode(info, port.bytes.data());
  }

  /// What a port answered, to be changed.
  void change(const char* node, std::uint8_t port, Change how) {
    auto observed = std::make_shared<ib::discover::Observed>(*snapshot->observed);
    change(observed->port({node_named(observed->fabric, node), port}), how);
    snapshot->observed = observed;
  }
  std::string guid_of(const char* node) {
    return to_string(snapshot->fabric().node(node_named(snapshot->fabric(), node)).guid);
  }
};

TEST_F(ConsolePorts, AllIsWell) {
  // 4 hosts, 4 switches of 8 ports: 4 cables to hosts, 12 between switches.
  const auto text = said(view, "portstatus").text;
  EXPECT_THAT(text, StartsWith("\"ALL\" port status:\n   36 port(s) scanned on 8 nodes in 0 us\n"
                               "   4 down\n   32 active\n   32 at 4X\n   32 at "));
  EXPECT_THAT(text, Not(HasSubstr("Possible issues")));
}

TEST_F(ConsolePorts, OfOneTypeOfNode) {
  EXPECT_THAT(said(view, "portstatus ca").text,
              StartsWith("\"Channel Adapter\" port status:\n   4 port(s) scanned on 4 nodes"));
  EXPECT_THAT(said(view, "portstatus switch").text,
              StartsWith("\"Switch\" port status:\n   32 port(s) scanned on 4 nodes"));
  EXPECT_EQ(said(view, "portstatus router").text,
            "\"Router\" port status:\n   0 port(s) scanned on 0 nodes in 0 us\n\n");
  const auto wrong = said(view, "portstatus spine");
  EXPECT_EQ(wrong.status, ib::cli::kExitUsage);
  EXPECT_THAT(wrong.text, StartsWith("Node type not understood\nportstatus [ca|switch|router]\n"));
}

TEST_F(ConsolePorts, IssuesHaveTheirPorts) {
  change("leaf-001", 1, [](ib::wire::PortInfo& info) { info.link_width_active = 1; });
  change("leaf-001", 2, [](ib::wire::PortInfo& info) { info.link_width_enabled = 1; });
  change("leaf-002", 1, [](ib::wire::PortInfo& info) {
    info.link_speed_active = 1, info.link_speed_ext_active = 0;
    info.link_speed_enabled = 7;
  });
  change("leaf-002", 2, [](ib::wire::PortInfo& info) {
    info.link_speed_active = 4, info.link_speed_ext_active = 0;
    info.link_speed_enabled = 1;
  });
  change("spine-001", 8, [](ib::wire::PortInfo& info) {
    info.port_state = ib::wire::PortState::Down;
    info.port_physical_state = ib::wire::PhysState::Disabled;
  });
  const auto text = said(view, "portstatus").text;
  const auto line = [&](const char* node, unsigned port) {
    return "      " + guid_of(node) + ' ' + std::to_string(port) + " (" + node + ")\n";
  };
  const auto issues = text.substr(text.find("\nPossible issues:\n"));
  EXPECT_EQ(issues, "\nPossible issues:\n   1 disabled\n" + line("spine-001", 8) +
                        "   1 with unenabled speed\n" + line("leaf-002", 2) +
                        "   1 with reduced speed\n" + line("leaf-002", 1) +
                        "   1 with unenabled width\n" + line("leaf-001", 2) +
                        "   1 with reduced width\n" + line("leaf-001", 1) + '\n');
  EXPECT_THAT(text, HasSubstr("   1 at 1X\n"));
  EXPECT_THAT(text, HasSubstr("   1 at 2.5 Gbps\n   1 at 10.0 Gbps\n"));
}

TEST_F(ConsolePorts, ALinkOfTwoLanesIsNotWiderThanFour) {
  change("leaf-001", 1, [](ib::wire::PortInfo& info) { info.link_width_enabled = 2 | 16; });
  EXPECT_THAT(said(view, "portstatus").text, Not(HasSubstr("reduced width")));
}

TEST_F(ConsolePorts, BeforeThereIsASubnet) {
  view.snapshot = nullptr;
  EXPECT_EQ(said(view, "portstatus").text, "Subnet is not ready yet. Try again later\n");
  EXPECT_EQ(said(view, "querylid 1").text, "Invalid lid 1\n");
}

TEST_F(ConsolePorts, ALidAndItsNode) {
  const auto& fabric = snapshot->fabric();
  const auto host = node_named(fabric, "host0001 HCA-1");
  const auto lid = fabric.port(host, 1).lid;
  EXPECT_EQ(said(view, "querylid " + to_string(lid)).text,
            "Query results for LID " + to_string(lid) +
                "\n"
                "   GUID                : " +
                to_string(fabric.port(host, 1).guid) +
                "\n"
                "   Node Desc           : host0001 HCA-1\n"
                "   Node Type           : Channel Adapter\n"
                "   Num Ports           : 1\n"
                "   Port 1 health       : OK\n");
  const auto leaf = fabric.port(node_named(fabric, "leaf-001"), 0).lid;
  const auto text = said(view, "querylid " + to_string(leaf)).text;
  EXPECT_THAT(text, HasSubstr("   Node Type           : Switch\n   Num Ports           : 8\n"
                              "   Port 0 health       : OK\n"));
  EXPECT_THAT(text, HasSubstr("   Port 8 health       : OK\n"));
}

TEST_F(ConsolePorts, APortInTroubleIsNotHealthy) {
  auto observed = std::make_shared<ib::discover::Observed>(*snapshot->observed);
  const auto leaf = node_named(observed->fabric, "leaf-001");
  ib::discover::Trouble trouble;
  trouble.node_guid = observed->fabric.node(leaf).guid;
  trouble.port = 3;
  observed->troubles.push_back(trouble);
  snapshot->observed = observed;
  EXPECT_THAT(said(view, "querylid " + to_string(observed->fabric.port(leaf, 0).lid)).text,
              HasSubstr("   Port 2 health       : OK\n   Port 3 health       : ERROR\n"));
}

TEST_F(ConsolePorts, LidsThatNobodyHas) {
  for (const char* line : {"querylid 4711", "querylid 0", "querylid 70000", "querylid x"})
    EXPECT_THAT(said(view, line).text, StartsWith("Invalid lid ")) << line;
  EXPECT_THAT(said(view, "querylid").text, StartsWith("no LID specified\nquerylid lid"));
}

}  // namespace
}  // namespace sm::console::test
