// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/rate_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sm/policy/broken.h"

namespace sm::policy {
namespace {

using test::Broken;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> said(const RateFile& file) {
  std::vector<std::string> lines;
  lines.reserve(file.diagnostics.size());
  for (const auto& d : file.diagnostics) lines.push_back(to_string(d));
  return lines;
}
std::vector<std::string> rate_complaints(std::string_view text) {
  return said(read_rate_file(text, "r"));
}

TEST(RateFile, ReadsTheExampleOfTheManagersDocument) {
  for (const std::string_view text :
       {"BW_NAMES\nbw1 = 50\nbw2 = 100\n\nBW_RULES\ndefault= 1:bw1\n0x2c90000000025= 1:bw2\n",
        // As printed, with its line ends lost.
        "BW_NAMES bw1 = 50 bw2 = 100 BW_RULES default= 1:bw1 0x2c90000000025= 1:bw2"}) {
    const auto file = read_rate_file(text, "r");
    EXPECT_THAT(said(file), IsEmpty());
    EXPECT_EQ(file.others[1], 50U);
    EXPECT_EQ(file.others[2], 0U);
    ASSERT_EQ(file.rules.size(), 1U);
    EXPECT_EQ(file.rules[0].guid, ib::Guid{0x2c90000000025});
    EXPECT_EQ(file.rules[0].rates[1], 100U);
  }
}

TEST(RateFile, NamesPortGroupsAndSeveralSls) {
  const auto file = read_rate_file(
      "BW_NAMES My_bandwidth = 50\nBW_RULES\nPort_grp1 = 3:My_bandwidth, 9:My_bandwidth\n"
      "\"a group\" = 1:My_bandwidth\n",
      "r");
  EXPECT_THAT(said(file), IsEmpty());
  ASSERT_EQ(file.rules.size(), 2U);
  EXPECT_EQ(file.rules[0].group, "Port_grp1");
  EXPECT_EQ(file.rules[0].rates[9], 50U);
  EXPECT_EQ(file.rules[1].group, "a group");
}

TEST(RateFile, TheTwoKeywordsAloneLimitNothing) {
  const auto file = read_rate_file("BW_NAMES\nBW_RULES\n", "r");
  EXPECT_THAT(said(file), IsEmpty());
  EXPECT_THAT(file.rules, IsEmpty());
  EXPECT_EQ(file.others, SlRates{});
}

class RateFileError : public testing::TestWithParam<Broken> {};
TEST_P(RateFileError, IsNamedWithItsPlace) {
  EXPECT_THAT(rate_complaints(GetParam().text), ElementsAre(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Each, RateFileError,
    testing::Values(
        Broken{"bw = 5", "r:1:1: error: expected BW_NAMES or BW_RULES, got 'bw'"},
        Broken{"BW_NAMES bw 5", "r:1:13: error: expected '=' and a rate in Mb/s, got '5'"},
        Broken{"BW_NAMES bw = fast",
               "r:1:15: error: expected a rate in Mb/s from 0 (unlimited) to 4294967295, without a "
               "unit, got 'fast'"},
        Broken{"BW_NAMES bw = 5 bw = 6", "r:1:17: error: 'bw' is defined twice"},
        Broken{"BW_NAMES bw = 5 BW_RULES default = 16:bw",
               "r:1:36: error: expected an SL from 0 to 15, got '16'"},
        Broken{"BW_NAMES band = 5 BW_RULES default = 1:bnad",
               "r:1:40: error: no bandwidth is named 'bnad'; did you mean 'band'?"},
        Broken{"BW_NAMES bw = 5 BW_RULES default = 1:bw, 1:bw",
               "r:1:42: error: duplicate SL 1 in this rule"},
        Broken{"BW_NAMES bw = 5 BW_RULES 0x1 = 1:bw\n1 = 2:bw",
               "r:2:1: error: '1' has a rule already"},
        Broken{"BW_NAMES bw = 5 BW_RULES default 1:bw",
               "r:1:34: error: expected '=' and SL:NAME, got '1'"},
        Broken{"BW_NAMES bw = 5 BW_RULES 0xg = 1:bw",
               "r:1:26: error: expected a port GUID, a port group or default, got '0xg'"}));

}  // namespace
}  // namespace sm::policy
