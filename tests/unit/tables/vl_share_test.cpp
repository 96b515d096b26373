// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What arbitration gives a VL, summed over entries and blocks.
#include "libdiag/tables/vl_share.h"

#include <gtest/gtest.h>

namespace ib::tables {
namespace {

TEST(VlShare, EntriesOfAVlAddUpOverBothBlocks) {
  std::array<wire::VlArbitrationTable, 2> low;
  low[0].vl[0] = 1, low[0].weight[0] = 10;
  low[0].vl[1] = 2, low[0].weight[1] = 30;
  low[1].vl[0] = 1, low[1].weight[0] = 20;
  wire::VlArbitrationTable high;
  high.weight[0] = 4;  // VL 0
  EXPECT_EQ(vl_share(1, low, {&high, 1}), (VlShare{30, 60, 0, 4}));
  EXPECT_EQ(to_string(vl_share(1, low, {&high, 1})), "weight 30 of 60 low");
  EXPECT_EQ(to_string(vl_share(0, low, {&high, 1})), "weight 4 of 4 high");
  EXPECT_EQ(to_string(vl_share(7, low, {})), "no weight");
  EXPECT_EQ(to_string({1, 2, 3, 4}), "weight 1 of 2 low, 3 of 4 high");
}

}  // namespace
}  // namespace ib::tables
