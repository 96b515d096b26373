// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// switchbalance and lidbalance. The tables of the snapshot take the first port of all.
#include <gmock/gmock.h>

#include "tests/unit/sm/console/view.h"

namespace sm::console::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string node_text(const Snapshot& snapshot, const char* name) {
  const auto& fabric = snapshot.fabric();
  return to_string(fabric.node(node_named(fabric, name)).guid) + " (" + name + ")";
}

TEST(ConsoleBalance, SwitchesWhosePortsToOthersDiffer) {
  const auto snapshot = sa::test::snapshot_of(small_tree());
  const View view = view_of(snapshot);
  // A leaf has all hosts of the other leaf behind one of its ports.
  const auto text = said(view, "switchbalance").text;
  EXPECT_THAT(text,
              HasSubstr("Unbalanced Switch: " + node_text(*snapshot, "leaf-001") + "\nPort "));
  const auto one =
      said(view,
           "switchbalance " +
               to_string(snapshot->fabric().node(node_named(snapshot->fabric(), "leaf-001")).guid))
          .text;
  std::size_t lids = 0;
  for (std::size_t at = one.find("Port "); at != std::string::npos; at = one.find("Port ", at + 1))
    lids += std::stoul(one.substr(one.find(": ", at) + 2));
  EXPECT_EQ(lids, 2U) << one;
}

TEST(ConsoleBalance, VerboseHasAllSwitches) {
  const auto snapshot = sa::test::snapshot_of(small_tree());
  const auto text = said(view_of(snapshot), "switchbalance verbose").text;
  for (const char* name : {"leaf-001", "leaf-002", "spine-001", "spine-002"})
    EXPECT_THAT(text, HasSubstr("witch: " + node_text(*snapshot, name) + "\n"));
}

TEST(ConsoleBalance, LidsOfAPortThatAllGoOneWay) {
  const auto snapshot = sa::test::snapshot_of(small_tree(2));
  const auto leaf =
      to_string(snapshot->fabric().node(node_named(snapshot->fabric(), "leaf-001")).guid);
  EXPECT_EQ(said(view_of(snapshot), "lidbalance " + leaf).text, "");  // four of four by one port
  // One of four goes another way.
  auto routing = std::make_shared<Routing>(*snapshot->routing);
  const auto& graph = routing->graph;
  const auto s = graph.switch_of(node_named(snapshot->fabric(), "leaf-001"));
  const auto host = node_named(snapshot->fabric(), "host0004 HCA-1");
  const auto lid = snapshot->fabric().port(host, 1).lid;
  const auto arcs = graph.arcs(s);
  for (unsigned i = 0; i < 4; ++i)
    routing->lfts.set(s, ib::Lid{static_cast<std::uint16_t>(lid.value + i)},
                      i == 0 ? arcs.front().out_port : arcs.back().out_port);
  snapshot->routing = routing;
  const auto text = said(view_of(snapshot), "lidbalance").text;
  const std::string who = "Switch " + node_text(*snapshot, "leaf-001") + ": CA " +
                          node_text(*snapshot, "host0004 HCA-1") + ": ";
  EXPECT_THAT(text, StartsWith("Unbalanced Remote Forwarding: " + who + "Dest 0x"));
  EXPECT_THAT(text, HasSubstr("(spine-001) - 1 "));
  EXPECT_THAT(text, HasSubstr("(spine-002) - 3 \nUnbalanced Port Forwarding: " + who + "Port "));
}

TEST(ConsoleBalance, GuidsThatAreNoneOrNoSwitch) {
  const auto snapshot = sa::test::snapshot_of(small_tree());
  const View view = view_of(snapshot);
  EXPECT_THAT(said(view, "switchbalance leaf").text,
              StartsWith("Invalid guid specified\nswitchbalance [verbose] [guid]\n"));
  EXPECT_EQ(said(view, "switchbalance 0x1").text, "guid not found\n");
  EXPECT_THAT(said(view, "lidbalance leaf").text,
              StartsWith("Invalid switchguid specified\nlidbalance [switchguid]\n"));
  EXPECT_EQ(said(view, "lidbalance 0x1").text, "switchguid not found\n");
}

TEST(ConsoleBalance, BeforeThereIsASubnet) {
  View view = view_of(sa::test::snapshot_of(small_tree()));
  view.snapshot = nullptr;
  for (const char* line : {"switchbalance", "lidbalance"})
    EXPECT_EQ(said(view, line).text, "Subnet is not ready yet. Try again later\n");
}

}  // namespace
}  // namespace sm::console::test
