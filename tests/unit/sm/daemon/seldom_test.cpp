// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/seldom.h"

#include <gtest/gtest.h>

namespace sm::daemon {
namespace {

TEST(Seldom, AStormOfFailuresIsALineNowAndThenWithTheCountOfTheOthers) {
  Seldom seldom;
  const ib::Instant start = ib::Instant{} + std::chrono::hours(1);
  EXPECT_EQ(seldom.line(start, "disk full"), "disk full");
  std::size_t lines = 0;
  for (int ms = 1; ms < 30'000; ++ms)
    lines += seldom.line(start + std::chrono::milliseconds(ms), "disk full").has_value();
  EXPECT_EQ(lines, 2U);
  EXPECT_EQ(seldom.line(start + std::chrono::seconds(60), "read-only"),
            "read-only (and 9999 more since the last such line)");
  EXPECT_EQ(seldom.line(start + std::chrono::seconds(90), "read-only"), "read-only");
}

}  // namespace
}  // namespace sm::daemon
