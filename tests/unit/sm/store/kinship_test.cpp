// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/kinship.h"

#include <gtest/gtest.h>

namespace sm::store {
namespace {

/// Ports `from`, `from` + 1, ...
std::vector<ib::Guid> ports(std::uint64_t from, std::size_t count) {
  std::vector<ib::Guid> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(ib::Guid{from + i});
  return all;
}

bool is_foreign(std::size_t stored, std::uint64_t from, std::size_t here) {
  std::vector<LidClaim> lids;
  for (const ib::Guid guid : ports(1, stored)) lids.push_back({guid, ib::Lid{1}, 0});
  return kinship(lids, ports(from, here)).is_foreign();
}

TEST(Kinship, AnotherFabricHasNoneOfThePortsOrHardlyAny) {
  EXPECT_TRUE(is_foreign(648, 1000, 432));
  EXPECT_TRUE(is_foreign(4, 1000, 4));
  EXPECT_TRUE(is_foreign(648, 648 - 20, 432)) << "a few hosts came with the head node";
  EXPECT_FALSE(is_foreign(648, 648 - 21, 432));
}

TEST(Kinship, AFabricStaysTheSameThatGrewOrIsMostlyWithoutPower) {
  EXPECT_FALSE(is_foreign(20, 1, 11664));
  EXPECT_FALSE(is_foreign(11664, 100, 40));
  EXPECT_FALSE(is_foreign(648, 600, 648)) << "most was replaced";
}

TEST(Kinship, OfFewPortsNothingIsConcluded) {
  EXPECT_FALSE(is_foreign(3, 1000, 648));
  EXPECT_FALSE(is_foreign(648, 1000, 3));
  EXPECT_FALSE(is_foreign(0, 1000, 648));
}

TEST(Kinship, SaysWhatWasCompared) {
  EXPECT_EQ(kinship({{ib::Guid{1}, ib::Lid{1}, 0}}, ports(1, 3)).words(),
            "LIDs of 1 ports are stored, and 1 of them is among the 3 others on this fabric");
}

}  // namespace
}  // namespace sm::store
