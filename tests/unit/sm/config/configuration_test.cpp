// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The options file: its grammar, and what is said of lines that cannot be read.
#include "sm/config/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sm/config/congestion.h"
#include "sm/config/table.h"
#include "sm/config/value.h"

namespace sm::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Read {
  Configuration configuration;
  std::vector<std::string> problems;
};
Read read(std::string_view text) {
  Read out;
  std::vector<ib::Diagnostic> problems;
  read_options_text(text, "opensm.conf", out.configuration, problems);
  for (const auto& problem : problems) out.problems.push_back(to_string(problem));
  return out;
}

TEST(Configuration, OfAListTheItemThatIsWrongIsPointedAt) {
  const auto problems = read(
                            "activity_report_subjects mc, rooting,prtn\n"
                            "activity_report_subjects \"mc,,prtn\"\n"
                            "activity_report_subjects none,mc\n"
                            "perfmgr_error_thresholds VL15Dropped=7,VL15Droped=8\n"
                            "console_allow 10.0.0.0/8, 10.0.0.0/99\n")
                            .problems;
  std::vector<std::string> places;
  for (const std::string& problem : problems)
    places.push_back(problem.substr(0, problem.find(' ')));
  EXPECT_THAT(places, ElementsAre("opensm.conf:1:30:", "opensm.conf:2:30:", "opensm.conf:3:26:",
                                  "opensm.conf:4:40:", "opensm.conf:5:27:"));
}

TEST(OptionsFile, KeysAndValuesMayHaveABlankOrAnEqualsSignBetweenThem) {
  const auto [configuration, problems] = read(
      "# from the head node\r\n"
      "lmc 2   # two bits\r\n"
      "  sweep_interval=30\n"
      "routing_engine =\t ftree\n"
      "log_file \"/var/log/my # log\"\n"
      "root-guid-file 'roots'\n");
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(configuration.settings.lmc, 2U);
  EXPECT_EQ(configuration.settings.sweep_interval, 30U);
  EXPECT_EQ(configuration.settings.routing_engine, "ftree");
  EXPECT_EQ(configuration.settings.log_file, "/var/log/my # log");
  EXPECT_EQ(configuration.settings.root_guid_file, "roots");
  EXPECT_EQ(configuration.origin(*find_key("lmc")).line, 2U);
}

TEST(OptionsFile, WhatIsWrongIsSaidWithItsPlaceAndTheRestIsRead) {
  const auto [configuration, problems] = read(
      "lmc 8\n"
      "lcm 1\n"
      "sweep_interval\n"
      "= 3\n"
      "connect_rots TRUE\n"
      "some_key_of_another_version 1\n"
      "part_enforce bot\n"
      "qos perhaps\n"
      "priority 3\n"
      "sm_priority 3\n");
  EXPECT_THAT(
      problems,
      ElementsAre("opensm.conf:1:5: error: expected a number from 0 to 7, got '8'",
                  "opensm.conf:2:1: error: no option is called 'lcm'; did you mean 'lmc'?",
                  "opensm.conf:3:1: error: expected a value after 'sweep_interval', got nothing",
                  "opensm.conf:4:1: error: expected a key, got '='",
                  "opensm.conf:5:1: error: no option is called 'connect_rots'; did you mean "
                  "'connect_roots'?",
                  "opensm.conf:6:1: warning: no option is called 'some_key_of_another_version'; "
                  "ignored",
                  "opensm.conf:7:14: error: expected both, in, out or off, got 'bot'",
                  "opensm.conf:8:5: error: expected TRUE or FALSE, got 'perhaps'",
                  "opensm.conf:9:1: error: no option is called 'priority'; did you mean "
                  "'sm_priority'?"));
  EXPECT_EQ(configuration.settings.sm_priority, 3U);
  EXPECT_EQ(configuration.settings.lmc, 0U);
}

