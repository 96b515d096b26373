// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/policy/partition_policy.h"

namespace sm::policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Read {
  Partitions partitions;
  std::vector<std::string> said;
};
Read read(std::string_view text, GeneratedKeys& keys) {
  auto file = read_partition_file(text, "p");
  Read out;
  out.partitions = merge_definitions(file, "p", keys, file.diagnostics);
  for (const auto& d : file.diagnostics) out.said.push_back(to_string(d));
  return out;
}
Read read(std::string_view text) {
  GeneratedKeys keys;
  return read(text, keys);
}

const EndPortFacts kHead{ib::Guid{1}, EndPortKind::Ca, "head", 1, true};
const EndPortFacts kHost{ib::Guid{2}, EndPortKind::Ca, "host", 1, false};
const EndPortFacts kSwitch{ib::Guid{3}, EndPortKind::Switch, "leaf", 0, false};

std::vector<std::vector<std::uint16_t>> keys_of(const Partitions& partitions,
                                                const MembershipOptions& options = {}) {
  const EndPortFacts ports[] = {kHead, kHost, kSwitch};
  std::vector<std::vector<std::uint16_t>> out;
  for (const auto& port : port_partitions(partitions, ports, options)) {
    auto& keys = out.emplace_back();
    for (const auto& one : port) keys.push_back(one.p_key.value);
  }
  return out;
}

TEST(Partitions, WithoutAFileEverybodyIsAFullMember) {
  EXPECT_THAT(keys_of(open_partitions()),
              ElementsAre(ElementsAre(0xFFFF), ElementsAre(0xFFFF), ElementsAre(0xFFFF)));
  EXPECT_EQ(to_string(open_partitions().all[0].groups.at(0).mgid), "ff12:401b:ffff::ffff:ffff");
}

TEST(Partitions, WithAFileOthersThanTheSubnetManagerAreLimitedMembersOfTheDefaultPartition) {
  EXPECT_THAT(keys_of(read("# nothing\n").partitions),
              ElementsAre(ElementsAre(0xFFFF), ElementsAre(0x7FFF), ElementsAre(0x7FFF)));
}

TEST(Partitions, TheSubnetManagerCannotBeDemoted) {
  const auto r = read("Default=0x7fff : ALL=full, SELF=limited;");
  EXPECT_THAT(keys_of(r.partitions),
              ElementsAre(ElementsAre(0xFFFF), ElementsAre(0xFFFF), ElementsAre(0xFFFF)));
  EXPECT_THAT(r.said, ElementsAre(testing::HasSubstr("stays a full member")));
}

TEST(Partitions, DefinitionsOfOneKeyAreMergedAndALaterEntryReplacesAnEarlierOne) {
  const auto r = read("A=0x10 : ALL=full;\nA=0x8010 : 0x2=limited;\nB=0x10 : 3;");
  ASSERT_EQ(r.partitions.all.size(), 2U);
  EXPECT_EQ(r.partitions.all[1].name, "A");
  EXPECT_THAT(keys_of(r.partitions),
              ElementsAre(ElementsAre(0xFFFF, 0x8010), ElementsAre(0x7FFF, 0x10),
                          ElementsAre(0x7FFF, 0x10)));
  EXPECT_THAT(r.said, ElementsAre("p:3:1: warning: P_Key 0x0010 has the name 'A' already; 'B' is "
                                  "merged into it"));
}

TEST(Partitions, BothIsOneOrTwoKeysByOption) {
  const auto r = read("A=0x10 : 2=both;");
  EXPECT_THAT(keys_of(r.partitions)[1], ElementsAre(0x7FFF, 0x8010));
  MembershipOptions both;
  both.allow_both = true;
  EXPECT_THAT(keys_of(r.partitions, both)[1], ElementsAre(0x7FFF, 0x8010, 0x10));
}

