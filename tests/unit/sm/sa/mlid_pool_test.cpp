// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/mlid_pool.h"

#include <gtest/gtest.h>

namespace {

using ib::Lid;
using sm::sa::MlidPool;

TEST(MlidPool, GivesTheLowestThatNobodyUses) {
  MlidPool pool;
  constexpr Lid kMost{0xFFFE};
  EXPECT_EQ(pool.lowest_free(kMost), Lid{0xC000});
  EXPECT_EQ(pool.lowest_free(Lid{0xBFFF}), ib::kNoLid);
  pool.take(Lid{0xC000});
  pool.take(Lid{0xC000});  // two groups on one
  pool.take(Lid{0xC002});
  EXPECT_EQ(pool.lowest_free(kMost), Lid{0xC001});
  pool.release(Lid{0xC000});
  EXPECT_FALSE(pool.is_free(Lid{0xC000}));
  pool.release(Lid{0xC000});
  EXPECT_EQ(pool.lowest_free(kMost), Lid{0xC000});
}

TEST(MlidPool, EndsWhereMulticastLidsEnd) {
  MlidPool pool;
  for (unsigned lid = 0xC000; lid < 0xFFFE; ++lid) pool.take(Lid{static_cast<std::uint16_t>(lid)});
  EXPECT_EQ(pool.lowest_free(Lid{0xFFFE}), Lid{0xFFFE});
  EXPECT_EQ(pool.lowest_free(Lid{0xFFFD}), ib::kNoLid);
  EXPECT_TRUE(pool.is_free(Lid{0xFFFE}));
  pool.take(Lid{0xFFFE});
  EXPECT_EQ(pool.lowest_free(Lid{0xFFFE}), ib::kNoLid);
}

TEST(MlidPool, PassesOverWhatWasNeverTakenOrIsNoMulticastLid) {
  MlidPool pool;
  for (const unsigned lid : {0x0000U, 0x0001U, 0xBFFFU, 0xFFFFU}) {
    pool.take(Lid{static_cast<std::uint16_t>(lid)});
    EXPECT_FALSE(pool.is_free(Lid{static_cast<std::uint16_t>(lid)}));
    pool.release(Lid{static_cast<std::uint16_t>(lid)});
  }
  pool.release(Lid{0xF000});
  EXPECT_TRUE(pool.is_free(Lid{0xF000}));
  EXPECT_EQ(pool.lowest_free(Lid{0xFFFE}), Lid{0xC000});
}

}  // namespace
