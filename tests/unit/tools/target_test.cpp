// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/common/target.h"

#include <gtest/gtest.h>

namespace ib::tools {
namespace {

Target read(std::string_view text) {
  const auto target = parse_target(text);
  EXPECT_TRUE(target.has_value()) << text << ": " << target.error().message;
  return target.value_or(Target{});
}

TEST(Target, FormDecides) {
  EXPECT_EQ(read("17"), Target{Lid{17}});
  EXPECT_EQ(read("0x11"), Target{Lid{17}});
  EXPECT_EQ(read(" 17 "), Target{Lid{17}});
  EXPECT_EQ(read("0x0002c903000085d1"), Target{Guid{0x2c903000085d1}});
  EXPECT_EQ(read("0x2c903000085d1"), Target{Guid{0x2c903000085d1}});
  EXPECT_EQ(read("0002c903000085d1"), Target{Guid{0x2c903000085d1}});
  EXPECT_EQ(read("fe80::2:c903:0:85d1"),
            (Target{Gid::from(kDefaultSubnetPrefix, Guid{0x2c903000085d1})}));
  EXPECT_EQ(read("0,1,3"), (Target{mad::DirectedRoute{{1, 3}}}));
  EXPECT_EQ(read("0"), Target{mad::DirectedRoute{}});
  EXPECT_EQ(read("0,"), Target{mad::DirectedRoute{}});
  EXPECT_EQ(read("node0254 HCA-1"), Target{NodeName{"node0254 HCA-1"}});
  EXPECT_EQ(read("MF0;sw95:MQM8700/U1"), Target{NodeName{"MF0;sw95:MQM8700/U1"}});
  EXPECT_EQ(read("deadbeef"), Target{NodeName{"deadbeef"}});
}

TEST(Target, RefusesWhatCanBeNothingElse) {
  for (const char* text : {"", "  ", "0x", "0x0", "0xffff", "65535", "70000", "0,1,255", "1,2",
                           "0,0", "0,1,,2", "0x2c903000085d1234567"}) {
    const auto target = parse_target(text);
    EXPECT_FALSE(target.has_value()) << text;
  }
  EXPECT_EQ(parse_target("0,300").error().message,
            "expected a directed route: 0, then port numbers from 1 to 254, like 0,1,3, got "
            "'0,300'");
  EXPECT_EQ(parse_target("0,300").error().kind, ErrorKind::Usage);
}

TEST(Target, SaysWhatItIs) {
  EXPECT_EQ(to_string(read("17")), "LID 17");
  EXPECT_EQ(to_string(read("0,1,3")), "DR path 0,1,3");
  EXPECT_EQ(to_string(read("a\x1b[2J")), "'a [2J'");
}

}  // namespace
}  // namespace ib::tools