TEST(Partitions, AGeneratedKeyIsNeverOneThatIsWrittenOrThatAnotherNameHad) {
  GeneratedKeys keys{{"gone", 2}};
  const auto r = read("new : ALL;\none=0x1 : ALL;\n", keys);
  EXPECT_EQ(r.partitions.all[1].p_key, 3);
  EXPECT_TRUE(r.partitions.all[1].generated);
  EXPECT_EQ(keys.at("new"), 3);
  EXPECT_THAT(r.said, ElementsAre("p:1:1: warning: 'new' has no P_Key; 0x0003 was generated; write "
                                  "new=0x0003"));
  // It stays with its name whatever else the file says later.
  EXPECT_EQ(read("before : ALL;\nnew : ALL;", keys).partitions.all[2].p_key, 3);
}

TEST(Partitions, ANameTwiceWithoutAKeyIsOnePartition) {
  const auto r = read("a : 2;\na : 3=full;");
  ASSERT_EQ(r.partitions.all.size(), 2U);
  EXPECT_THAT(keys_of(r.partitions), ElementsAre(ElementsAre(0xFFFF), ElementsAre(0x7FFF, 1),
                                                 ElementsAre(0x7FFF, 0x8001)));
}

TEST(Partitions, MakesAGroupForEachScope) {
  const auto r = read("A=0x10, ipoib, scope=2, scope=5, rate=16, mtu=5, sl=3 : ALL;");
  const auto& groups = r.partitions.all[1].groups;
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(to_string(groups[0].mgid), "ff12:401b:8010::ffff:ffff");
  EXPECT_EQ(to_string(groups[1].mgid), "ff15:401b:8010::ffff:ffff");
  EXPECT_EQ(groups[1].rate, 16);
  EXPECT_EQ(groups[1].q_key, 0xB1BU);
  EXPECT_EQ(r.partitions.all[1].sl, ib::Sl{3});
}

TEST(Partitions, MgidLinesInheritAllButTheTrafficClass) {
  const auto r =
      read("A=0x10, ipoib, mtu=5, TClass=9 :\n mgid=ff12:401b::16, Q_Key=7\n mgid=ff12::2\n ALL;");
  const auto& groups = r.partitions.all[1].groups;
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].traffic_class, 9);
  EXPECT_EQ(to_string(groups[1].mgid), "ff12:401b:8010::16");
  EXPECT_EQ(groups[1].q_key, 7U);
  EXPECT_EQ(groups[1].mtu, 5);
  EXPECT_EQ(groups[1].traffic_class, 0);
  EXPECT_EQ(groups[2].q_key, 0U);
}

TEST(Partitions, AnMgidThatContradictsItsPartitionIsAnError) {
  EXPECT_THAT(read("A=0x10, ipoib :\n mgid=ff12:401b:8011::1\n;").said,
              ElementsAre("p:2:2: error: ff12:401b:8011::1 has the P_Key 0x8011 in it; of this "
                          "partition it is 0x8010 (or 0, which is filled in)"));
  EXPECT_THAT(read("A=0x10, ipoib, mtu=5 :\n mgid=ff12:401b::1, mtu=4\n;").said,
              ElementsAre(testing::HasSubstr("p:2:2: error: the mtu of an IPoIB group")));
}

EndPortFacts port_of(std::uint64_t node, std::string_view description, std::string_view map_name) {
  EndPortFacts port{ib::Guid{node * 16 + 1}, EndPortKind::Ca, description, 1, false, map_name};
  port.node = ib::Guid{node};
  return port;
}