TEST(OptionsFile, WhatIsACommandLinesNameOrHalfAKeyIsAnErrorWithTheKey) {
  EXPECT_THAT(
      read("Pconfig /etc/p\nmaxsmps 3\npartition_file /etc/p\nonce TRUE\npolicy_file x\n").problems,
      ElementsAre(
          "opensm.conf:1:1: error: no option is called 'Pconfig'; did you mean "
          "'partition_config_file'?",
          "opensm.conf:2:1: error: no option is called 'maxsmps'; did you mean 'max_wire_smps'?",
          "opensm.conf:3:1: error: no option is called 'partition_file'; did you mean "
          "'partition_config_file'?",
          "opensm.conf:4:1: error: 'once' is for the command line alone",
          "opensm.conf:5:1: warning: no option is called 'policy_file'; ignored"))
      << "several keys have these parts";
}

TEST(OptionsFile, ALastLineThatDoesNotEndMayBeCut) {
  EXPECT_THAT(read("lmc 2\nsweep_interval 3").problems,
              ElementsAre("opensm.conf:2:17: warning: the last line does not end: the file may be "
                          "cut"));
  EXPECT_THAT(read("").problems, IsEmpty());
}

TEST(OptionsFile, TruthsMayBeWrittenOtherwiseWithAWarning) {
  const auto [configuration, problems] = read("qos yes\nlmc_esp0 true\ndaemon 1\nqos FALSE\n");
  EXPECT_THAT(problems,
              ElementsAre("opensm.conf:1:5: warning: expected TRUE or FALSE, got 'yes'; taken for "
                          "TRUE (opensm takes it for FALSE)",
                          "opensm.conf:3:8: warning: expected TRUE or FALSE, got '1'; taken for "
                          "TRUE (opensm takes it for FALSE)",
                          "opensm.conf:4:1: warning: 'qos' is in line 1 already; this line "
                          "counts"));
  EXPECT_TRUE(configuration.settings.lmc_esp0);
  EXPECT_TRUE(configuration.settings.daemon);
  EXPECT_FALSE(configuration.settings.qos);
}

TEST(OptionsFile, LinesOfAKeyThatMayBeRepeatedAddUp) {
  const auto [configuration, problems] = read(
      "cc_ca_cong_setting_ccti_timer 0 150\ncc_ca_cong_setting_ccti_timer 3 200\n"
      "cc_cct 0:0\ncc_cct 0:1\n");
  EXPECT_THAT(problems,
              ElementsAre("opensm.conf:4:1: warning: 'cc_cct' is in line 3 already; this line "
                          "counts"));
  EXPECT_EQ(configuration.origin(*find_key("cc_ca_cong_setting_ccti_timer")).value, "0 150, 3 200");
  const auto settings = congestion_settings(configuration);
  EXPECT_EQ(settings.of_ca.entries[0].ccti_timer, 150);
  EXPECT_EQ(settings.of_ca.entries[1].ccti_timer, 0);
  EXPECT_EQ(settings.of_ca.entries[3].ccti_timer, 200);
}

