// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/congestion_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/policy/congestion_values.h"
#include "tests/unit/sm/policy/broken.h"

namespace sm::policy {
namespace {

using ib::wire::CongestionDelay;
using test::Broken;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> congestion_complaints(std::string_view text) {
  std::vector<std::string> lines;
  for (const auto& d : read_congestion_file(text, "cc").diagnostics) lines.push_back(to_string(d));
  return lines;
}
CongestionSettings settings(std::string_view text) {
  const auto file = read_congestion_file(text, "cc");
  EXPECT_THAT(file.diagnostics, IsEmpty());
  return file.settings;
}

TEST(CongestionFile, AnEmptyOneHasTheDefaultsOfTheManagersDocument) {
  const CongestionSettings s = settings("# nothing\n\n");
  EXPECT_EQ(s, CongestionSettings{});
  EXPECT_TRUE(s.enable);
  EXPECT_EQ(s.num_hosts, 0U);
  EXPECT_EQ(s.of_switch.threshold, 15);
  EXPECT_EQ(s.of_switch.marking_rate, 10);
  EXPECT_EQ(s.of_switch.packet_size, 8);
  EXPECT_EQ(s.of_ca.port_control, 0);
  EXPECT_EQ(s.of_ca.control_map, 0xFFFF);
  EXPECT_EQ(s.of_ca.entries[9], (ib::wire::CaCongestionEntry{0, 1, 2, 0}));
  EXPECT_TRUE(s.table_by_hosts);
  EXPECT_TRUE(s.timer_by_hosts);
  EXPECT_EQ(s.max_errors, 5U);
  EXPECT_EQ(s.error_window, std::chrono::seconds(5));
}

TEST(CongestionFile, EveryKeyIsTaken) {
  const CongestionSettings s = settings(
      "enable false\nnum_hosts 49152\nthreshold 0x3\nmarking_rate = 0xffff\npacket_size 0x3fc0\n"
      "port_control 1\nca_control_map 0x00ff\nccti_increase 3\ntrigger_threshold=4\nccti_min 5\n"
      "cct 1:2, 3\nccti_timer 200   # for all SLs\nmax_errors 0\nerror_window 60\n");
  EXPECT_FALSE(s.enable);
  EXPECT_EQ(s.num_hosts, 49152U);
  EXPECT_EQ(s.of_switch.threshold, 3);
  EXPECT_EQ(s.of_switch.marking_rate, 0xFFFF);
  EXPECT_EQ(s.of_switch.packet_size, 255);
  EXPECT_EQ(s.of_ca.port_control, 1);
  EXPECT_EQ(s.of_ca.control_map, 0xFF);
  EXPECT_EQ(s.of_ca.entries[15], (ib::wire::CaCongestionEntry{200, 3, 4, 5}));
  EXPECT_FALSE(s.timer_by_hosts);
  EXPECT_FALSE(s.table_by_hosts);
  EXPECT_THAT(s.table,
              ElementsAre(CongestionDelay{0, 0}, CongestionDelay{1, 2}, CongestionDelay{0, 3}));
  EXPECT_EQ(s.max_errors, 0U);
  EXPECT_EQ(s.error_window, std::chrono::seconds(60));
}

TEST(CongestionFile, PacketsAreMeasuredIn64BytesRoundedUp) {
  EXPECT_EQ(settings("packet_size 1\n").of_switch.packet_size, 1);
  EXPECT_EQ(settings("packet_size 64\n").of_switch.packet_size, 1);
  EXPECT_EQ(settings("packet_size 65\n").of_switch.packet_size, 2);
  EXPECT_EQ(settings("packet_size 0\n").of_switch.packet_size, 0);
}

TEST(CongestionFile, ATableMayBeOneValueAndZeroIsComputed) {
  EXPECT_TRUE(settings("cct 0\n").table_by_hosts);
  EXPECT_THAT(settings("cct 7\n").table, ElementsAre(CongestionDelay{}, CongestionDelay{0, 7}));
  EXPECT_EQ(settings("cct 1 2 3\n").table, settings("cct 1,2,3\n").table);
}

class BrokenCongestionFile : public testing::TestWithParam<Broken> {};

TEST_P(BrokenCongestionFile, SaysWhereAndWhatWasExpected) {
  EXPECT_THAT(congestion_complaints(GetParam().text), ElementsAre(std::string(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenCongestionFile,
    testing::Values(
        Broken{"enable maybe\n", "cc:1:8: error: expected TRUE or FALSE, got 'maybe'"},
        Broken{"\nenable\n", "cc:2:7: error: expected TRUE or FALSE, got nothing"},
        Broken{"num_hosts 49153\n",
               "cc:1:11: error: expected a number of hosts from 0 to 49152, got '49153'"},
        Broken{"  threshold 16\n", "cc:1:13: error: expected a threshold from 0 to 15, got '16'"},
        Broken{"marking_rate 0x10000\n",
               "cc:1:14: error: expected a number of packets from 0 to 65535, got '0x10000'"},
        Broken{"packet_size 0x3fc1\n",
               "cc:1:13: error: expected a number of bytes from 0 to 16320, got '0x3fc1'"},
        Broken{"port_control = 2\n",
               "cc:1:16: error: expected 0 (by queue pair) or 1 (by SL): a number from 0 to 1, got "
               "'2'"},
        Broken{"ca_control_map -1\n",
               "cc:1:16: error: expected a mask of SLs from 0 to 65535, got '-1'"},
        Broken{"ccti_increase 256\n",
               "cc:1:15: error: expected a step of the index from 0 to 255, got '256'"},
        Broken{"trigger_threshold two\n",
               "cc:1:19: error: expected an index from 0 to 255, got 'two'"},
        Broken{"ccti_timer 1 2\n",
               "cc:1:12: error: expected a time in 1.024 us from 0 to 65535, got '1 2'"},
        Broken{"cct 1:2, 4:1\n",
               "cc:1:10: error: expected SHIFT:MULTIPLIER, 0 to 3 and 0 to 16383, or the "
               "multiplier alone, got '4:1'"},
        Broken{"cct\n",
               "cc:1:4: error: expected SHIFT:MULTIPLIER, 0 to 3 and 0 to 16383, or the "
               "multiplier alone, got nothing"},
        Broken{"cct 1,,2\n",
               "cc:1:7: error: expected SHIFT:MULTIPLIER, 0 to 3 and 0 to 16383, or the "
               "multiplier alone, got nothing"},
        Broken{"max_errors five\n",
               "cc:1:12: error: expected a number of errors from 0 to 49152, got 'five'"},
        Broken{"error_window 5s\n",
               "cc:1:14: error: expected a time in seconds from 0 to 49152, got '5s'"},
        Broken{"treshold 3\n",
               "cc:1:1: error: no option is called 'treshold'; did you mean 'threshold'?"},
        Broken{"some_key_of_another_version 3\n",
               "cc:1:1: warning: no option is called 'some_key_of_another_version'; ignored"},
        Broken{"enable TRUE\nenable FALSE\n",
               "cc:2:1: warning: 'enable' is in line 1 already; this line counts"},
        Broken{"= 3\n", "cc:1:1: error: expected a key, got '= 3'"}));

TEST(CongestionFile, ATableHas128Entries) {
  std::string text = "cct 1";
  for (int i = 0; i < 126; ++i) text += ",1";
  EXPECT_EQ(settings(text).table.size(), 128U);
  EXPECT_THAT(congestion_complaints(text + ",1"),
              ElementsAre("cc:1:259: error: expected at most 127 entries: a table has 128, the "
                          "first of which is always 0"));
}

TEST(CongestionValues, PortMasksAreRightAligned) {
  const auto mask = read_port_mask("0x1FE");
  ASSERT_TRUE(mask);
  EXPECT_EQ((*mask)[31], 0xFE);
  EXPECT_EQ((*mask)[30], 0x01);
  EXPECT_EQ((*mask)[29], 0x00);
  EXPECT_EQ((*read_port_mask(std::string(64, 'f')))[0], 0xFF);
  EXPECT_FALSE(read_port_mask(std::string(65, 'f')));
  EXPECT_FALSE(read_port_mask("0x"));
  EXPECT_EQ(read_port_mask("0xg").error().message,
            "expected at most 64 hexadecimal digits, got '0xg'");
}

TEST(CongestionValues, SlsAreNamedBeforeTheirValues) {
  const auto values = read_sl_values("0 150, 15 0x10", 0xFFFF);
  ASSERT_TRUE(values);
  EXPECT_EQ((*values)[0], 150);
  EXPECT_EQ((*values)[1], 0);
  EXPECT_EQ((*values)[15], 16);
  for (const char* wrong : {"16 1", "1", "1 256", "1 2 3", "", "1 2,"})
    EXPECT_FALSE(read_sl_values(wrong, 255)) << wrong;
  EXPECT_EQ(read_sl_values("3 256", 255).error().message,
            "expected an SL from 0 to 15 and a value from 0 to 255, got '3 256'");
}

TEST(CongestionValues, ATableOfOneEntryIsATable) {
  EXPECT_THAT(read_congestion_table("2:9").value(), ElementsAre(CongestionDelay{2, 9}));
  EXPECT_THAT(read_congestion_table("").value(), IsEmpty());
  EXPECT_FALSE(read_congestion_table("1:2:3"));
  EXPECT_FALSE(read_congestion_table("0:16384"));
}

}  // namespace
}  // namespace sm::policy
