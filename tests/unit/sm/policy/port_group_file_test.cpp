// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/port_group_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/policy/partition_policy.h"
#include "tests/unit/sm/policy/broken.h"

namespace sm::policy {
namespace {

using ib::Guid;
using ib::fabric::GroupedNode;
using ib::fabric::PortGroups;
using test::Broken;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> group_complaints(std::string_view text) {
  std::vector<std::string> lines;
  for (const auto& d : read_port_group_file(text, "g").diagnostics) lines.push_back(to_string(d));
  return lines;
}

/// One group by one rule.
PortGroups group_by(const std::string& rule) {
  const std::string text = "port-group\nname: g\n" + rule + "\nend-port-group\n";
  EXPECT_THAT(group_complaints(text), IsEmpty());
  return read_port_group_file(text, "g").groups;
}

GroupedNode switch_of_8(std::uint64_t guid, std::string_view description = "SW1") {
  GroupedNode node;
  node.type = ib::wire::NodeType::Switch;
  node.guid = Guid{guid};
  node.description = description;
  for (unsigned p = 0; p <= 8; ++p) node.ports.set(p);
  node.end_ports = {{Guid{guid}, std::uint8_t{0}}};
  node.to_switches.set(5).set(6);
  return node;
}
/// Port GUIDs are the node's and 1 or 2.
GroupedNode host_of_2(std::uint64_t guid, std::string_view description = "node1 HCA-1") {
  GroupedNode node;
  node.guid = Guid{guid};
  node.description = description;
  node.ports.set(1).set(2);
  node.end_ports = {{Guid{guid + 1}, std::uint8_t{1}}, {Guid{guid + 2}, std::uint8_t{2}}};
  return node;
}

std::vector<unsigned> ports(const PortGroups& groups, const GroupedNode& node,
                            std::string_view group = "g") {
  const auto bits = groups.ports_of(group, node);
  std::vector<unsigned> out;
  for (unsigned p = 0; p < bits.size(); ++p)
    if (bits.test(p)) out.push_back(p);
  return out;
}

TEST(PortGroupFile, GuidsNameNodesOrPortsAndSomePortsOfThem) {
  const auto groups = group_by("port-guid: 0x283@3-5/7/8, 0x10, 0x22, 0x30@2");
  EXPECT_THAT(ports(groups, switch_of_8(0x283)), ElementsAre(3, 4, 5, 7, 8));
  EXPECT_THAT(ports(groups, switch_of_8(0x284)), IsEmpty());
  EXPECT_THAT(ports(groups, host_of_2(0x10)), ElementsAre(1, 2));
  EXPECT_THAT(ports(groups, host_of_2(0x20)), ElementsAre(2)) << "port 2 by its own GUID";
  EXPECT_THAT(ports(groups, host_of_2(0x30)), ElementsAre(2));
}

TEST(PortGroupFile, ARangeOfGuidsNamesWholeNodesAndPorts) {
  const auto groups = group_by("port-guid-range: 0x21-0x30");
  EXPECT_THAT(ports(groups, host_of_2(0x20)), ElementsAre(1, 2)) << "both port GUIDs";
  EXPECT_THAT(ports(groups, host_of_2(0x1f)), ElementsAre(2));
  EXPECT_THAT(ports(groups, switch_of_8(0x30)), SizeIs(9));
  EXPECT_THAT(ports(groups, switch_of_8(0x31)), IsEmpty());
}

TEST(PortGroupFile, NamesOfHostsArePartsOfTheDescriptionOfCas) {
  const auto groups =
      group_by("port-name: hostname=kuku; port=2; hca_idx=1 , hostname=host1 port=1, hostname=sw");
  EXPECT_THAT(ports(groups, host_of_2(1, "kuku HCA-1")), ElementsAre(2));
  EXPECT_THAT(ports(groups, host_of_2(1, "kuku mlx5_1")), ElementsAre(2));
  EXPECT_THAT(ports(groups, host_of_2(1, "kuku HCA-2")), IsEmpty());
  EXPECT_THAT(ports(groups, host_of_2(1, "kuku2 HCA-1")), IsEmpty());
  EXPECT_THAT(ports(groups, host_of_2(1, "kuku")), IsEmpty());
  EXPECT_THAT(ports(groups, host_of_2(1, "host1 HCA-7")), ElementsAre(1));
  EXPECT_THAT(ports(groups, switch_of_8(1, "sw")), IsEmpty()) << "it is no CA";
}

TEST(PortGroupFile, AnExpressionIsFoundInTheDescription) {
  EXPECT_THAT(ports(group_by("port-regexp: SW*:3"), switch_of_8(1, "my SW9")), ElementsAre(3));
  EXPECT_THAT(ports(group_by("port-regexp: ^SW[12]$"), switch_of_8(1, "SW3")), IsEmpty());
  EXPECT_THAT(ports(group_by("port-regexp: MF0;.*:MSB7700/U1"), switch_of_8(1, "MF0;a:MSB7700/U1")),
              SizeIs(9))
      << "a colon before anything but a number is part of it";
}

TEST(PortGroupFile, SeveralRulesAreUnited) {
  const auto groups = group_by("port-guid: 0x1@1\nport-guid: 0x1@2\nport-regexp: SW1:8");
  EXPECT_THAT(ports(groups, switch_of_8(1)), ElementsAre(1, 2, 8));
}

TEST(PortGroupFile, GroupsStandOnGroupsWhateverTheirOrder) {
  constexpr std::string_view kText = R"(# from the manual, less its slips
port-group
name: rest
use: all: but the spines
subtract-rule: ALL_SWITCHES, Spines
end-port-group
port-group
  name: spines
  port-guid: 0x281, 0x282
end-port-group
port-group
name: both
union-rule: rest, ALL_CAS
end-port-group
)";
  EXPECT_THAT(group_complaints(kText), IsEmpty());
  const auto groups = read_port_group_file(kText, "g").groups;
  EXPECT_THAT(ports(groups, switch_of_8(0x281), "rest"), IsEmpty());
  EXPECT_THAT(ports(groups, switch_of_8(0x283), "REST"), SizeIs(9));
  EXPECT_THAT(ports(groups, switch_of_8(0x283), "both"), SizeIs(9));
  EXPECT_THAT(ports(groups, host_of_2(0x283), "both"), ElementsAre(1, 2));
  EXPECT_EQ(groups.defined().front().use, "all: but the spines");
}

TEST(PortGroupFile, SomeGroupsAreThereWithoutBeingDefined) {
  const PortGroups groups;
  EXPECT_THAT(ports(groups, switch_of_8(1), "ALL_SWITCH_TO_SWITCH"), ElementsAre(5, 6));
  EXPECT_THAT(ports(groups, switch_of_8(1), "ALL_CAS"), IsEmpty());
  EXPECT_THAT(ports(groups, host_of_2(1), "ALL_ANS"), IsEmpty());
  GroupedNode aggregation = host_of_2(1);
  aggregation.aggregates = true;
  EXPECT_THAT(ports(groups, aggregation, "ALL_ANS"), ElementsAre(1, 2));
  EXPECT_THAT(ports(groups, host_of_2(1), "ALL"), ElementsAre(1, 2));
}

TEST(PortGroupFile, GroupsOnGroupsHaveABound) {
  const auto chain_of = [](unsigned count) {
    std::string text = "port-group\nname: g0\nport-guid: 0x1\nend-port-group\n";
    for (unsigned i = 1; i <= count; ++i)
      text += "port-group\nname: g" + std::to_string(i) + "\nunion-rule: g" +
              std::to_string(i - 1) + ", g" + std::to_string(i - 1) + "\nend-port-group\n";
    return text;
  };
  const auto groups = read_port_group_file(chain_of(PortGroups::kNestingMost), "g").groups;
  EXPECT_THAT(ports(groups, switch_of_8(1), "g32"), SizeIs(9));
  EXPECT_THAT(group_complaints(chain_of(PortGroups::kNestingMost + 1)), SizeIs(1));
  EXPECT_THAT(group_complaints(chain_of(2000)), SizeIs(1));
}

class BrokenGroups : public testing::TestWithParam<Broken> {};
TEST_P(BrokenGroups, AreNamedWithTheirPlace) {
  EXPECT_THAT(group_complaints(GetParam().text), ElementsAre(std::string(GetParam().message)));
  EXPECT_THAT(read_port_group_file(GetParam().text, "g").groups.defined(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(
    PortGroupFile, BrokenGroups,
    testing::Values(
        Broken{"port-group\nport-guid: 0x1\nend-port-group\n",
               "g:1:1: error: this port-group has no name"},
        Broken{"port-group\nname: a\nend-port-group\n",
               "g:1:1: error: this port-group has no rule: port-guid, port-guid-range, port-name, "
               "port-regexp, union-rule or subtract-rule"},
        Broken{"port-group\nname: a:b\nport-guid: 0x1\nend-port-group\n",
               "g:2:7: error: expected a name without ',' and ':', got 'a:b'"},
        Broken{"port-group\nname: all_cas\nport-guid: 0x1\nend-port-group\n",
               "g:1:1: error: 'all_cas' is a group that there is without being defined"},
        Broken{"port-group\nname: a\nport-guid: 0x1\nend-port-group\nport-group\nname: A\n"
               "port-guid: 0x1\nend-port-group\n",
               "g:5:1: error: port-group 'A' is defined twice (first in line 1)"},
        Broken{"port-group\nname: a\nport-guid-range: 0x1-0x2, 0x4-0x5\nport-guid: 1\n"
               "end-port-group\n",
               "g:3:18: error: expected one range of GUIDs like 0x283-0x289 (a further one on its "
               "own line), got '0x1-0x2, 0x4-0x5'"},
        Broken{"port-group\nname: a\nport-guid: 0x1@5-2\nport-guid: 1\nend-port-group\n",
               "g:3:16: error: expected ports like 2-5/7/9-13, the smaller one first, got '5-2'"},
        Broken{"port-group\nname: a\nport-guid: 0x289/6\nport-guid: 1\nend-port-group\n",
               "g:3:12: error: expected a GUID, or a GUID and ports like 0x289@2-5/7, got "
               "'0x289/6'"},
        Broken{"port-group\nname: a\nport-name: port=2\nend-port-group\n",
               "g:3:12: error: expected a host like 'hostname=node1; port=2; hca_idx=1', got "
               "'port=2'"},
        Broken{"port-group\nname: a\nport-regexp: a(\nport-guid: 1\nend-port-group\n",
               "g:3:14: error: expected a regular expression (POSIX, extended, without {n} and "
               "\\1, at most 256 characters), got 'a('"},
        Broken{"port-group\nname: a\nunion-rule: ALL\nport-guid: 1\nend-port-group\n",
               "g:3:13: error: expected the names of two groups with a comma between them, got "
               "'ALL'"},
        Broken{"port-group\nname: a\nsubtract-rule: ALL, ALL_CA\nend-port-group\n",
               "g:3:21: error: there is no port group 'ALL_CA'; did you mean 'ALL_CAS'?"},
        Broken{"port-group\nname: a\nunion-rule: ALL, a\nend-port-group\n",
               "g:1:1: error: port-group 'a' stands on itself, or on groups on groups more than 32 "
               "deep"},
        Broken{"port-group\nname: a\nport-guid: 1\nport-group\nname: b\nport-guid: 2\n"
               "end-port-group\n",
               "g:4:1: error: expected 'end-port-group' before this line: 'port-group' of line 1 "
               "is not closed"},
        Broken{"port-group\nname: a\nport-guid: 1\n",
               "g:3:1: error: 'port-group' of line 1 is not closed: expected 'end-port-group' "
               "before the end of the file"},
        Broken{"port-groups\n", "g:1:1: error: expected 'port-group', got 'port-groups'"}));

TEST(PortGroupFile, TheFirstLineTellsWhichKindAFileIs) {
  constexpr std::string_view kRules = "# x\n port-group\nname: g\nport-guid: 0x5\nend-port-group\n";
  constexpr std::string_view kQos =
      "port-groups\nport-group\nname: g\nport-guid: 0x5\nend-port-group\nend-port-groups\n";
  EXPECT_TRUE(has_group_rules(kRules));
  EXPECT_FALSE(has_group_rules(kQos));
  EXPECT_FALSE(has_group_rules(""));
  std::vector<ib::Diagnostic> diagnostics;
  EXPECT_EQ(read_any_port_groups(kQos, "g", diagnostics).size(), 1U);
  const auto groups = read_any_port_groups(kRules, "g", diagnostics);
  EXPECT_THAT(diagnostics, IsEmpty());
  EXPECT_THAT(groups, SizeIs(5)) << "and ALL, ALL_SWITCHES, ALL_CAS, ALL_ANS";
}

TEST(PortGroupFile, GroupsWithRulesNameEndPortsOfPartitions) {
  std::vector<ib::Diagnostic> diagnostics;
  const auto groups = read_any_port_groups(
      "port-group\nname: g\nport-guid: 0x5, 0x10@1, 0x30@1\nend-port-group\n", "g", diagnostics);
  EndPortFacts port;
  port.guid = Guid{0x5}, port.node = Guid{0x4}, port.port = 1;
  EXPECT_TRUE(names_port(groups[0], port));
  port.guid = Guid{0x11}, port.node = Guid{0x10};
  EXPECT_TRUE(names_port(groups[0], port));
  port.guid = Guid{0x12}, port.port = 2;
  EXPECT_FALSE(names_port(groups[0], port));
  port = {};
  port.guid = port.node = Guid{0x30}, port.kind = EndPortKind::Switch;
  EXPECT_FALSE(names_port(groups[0], port)) << "port 0 is not among the ports named";
  port.kind = EndPortKind::Ca, port.aggregates = true, port.port = 1, port.guid = Guid{0x99};
  EXPECT_EQ(groups[4].name, "ALL_ANS");
  EXPECT_TRUE(names_port(groups[4], port));
}

}  // namespace
}  // namespace sm::policy