TEST(Partitions, ANameThatSeveralNodesBearMakesNobodyAMemberAndIsSaid) {
  PartitionPolicy policy;
  policy.partitions = read("A=0x10 : \"twin\", \"lone\", g, 0x31;").partitions;
  PortGroup group;
  group.name = "g";
  group.ports = {{"other", 1}, {"lone", 1}};
  policy.port_groups = {group};
  const EndPortFacts ports[] = {port_of(1, "twin", ""),  port_of(2, "twin", ""),
                                port_of(3, "twin", ""),  port_of(4, "lone", ""),
                                port_of(5, "other", ""), port_of(6, "other", "")};
  const auto keys = policy.keys_of(ports);
  std::vector<std::size_t> sizes;
  for (const auto& of_port : keys) sizes.push_back(of_port.size());
  EXPECT_THAT(sizes, ElementsAre(1, 1, 2, 2, 1, 1));
  EXPECT_THAT(
      ambiguous_names(policy, ports),
      ElementsAre(
          "partitions: ambiguous name \"other\", 2 nodes have it (0x0000000000000005, "
          "0x0000000000000006): none of them is a member of a partition by it; "
          "specify their ports by GUID",
          testing::HasSubstr("ambiguous name \"twin\", 3 nodes have it (0x0000000000000001, ")));
}

TEST(Partitions, ANodeThatDescribesItselfAsTheMapCallsAnotherIsNotMeant) {
  PartitionPolicy policy;
  policy.partitions = read("A=0x10 : \"head\";").partitions;
  const EndPortFacts ports[] = {port_of(1, "node1", "head"), port_of(2, "head", "")};
  const auto keys = policy.keys_of(ports);
  EXPECT_EQ(keys[0].size(), 2U);
  EXPECT_EQ(keys[1].size(), 1U);
  EXPECT_THAT(ambiguous_names(policy, ports), IsEmpty());
}

TEST(Partitions, BothPortsOfANodeAreMembersByItsName) {
  PartitionPolicy policy;
  policy.partitions = read("A=0x10 : \"host\";").partitions;
  EndPortFacts ports[] = {port_of(1, "host", ""), port_of(1, "host", "")};
  ports[1].port = 2;
  ports[1].guid = ib::Guid{18};
  EXPECT_EQ(policy.keys_of(ports)[0].size(), 2U);
  EXPECT_EQ(policy.keys_of(ports)[1].size(), 2U);
}

TEST(Partitions, NodesPortsRangesKindsAndGroupsAreFound) {
  const auto r = read(
      "A=0x10 : \"host\";\nB=0x11 : \"host\"/P2;\nC=0x12 : 0x2-0x9;\nD=0x13 : ALL_SWITCHES;\n"
      "E=0x14 : storage=full;\nF=0x15 : NONE;");
  EXPECT_THAT(r.said, IsEmpty());
  MembershipOptions options;
  options.in_group = [](std::string_view group, const EndPortFacts& port) {
    return group == "storage" && port.guid == ib::Guid{2};
  };
  EXPECT_THAT(keys_of(r.partitions, options),
              ElementsAre(ElementsAre(0xFFFF), ElementsAre(0x7FFF, 0x10, 0x12, 0x8014),
                          ElementsAre(0x7FFF, 0x12, 0x13)));
}

TEST(Partitions, ANodeIsFoundByItsDescriptionAndByTheNameThatTheMapHas) {
  const auto r = read("A=0x10 : \"host\";\nB=0x11 : \"rack 7\";\nC=0x12 : \"rack 7\"/P2;");
  EndPortFacts host = kHost;
  host.map_name = "rack 7";
  const EndPortFacts ports[] = {kHead, host};
  const auto keys = port_partitions(r.partitions, ports);
  EXPECT_THAT(keys[0], testing::SizeIs(1));
  ASSERT_THAT(keys[1], testing::SizeIs(3));
  EXPECT_EQ(keys[1][1].p_key.base(), 0x10);
  EXPECT_EQ(keys[1][2].p_key.base(), 0x11);
  PortGroup group;
  group.ports = {{"rack 7", 1}};
  EXPECT_TRUE(names_port(group, host));
  EXPECT_FALSE(names_port(group, kHost));
}

}  // namespace
}  // namespace sm::policy
