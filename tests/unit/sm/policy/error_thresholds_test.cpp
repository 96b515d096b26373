// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/error_thresholds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sm::policy {
namespace {

using testing::HasSubstr;

std::string complaint(std::string_view text) {
  const auto read = read_error_thresholds(text);
  return read ? "" : read.error().message;
}

TEST(ErrorThresholds, NothingSaidIsTheDefaults) {
  const auto read = read_error_thresholds("");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, default_error_thresholds());
  EXPECT_EQ((*read)[0], 10U);
  EXPECT_EQ((*read)[12], std::nullopt) << "PortXmitWait";
}

TEST(ErrorThresholds, WhatIsSaidIsTakenAndTheRestStays) {
  const auto read =
      read_error_thresholds("SymbolErrorCounter=0, PortXmitWait = 1000,VL15Dropped=off,");
  ASSERT_TRUE(read);
  auto expected = default_error_thresholds();
  expected[0] = 0;
  expected[11].reset();
  expected[12] = 1000;
  EXPECT_EQ(*read, expected);
}

TEST(ErrorThresholds, MistakesAreNamed) {
  EXPECT_THAT(complaint("SymbolErrorCounter"), HasSubstr("expected NAME=N or NAME=off, got"));
  EXPECT_THAT(complaint("SymbolErrorCouter=1"), HasSubstr("did you mean 'SymbolErrorCounter'?"));
  EXPECT_THAT(complaint("x=1"), HasSubstr("expected the name of an error counter, got 'x'"));
  EXPECT_THAT(complaint("VL15Dropped=-1"), HasSubstr("expected a number or 'off' for VL15Dropped"));
  EXPECT_THAT(complaint("VL15Dropped=1,VL15Dropped=2"), HasSubstr("duplicate VL15Dropped"));
}

}  // namespace
}  // namespace sm::policy
