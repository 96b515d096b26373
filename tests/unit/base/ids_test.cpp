// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/ids.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace ib {
namespace {

TEST(Ids, PrintAsTheFieldWritesThem) {
  EXPECT_EQ(to_string(Lid{49151}), "49151");
  EXPECT_EQ(to_string(Guid{0x0002c90300a1b2c3}), "0x0002c90300a1b2c3");
  EXPECT_EQ(to_string(Gid::from(kDefaultSubnetPrefix, Guid{0x0002c90300a1b2c3})),
            "fe80::2:c903:a1:b2c3");
}

TEST(Ids, NumbersAreDecimalOrHexAndWhole) {
  std::uint64_t v = 77;
  EXPECT_TRUE(parse_number("0", 9, v));
  EXPECT_EQ(v, 0U);
  EXPECT_TRUE(parse_number("0x1F", 31, v));
  EXPECT_EQ(v, 31U);
  EXPECT_TRUE(parse_number("18446744073709551615", ~0ULL, v));
  EXPECT_EQ(v, ~0ULL);
  v = 77;
  for (const char* bad : {"", "0x", "x1", "-1", "+1", " 1", "1 ", "1f", "0xg", "32",
                          "18446744073709551616", "0x10000000000000000"})
    EXPECT_FALSE(parse_number(bad, 31, v)) << bad;
  EXPECT_EQ(v, 77U) << "a refused text leaves the output alone";
}

TEST(Ids, GuidNeedsItsPrefixUnlessWrittenInFull) {
  Guid g;
  EXPECT_TRUE(parse_guid("0x2c9", g));
  EXPECT_EQ(g, Guid{0x2c9});
  EXPECT_TRUE(parse_guid("0002C90300A1B2C3", g));
  EXPECT_EQ(g, Guid{0x0002c90300a1b2c3});
  for (const char* bad : {"", "17", "2c9", "0x", "0x12345678901234567", "0x00012345678901234",
                          "0002c903:00a1b2c", "0x-1"})
    EXPECT_FALSE(parse_guid(bad, g)) << bad;
}

TEST(Ids, LidIsUnicastOrMulticastButNeverZeroOrPermissive) {
  Lid lid;
  EXPECT_TRUE(parse_lid("0xc000", lid));
  EXPECT_TRUE(lid.is_multicast());
  EXPECT_TRUE(parse_lid("49151", lid));
  EXPECT_TRUE(lid.is_unicast());
  for (const char* bad : {"0", "65535", "65536", "0xffff", "lid", ""})
    EXPECT_FALSE(parse_lid(bad, lid)) << bad;
}

TEST(Ids, GidTextRoundTrips) {
  Gid gid;
  ASSERT_TRUE(parse_gid("ff12:401b:ffff::ffff:ffff", gid));
  EXPECT_TRUE(gid.is_multicast());
  EXPECT_EQ(to_string(gid), "ff12:401b:ffff::ffff:ffff");
  ASSERT_TRUE(parse_gid("fe80:0000:0000:0000:0002:c903:00a1:b2c3", gid));
  EXPECT_EQ(gid.prefix(), kDefaultSubnetPrefix);
  EXPECT_EQ(gid.guid(), Guid{0x0002c90300a1b2c3});
  for (const std::string& bad : {std::string("fe80::1::2"), std::string("fe80"), std::string(""),
                                 std::string(200, ':'), std::string("fe80::1\0x", 9)})
    EXPECT_FALSE(parse_gid(bad, gid)) << bad;
}

TEST(Ids, Hash) {
  const std::unordered_set<Guid> guids{Guid{1}, Guid{2}, Guid{1}};
  EXPECT_EQ(guids.size(), 2U);
  const std::unordered_set<Gid> gids{Gid::from(1, Guid{2}), Gid::from(1, Guid{3})};
  EXPECT_EQ(gids.size(), 2U);
}

}  // namespace
}  // namespace ib
