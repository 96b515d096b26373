// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/vl_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sm::policy {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

TEST(VlTables, ReadTheDefaultsOfTheManual) {
  EXPECT_THAT(*read_sl_to_vl("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7"),
              ElementsAreArray(kDefaultSlToVl));
  EXPECT_EQ(read_vl_arbitration("0:4,1:0,2:0,3:0,4:0,5:0,6:0,7:0,8:0,9:0,10:0,11:0,12:0,13:0,14:0"),
            default_vl_arbitration_high());
  EXPECT_EQ(read_vl_arbitration("0:0,1:4,2:4,3:4,4:4,5:4,6:4,7:4,8:4,9:4,10:4,11:4,12:4,13:4,14:4"),
            default_vl_arbitration_low());
}

TEST(VlTables, AListMayBeShortAndATrailingCommaIsAccepted) {
  EXPECT_THAT(*read_sl_to_vl("0,1,2,3,5,5,5,12,12,0,"),
              ElementsAre(0, 1, 2, 3, 5, 5, 5, 12, 12, 0));
  EXPECT_THAT(*read_vl_arbitration("0:1,"), ElementsAre(VlWeight{0, 1}));
  EXPECT_THAT(*read_vl_arbitration(""), IsEmpty());
}

TEST(VlTables, AVlMayComeSeveralTimes) {
  EXPECT_THAT(*read_vl_arbitration("0:1, 1:255, 0 : 2"),
              ElementsAre(VlWeight{0, 1}, VlWeight{1, 255}, VlWeight{0, 2}));
}

TEST(VlTables, WhatIsNoVlOrWeightIsNamed) {
  const auto of_map = [](std::string_view text) { return read_sl_to_vl(text).error().message; };
  const auto of_table = [](std::string_view text) {
    return read_vl_arbitration(text).error().message;
  };
  EXPECT_EQ(of_map(""), "expected a list of VLs, got nothing");
  EXPECT_EQ(of_map("0,16"), "entry 2: expected a VL from 0 to 15 (15 drops the SL), got '16'");
  EXPECT_EQ(of_map("0,,1"), "entry 2: expected a VL from 0 to 15 (15 drops the SL), got ''");
  EXPECT_EQ(of_map("0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7,0"),
            "entry 17: expected no more than 16 VLs, one for each SL, got '0'");
  for (const std::string_view text : {"15:1", "0:300", "0", "0:x", "a:1", "0:1:2"})
    EXPECT_EQ(
        of_table(text),
        "entry 1: expected VL:weight with a VL from 0 to 14 and a weight from 0 to 255, got '" +
            std::string(text) + "'");
  std::string many;
  for (int i = 0; i < 65; ++i) many += "0:1,";
  EXPECT_EQ(of_table(many), "entry 65: expected no more than 64 entries, got '0:1'");
}

}  // namespace
}  // namespace sm::policy
