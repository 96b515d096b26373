// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ib {
namespace {

using testing::ElementsAre;
using namespace std::string_view_literals;

TEST(Printable, KeepsTextAndUtf8) {
  EXPECT_EQ(printable("node-1 HCA-2 \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\xA7"),
            "node-1 HCA-2 \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\xA7");
}

TEST(Printable, CutsAtTheFirstNul) { EXPECT_EQ(printable("abc\0def"sv), "abc"); }

TEST(Printable, BlanksTerminalControls) {
  EXPECT_EQ(printable("a\x1b[31mb\r\nc\td\x7f"), "a [31mb  c d ");
  EXPECT_EQ(printable("x\xC2\x9Bm"), "x m") << "C1 CSI";
  EXPECT_EQ(printable("x\xE2\x80\xAEy"), "x y") << "right-to-left override";
  EXPECT_EQ(printable("x\xE2\x80\xA8y"), "x y") << "line separator";
}

TEST(Printable, BlanksEachByteThatIsNotUtf8) {
  EXPECT_EQ(printable("a\xFF\xFE"
                      "b"),
            "a  b");
  EXPECT_EQ(printable("\xC0\xAF"), "  ") << "overlong slash";
  EXPECT_EQ(printable("\xED\xA0\x80"), "   ") << "surrogate";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "    ") << "beyond U+10FFFF";
  EXPECT_EQ(printable("\xE2\x82"), "  ") << "cut short";
}

TEST(Trim, TakesBlanksOffBothEnds) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim("   "), "");
}

TEST(RangeComplaint, TakesNumbersOfTheRangeAndNothingElse) {
  for (const char* good : {"0", "100", "99.5", "1e2"})
    EXPECT_EQ(range_complaint(good, 0, 100), "") << good;
  for (const char* bad : {"", "x", "-1", "100.1", "1e3", "nan", "inf", "5 ", "5x"})
    EXPECT_EQ(range_complaint(bad, 0, 100),
              std::string("expected a number from 0 to 100, got '") + bad + "'");
  EXPECT_EQ(range_complaint("a\x1b[m", 1, 2), "expected a number from 1 to 2, got 'a [m'");
}

TEST(Split, KeepsEmptyPieces) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

}  // namespace
}  // namespace ib
