// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/wire/rates.h"

#include <gtest/gtest.h>

namespace ib::wire {
namespace {

constexpr LinkWidth kAllWidths[] = {LinkWidth::W1x, LinkWidth::W2x, LinkWidth::W4x, LinkWidth::W8x,
                                    LinkWidth::W12x};
constexpr LinkSpeed kAllSpeeds[] = {LinkSpeed::Sdr,   LinkSpeed::Ddr, LinkSpeed::Qdr,
                                    LinkSpeed::Fdr10, LinkSpeed::Fdr, LinkSpeed::Edr,
                                    LinkSpeed::Hdr,   LinkSpeed::Ndr, LinkSpeed::Xdr};

TEST(Rates, EverySpeedSurvivesPortInfo) {
  for (const LinkSpeed s : kAllSpeeds) {
    PortInfo p;
    set_active_speed(p, s);
    EXPECT_EQ(active_speed(p, s == LinkSpeed::Fdr10), s) << speed_name(s);
    EXPECT_EQ(parse_speed(speed_name(s)), s);
  }
  for (const LinkWidth w : kAllWidths) {
    PortInfo p;
    set_active_width(p, w);
    EXPECT_EQ(active_width(p), w) << width_name(w);
    EXPECT_EQ(parse_width(width_name(w)), w);
  }
}

TEST(Rates, AnUnknownCodeIsUnknownNeverSdr) {
  PortInfo p;
  EXPECT_EQ(active_speed(p), LinkSpeed::Unknown) << "nothing active";
  EXPECT_EQ(active_width(p), LinkWidth::Unknown);
  p.link_speed_active = 1;
  p.link_speed_ext_active = 3;
  EXPECT_EQ(active_speed(p), LinkSpeed::Unknown) << "two bits of an active speed";
  p.link_speed_ext_active = 0;
  p.link_speed_ext_active2 = 2;
  EXPECT_EQ(active_speed(p), LinkSpeed::Unknown) << "the speed after XDR";
  p.link_speed_ext_active2 = 0;
  p.link_speed_active = 7;
  EXPECT_EQ(active_speed(p), LinkSpeed::Unknown);
  p.link_width_active = 3;
  EXPECT_EQ(active_width(p), LinkWidth::Unknown);
  EXPECT_EQ(speed_name(LinkSpeed::Unknown), "???");
  EXPECT_EQ(width_name(LinkWidth::Unknown), "??");
  EXPECT_FALSE(rate_code(LinkWidth::W4x, LinkSpeed::Unknown));
  EXPECT_FALSE(rate_code(LinkWidth::Unknown, LinkSpeed::Edr));
  EXPECT_EQ(rate_gbps(1), 0);
}

TEST(Rates, LaneRateTimesLanesIsTheRate) {
  for (const LinkSpeed s : kAllSpeeds) {
    for (const LinkWidth w : kAllWidths) {
      const auto code = rate_code(w, s);
      if (w == LinkWidth::W12x && s == LinkSpeed::Xdr) {
        EXPECT_FALSE(code) << "no public code for 2400 Gb/s";
        continue;
      }
      ASSERT_TRUE(code) << width_name(w) << speed_name(s);
      // Names round the signalling rate down to what marketing remembers: 53.125 -> 50.
      EXPECT_NEAR(gbps_per_lane(s) * lanes(w), rate_gbps(*code), rate_gbps(*code) * 0.07)
          << width_name(w) << speed_name(s);
    }
  }
}

TEST(Rates, OrderIsThatOfDataRatesNotOfCodes) {
  const std::uint8_t order[] = {2, 5,  3,  11, 6,  4,  15, 19, 7,  8,  20, 12,
                                9, 10, 16, 13, 14, 17, 18, 21, 22, 23, 24, 25};
  for (std::size_t i = 0; i < std::size(order); ++i) {
    for (std::size_t j = 0; j < std::size(order); ++j)
      EXPECT_EQ(compare_rates(order[i], order[j]), i < j ? -1 : i > j ? 1 : 0);
    if (i > 0) {
      EXPECT_EQ(next_slower_rate(order[i]), order[i - 1]);
    }
  }
  EXPECT_FALSE(next_slower_rate(2));
  EXPECT_FALSE(next_slower_rate(1)) << "an unknown code has no neighbours";
}

TEST(Rates, MtuAndVlCodes) {
  EXPECT_EQ(mtu_bytes(0), 0U);
  EXPECT_EQ(mtu_bytes(1), 256U);
  EXPECT_EQ(mtu_bytes(5), 4096U);
  EXPECT_EQ(mtu_bytes(6), 0U);
  EXPECT_EQ(data_vls(0), 0U);
  EXPECT_EQ(data_vls(1), 1U);
  EXPECT_EQ(data_vls(4), 8U);
  EXPECT_EQ(data_vls(5), 15U);
  EXPECT_EQ(data_vls(6), 0U);
}

}  // namespace
}  // namespace ib::wire