TEST(OptionsFile, CongestionControlByOpensmsKeysComputesNothing) {
  const auto [configuration, problems] = read(
      "congestion_control TRUE\ncc_key 0x10\ncc_max_outstanding_mads 7\n"
      "cc_sw_cong_setting_control_map 0x1f\ncc_sw_cong_setting_victim_mask 0x1E\n"
      "cc_sw_cong_setting_credit_mask 2\ncc_sw_cong_setting_threshold 0xf\n"
      "cc_sw_cong_setting_packet_size 8\ncc_sw_cong_setting_credit_starvation_threshold 3\n"
      "cc_sw_cong_setting_credit_starvation_return_delay 1:5\n"
      "cc_sw_cong_setting_marking_rate 9\ncc_ca_cong_setting_port_control 1\n"
      "cc_ca_cong_setting_control_map 0x3\ncc_ca_cong_setting_ccti_increase 0 1\n"
      "cc_ca_cong_setting_trigger_threshold 1 4\ncc_ca_cong_setting_ccti_min 1 5\n"
      "cc_cct 0:0,2:9\n");
  EXPECT_THAT(problems, testing::IsEmpty());
  const auto settings = congestion_settings(configuration);
  EXPECT_EQ(settings.cc_key, 0x10U);
  EXPECT_EQ(settings.requests_most, 7U);
  EXPECT_FALSE(settings.table_by_hosts || settings.timer_by_hosts || settings.victims_by_ports ||
               settings.last_fills);
  const auto& of_switch = settings.of_switch;
  EXPECT_EQ(of_switch.control_map, 0x1FU);
  EXPECT_EQ(of_switch.victim_mask[31], 0x1E);
  EXPECT_EQ(of_switch.credit_mask[31], 2);
  EXPECT_EQ(of_switch.threshold, 15);
  EXPECT_EQ(of_switch.packet_size, 8);
  EXPECT_EQ(of_switch.cs_threshold, 3);
  EXPECT_EQ(of_switch.cs_return_delay, (ib::wire::CongestionDelay{1, 5}));
  EXPECT_EQ(of_switch.marking_rate, 9);
  EXPECT_EQ(settings.of_ca.port_control, 1);
  EXPECT_EQ(settings.of_ca.control_map, 3);
  EXPECT_EQ(settings.of_ca.entries[0], (ib::wire::CaCongestionEntry{0, 1, 0, 0}));
  EXPECT_EQ(settings.of_ca.entries[1], (ib::wire::CaCongestionEntry{0, 0, 4, 5}));
  EXPECT_EQ(settings.table, (std::vector<ib::wire::CongestionDelay>{{0, 0}, {2, 9}}));
}

TEST(OptionsFile, NothingSaidIsTheDefault) {
  const auto [configuration, problems] = read("root_guid_file (null)\nlmc 3\nlmc (null)\n");
  EXPECT_EQ(configuration.settings, Settings{});
  EXPECT_EQ(configuration.origin(*find_key("lmc")).from, Origin::From::Default);
}

TEST(OptionsFile, WhatIsNoTextIsRefused) {
  EXPECT_THAT(read(std::string("lmc 3\n\0\0", 8)).problems,
              ElementsAre("opensm.conf:2:1: error: there is a control character (byte 0x00) here, "
                          "which no text file has"));
  EXPECT_THAT(read("\xFF\xFEl\n").problems,
              ElementsAre("opensm.conf:1:1: error: this file is UTF-16; write it as plain text "
                          "(UTF-8)"));
}

TEST(OptionsFile, WhatIsNotSupportedYetSaysWhatFollows) {
  const auto [configuration, problems] = read(
      "sm_assigned_guid 5\nsingle_thread TRUE\nbabbling_port_policy TRUE\n"
      "cc_key 0\n");
  EXPECT_THAT(
      problems,
      ElementsAre("opensm.conf:1:1: warning: sm_assigned_guid: not supported yet: alias GUIDs are "
                  "those that clients ask for"));
  EXPECT_THAT(without_effect(configuration),
              testing::Contains("single_thread: accepted, no effect: one thread owns all state in "
                                "any case"));
}

/// As `opensm -c FILE` of opensm 3.3.23 wrote it.
TEST(OptionsFile, OpensmsOwnIsReadWithoutAProblem) {
  std::ifstream file(IBKIT_SOURCE_DIR "/tests/golden/config/opensm-3.3.23.conf");
  std::stringstream text;
  text << file.rdbuf();
  ASSERT_GT(text.str().size(), 10'000U);
  const auto [configuration, problems] = read(text.str());
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(configuration.settings.max_wire_smps, 4U);
  EXPECT_EQ(configuration.settings.log_file, "/var/log/opensm.log");
  EXPECT_EQ(configuration.settings.head_of_queue_lifetime, 0x12U);
  EXPECT_EQ(configuration.settings.routing_engine, "");
  // Nothing of what it says is without effect and needs to be told.
  for (const std::string& line : without_effect(configuration))
    EXPECT_EQ(line.find("not supported yet"), std::string::npos) << line;
}

}  // namespace
}  // namespace sm::config
