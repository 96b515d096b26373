// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/partition_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sm/policy/broken.h"

namespace sm::policy {
namespace {

using test::Broken;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = Selector::Kind;

std::vector<std::string> said(const PartitionFile& file) {
  std::vector<std::string> lines;
  lines.reserve(file.diagnostics.size());
  for (const auto& d : file.diagnostics) lines.push_back(to_string(d));
  return lines;
}
std::vector<std::string> partition_complaints(std::string_view text) {
  return said(read_partition_file(text, "p"));
}
PartitionDefinition only(std::string_view text) {
  auto file = read_partition_file(text, "p");
  EXPECT_THAT(said(file), IsEmpty());
  EXPECT_EQ(file.definitions.size(), 1U);
  return file.definitions.empty() ? PartitionDefinition{} : file.definitions.front();
}

TEST(PartitionFile, ReadsTheExamplesOfTheManual) {
  const auto file = read_partition_file(R"( Default=0x7fff : ALL, SELF=full ;

 NewPartition , ipoib : 0x123456=full, 0x3456789034=limi, 0x2134af2306 ;

 YetAnotherOne = 0x300 : SELF=full ;
 YetAnotherOne = 0x300 : ALL=limited ;

 ShareIO = 0x80 , defmember=full : 0x123451, 0x123452;
 # 0x123453, 0x123454 will be limited
 ShareIO = 0x80 : 0x123453, 0x123454, 0x123455=full;
 # 0x123456, 0x123457 will be limited
 ShareIO = 0x80 : defmember=limited : 0x123456, 0x123457, 0x123458=full;
 ShareIO = 0x80 , defmember=full : 0x123459, 0x12345a;
 ShareIO = 0x80 , defmember=full : 0x12345b, 0x12345c=limited, 0x12345d;
)",
                                        "p");
  EXPECT_THAT(said(file), ElementsAre("p:3:53: warning: 'limi' is read as 'limited'; write the "
                                      "whole word"));
  ASSERT_EQ(file.definitions.size(), 9U);
  EXPECT_EQ(file.definitions[0].p_key, 0x7FFF);
  EXPECT_EQ(file.definitions[0].members[0].who.kind, Kind::All);
  EXPECT_EQ(file.definitions[0].members[0].membership, Membership::Limited);
  EXPECT_EQ(file.definitions[0].members[1].membership, Membership::Full);
  EXPECT_EQ(file.definitions[1].name, "NewPartition");
  EXPECT_EQ(file.definitions[1].p_key, std::nullopt);
  EXPECT_TRUE(file.definitions[1].ipoib);
  EXPECT_EQ(file.definitions[6].members[0].membership, Membership::Limited);
  EXPECT_EQ(file.definitions[6].members[2].membership, Membership::Full);
  EXPECT_EQ(file.definitions[8].members[0].membership, Membership::Full);
  EXPECT_EQ(file.definitions[8].members[1].membership, Membership::Limited);
}

TEST(PartitionFile, SeveralDefinitionsShareALine) {
  const auto file = read_partition_file(
      "Default=0x7fff,ipoib : ALL=full;PartA=0x8001, sl=1, ipoib : ALL=full;", "p");
  EXPECT_THAT(said(file), IsEmpty());
  ASSERT_EQ(file.definitions.size(), 2U);
  EXPECT_EQ(file.definitions[1].p_key, 1);
  EXPECT_EQ(file.definitions[1].flags.sl, 1);
}

TEST(PartitionFile, ListsAndHeadersMayBeWrapped) {
  const auto d = only(
      "# wrapped\r\nA = 0x12\r\n : # here\r\n 0x1,\r\n\t0x2 = full "
      ",\r\n\r\n 18446744073709551615 ;\r\n");
  ASSERT_EQ(d.members.size(), 3U);
  EXPECT_EQ(d.members[2].who.first.value, ~std::uint64_t{0});
}

TEST(PartitionFile, AMissingCommaAtALineEndAndAMissingSemicolonAreTakenWithAWarning) {
  EXPECT_THAT(partition_complaints("A=1 : 0x1\n0x2\n"),
              ElementsAre("p:1:7: warning: a ',' is missing behind this member",
                          "p:3:1: warning: the definition of line 1 does not end with ';'"));
}

TEST(PartitionFile, AFileThatIsCutIsRefused) {
  EXPECT_THAT(partition_complaints("A=1 : 0x1, ALL"),
              ElementsAre("p:1:15: error: the definition of line 1 does not end with ';', nor the "
                          "last line with a line end: the file may be cut"));
}

TEST(PartitionFile, ADefinitionHasANameOrAKey) {
  EXPECT_THAT(partition_complaints(", ipoib : ALL;"),
              ElementsAre("p:1:1: error: this definition has neither a name nor a P_Key; write one "
                          "of them before this"));
}

TEST(PartitionFile, TwoMembersOnALineNeedAComma) {
  EXPECT_THAT(partition_complaints("A=1 : 0x1 0x2;"),
              ElementsAre("p:1:11: error: expected ',' or ';' after a member, got '0x2'"));
}

TEST(PartitionFile, AForgottenSemicolonIsNamedWhereTheNextDefinitionBegins) {
  EXPECT_THAT(partition_complaints("A=1 : 0x1=full\nB=0x2 : ALL ;"),
              testing::Contains("p:2:3: error: expected full, limited or both, got '0x2'; if a "
                                "definition begins here, a ';' is missing before it"));
}

TEST(PartitionFile, NamesNodesPortsRangesAndGroups) {
  const auto d = only(
      "A=1 : \"host 1 HCA-1\"=full, \"n2\"/P2, \xE2\x80\x9Cn3\xE2\x80\x9D, 0x10-0x1f, storage, "
      "ALL_VCAS, none ;");
  ASSERT_EQ(d.members.size(), 7U);
  EXPECT_EQ(d.members[0].who.name, "host 1 HCA-1");
  EXPECT_EQ(d.members[0].membership, Membership::Full);
  EXPECT_EQ(d.members[1].who.port, 2);
  EXPECT_EQ(d.members[2].who.name, "n3");
  EXPECT_EQ(d.members[3].who.last.value, 0x1FU);
  EXPECT_EQ(d.members[4].who.kind, Kind::Group);
  EXPECT_EQ(d.members[5].who.kind, Kind::AllVirtual);
  EXPECT_EQ(d.members[6].who.kind, Kind::None);
}

TEST(PartitionFile, AHeaderMayBeTheKeyAlone) {
  const auto d = only("0x8001,ipoib : ALL;");
  EXPECT_EQ(d.name, "");
  EXPECT_EQ(d.p_key, 1);
  EXPECT_EQ(only("my part = 3 : ;").name, "my part");
}

TEST(PartitionFile, ReadsFlagsAsCodesAndInUnits) {
  const auto d = only(
      "A=1, ipoib, indx0, mtu=4096, rate=100G, sl=3, scope=2, scope=5, Q_Key=0xb1b, "
      "TClass=7, FlowLabel=0xfffff : ALL=Full;");
  EXPECT_TRUE(d.index0);
  EXPECT_EQ(d.flags.mtu, 5);
  EXPECT_EQ(d.flags.rate, 16);
  EXPECT_THAT(d.flags.scopes, ElementsAre(2, 5));
  EXPECT_EQ(d.flags.flow_label, 0xFFFFFU);
  EXPECT_EQ(only("A=1, rate=2.5G : ;").flags.rate, 2);
  EXPECT_EQ(only("A=1, rate=14G : ;").flags.rate, 11);
}

TEST(PartitionFile, ReadsMgidLines) {
  const auto d =
      only("A=1, ipoib :\n mgid=ff12:401b::1, sl=3 # one\n mgid=ff12::2\n ALL, SELF=full ;");
  ASSERT_EQ(d.groups.size(), 2U);
  EXPECT_EQ(to_string(d.groups[0].mgid), "ff12:401b::1");
  EXPECT_EQ(d.groups[0].flags.sl, 3);
  EXPECT_EQ(d.members.size(), 2U);
}

class PartitionFileError : public testing::TestWithParam<Broken> {};
TEST_P(PartitionFileError, IsNamedWithItsPlace) {
  EXPECT_THAT(partition_complaints(GetParam().text), testing::Contains(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Each, PartitionFileError,
    testing::Values(
        Broken{"A=0x10000 : ALL;",
               "p:1:3: error: expected a P_Key from 0x0001 to 0x7fff (or with the membership bit, "
               "0x8000), got '0x10000'"},
        Broken{"A=0xzz : ALL;",
               "p:1:3: error: expected a P_Key from 0x0001 to 0x7fff (or with the membership bit, "
               "0x8000), got '0xzz'"},
        Broken{"A=0x8000 : ALL;",
               "p:1:3: error: P_Key '0x8000' names no partition: its low 15 bits are 0"},
        Broken{"A=1 : ALL_S;",
               "p:1:7: error: unknown member 'ALL_S'; did you mean 'ALL_SWITCHES'?"},
        Broken{"A=1, ipo : ALL;", "p:1:6: error: unknown flag 'ipo'; did you mean 'ipoib'?"},
        Broken{"A=1, ipoib, ipoib : ALL;", "p:1:13: error: duplicate 'ipoib'"},
        Broken{"A=1, sl=1, sl=2 : ALL;", "p:1:12: error: duplicate sl"},
        Broken{"A=1, defmember=full : defmember=full : ALL;",
               "p:1:23: error: duplicate default membership (defmember)"},
        Broken{"A=1, mtu=9000 : ALL;",
               "p:1:10: error: expected an MTU code from 1 to 5 or 256, 512, 1024, 2048 or 4096, "
               "got '9000'"},
        Broken{"A=1, rate=100 : ALL;",
               "p:1:11: error: expected a rate code from 2 to 24, or a rate like 100G, got '100'; "
               "did you mean '100G' (code 16)?"},
        Broken{"A=1, sl=16 : ALL;", "p:1:9: error: expected a number from 0 to 15, got '16'"},
        Broken{"A=1 : ALL=ful1;",
               "p:1:11: error: expected full, limited or both, got 'ful1'; did you mean 'full'?"},
        Broken{"A=1 : 0x12g;",
               "p:1:7: error: expected a port GUID like 0x0002c90300a1b2c3, or a range of two with "
               "'-', got '0x12g'"},
        Broken{"A=1 : 0x20-0x10;", "p:1:7: error: the range ends before it begins"},
        Broken{"A=1 : \"host;",
               "p:1:7: error: the quote that begins here is not closed on this line"},
        Broken{
            "A=1 ;",
            "p:1:5: error: expected ':' and the members before this ';' (an empty list is ': ;')"},
        Broken{"A=1 : \n mgid=fe80::1\n;",
               "p:2:7: error: 'fe80::1' is no multicast GID: it does not begin with ff"},
        Broken{"A=1 : ALL, mgid=ff12::1;",
               "p:1:12: error: an mgid entry begins a line of its own"}));

TEST(PartitionFile, EveryErrorIsFoundAtOnce) {
  const auto lines =
      partition_complaints("A=0 : ALL;\nB=2, sl=99 : ALL;\nC=3 : ALL;\nD=4 : ALL=x;\n");
  EXPECT_EQ(lines.size(), 3U) << testing::PrintToString(lines);
}

TEST(PartitionFile, ACaretStandsUnderThePlace) {
  const std::string text = "# x\nA=1,\tsl=99 : ALL;\n";
  const auto file = read_partition_file(text, "p");
  ASSERT_EQ(file.diagnostics.size(), 1U);
  EXPECT_EQ(with_caret(file.diagnostics[0], text),
            "p:2:9: error: expected a number from 0 to 15, got '99'\n"
            "  A=1,\tsl=99 : ALL;\n"
            "      \t   ^");
}

}  // namespace
}  // namespace sm::policy
