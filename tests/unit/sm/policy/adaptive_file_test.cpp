// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/adaptive_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sm/policy/broken.h"

namespace sm::policy {
namespace {

using test::Broken;
using testing::ElementsAre;
using testing::IsEmpty;

AdaptiveSettings adaptive(std::string_view text) {
  const auto file = read_adaptive_file(text, "ar");
  EXPECT_THAT(file.diagnostics, IsEmpty());
  return file.settings;
}
std::vector<std::string> adaptive_complaints(std::string_view text) {
  std::vector<std::string> lines;
  for (const auto& d : read_adaptive_file(text, "ar").diagnostics) lines.push_back(to_string(d));
  return lines;
}

TEST(AdaptiveFile, AnEmptyOneHasTheDefaultsOfTheManual) {
  const AdaptiveSettings s = adaptive("# nothing\n\n");
  EXPECT_EQ(s, AdaptiveSettings{});
  EXPECT_TRUE(s.enable);
  EXPECT_EQ(s.algorithm, AdaptiveSettings::Algorithm::Lag);
  EXPECT_FALSE(s.free_choice);
  EXPECT_EQ(s.ageing_time, 30U);
}

TEST(AdaptiveFile, EveryOptionIsTaken) {
  const AdaptiveSettings s = adaptive(
      "ENABLE: true;\nAR_ALGORITHM: TREE;\nAR_MODE:free ;AGEING_TIME : 0x20;  # us\n"
      "MAX_ERRORS: 10;\nERROR_WINDOW: 5;\nLOG_FILE: /var/log/armgr.log;\nLOG_SIZE: 0;\n");
  EXPECT_EQ(s.algorithm, AdaptiveSettings::Algorithm::Tree);
  EXPECT_TRUE(s.free_choice);
  EXPECT_EQ(s.ageing_time, 32U);
}

TEST(AdaptiveFile, ASwitchMayHaveOptionsOfItsOwn) {
  const AdaptiveSettings s = adaptive(
      "AGEING_TIME: 77;\n"
      "SWITCH 0x12345 {\n  ENABLE: false;\n  AGEING_TIME: 44;\n}\n"
      "SWITCH 0x0002c902004050f8{AGEING_TIME:1;}\n");
  EXPECT_FALSE(s.enabled(ib::Guid{0x12345}));
  EXPECT_EQ(s.ageing_time_of(ib::Guid{0x12345}), 44U);
  EXPECT_TRUE(s.enabled(ib::Guid{0x0002c902004050f8}));
  EXPECT_EQ(s.ageing_time_of(ib::Guid{0x0002c902004050f8}), 1U);
  EXPECT_EQ(s.ageing_time_of(ib::Guid{1}), 77U);
}

TEST(AdaptiveFile, OffForAllIsOffForThoseThatAreOnByThemselves) {
  EXPECT_FALSE(adaptive("ENABLE: false; SWITCH 1 { ENABLE: true; }").enabled(ib::Guid{1}));
}

class BrokenAdaptiveFile : public testing::TestWithParam<Broken> {};

TEST_P(BrokenAdaptiveFile, SaysWhereAndWhatWasExpected) {
  EXPECT_THAT(adaptive_complaints(GetParam().text), ElementsAre(std::string(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenAdaptiveFile,
    testing::Values(
        Broken{"ENABLE: TRUE;\n", "ar:1:9: error: expected true or false, got 'TRUE'"},
        Broken{"\nENABLE true;\n", "ar:2:8: error: expected ':' and a value, got 'true'"},
        Broken{"ENABLE:;\n", "ar:1:8: error: expected a value, got ';'"},
        Broken{"ENABLE: true\nAR_MODE: free;\n", "ar:2:1: error: expected ';', got 'AR_MODE'"},
        Broken{"ENABLE: true", "ar:1:13: error: expected ';', got 'the end of the file'"},
        Broken{"AR_ALGORITHM: tree;", "ar:1:15: error: expected LAG or TREE, got 'tree'"},
        Broken{"AR_ALGORITHM: DF_PLUS;",
               "ar:1:15: error: DF_PLUS is not supported: how it keeps routes free of deadlock is "
               "not published; LAG is, with routing engine dfp"},
        Broken{"AR_MODE: tied;", "ar:1:10: error: expected bounded or free, got 'tied'"},
        Broken{"AGEING_TIME: 4294967296;",
               "ar:1:14: error: expected a time in microseconds from 0 to 4294967295, got "
               "'4294967296'"},
        Broken{"MAX_ERRORS: 65536;",
               "ar:1:13: error: expected a number from 0 to 65535, got '65536'"},
        Broken{"enable: true;",
               "ar:1:1: error: no option is called 'enable'; did you mean 'ENABLE'?"},
        Broken{"SOME_OPTION_OF_ANOTHER_VERSION: 1;",
               "ar:1:1: warning: no option is called 'SOME_OPTION_OF_ANOTHER_VERSION'; ignored"},
        Broken{"ENABLE: true;\nENABLE: false;",
               "ar:2:1: warning: ENABLE is in line 1 already; this one counts"},
        Broken{"SWITCH 0 { ENABLE: true; }",
               "ar:1:8: error: expected the GUID of a switch, got '0'"},
        Broken{"SWITCH 1 ENABLE: true;", "ar:1:10: error: expected '{', got 'ENABLE'"},
        Broken{"SWITCH 1 { ENABLE: true;",
               "ar:1:25: error: expected '}', got 'the end of the file'"},
        Broken{"SWITCH 1 { AR_MODE: free; }",
               "ar:1:12: error: AR_MODE is of all switches, not of one"},
        Broken{"SWITCH 1 { }\nSWITCH 0x1 { }",
               "ar:2:1: error: switch 0x0000000000000001 has options already"},
        Broken{"} ENABLE: true;", "ar:1:1: error: expected an option or SWITCH, got '}'"}));

}  // namespace
}  // namespace sm::policy
