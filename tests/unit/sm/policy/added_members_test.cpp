// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/added_members.h"

#include <gtest/gtest.h>

#include "tests/unit/sm/policy/policy_of.h"

namespace sm::policy {
namespace {

constexpr ib::Guid kOne{0x11}, kTwo{0x12}, kSm{0x13};

/// Keys of a CA port, full membership in the upper bit.
std::vector<std::uint16_t> keys_of(const PartitionPolicy& policy, ib::Guid guid) {
  EndPortFacts port;
  port.guid = guid;
  port.is_sm = guid == kSm;
  std::vector<std::uint16_t> out;
  const auto keys = policy.keys_of({&port, 1});
  for (const PortPartition& p : keys.front()) out.push_back(p.p_key.value);
  return out;
}
using Keys = std::vector<std::uint16_t>;

TEST(AddedMembers, WithoutAnyTheFileIsInForceAsItIs) {
  const auto file = test::policy_of("red=0x1 : 0x11=full ;\n");
  EXPECT_EQ(with_members(file, {}), file);
}

TEST(AddedMembers, JoinPartitionsOfTheFileAndNewOnes) {
  const auto file = test::policy_of("red=0x1 : 0x11=limited ;\n");
  const std::vector<AddedMember> members{{1, kTwo, Membership::Full, ""},
                                         {7, kTwo, Membership::Limited, "x"},
                                         {1, kOne, Membership::Full, ""}};
  const auto policy = with_members(file, members);
  EXPECT_EQ(keys_of(*policy, kOne), (Keys{0x7FFF, 0x8001})) << "above what the file says";
  EXPECT_EQ(keys_of(*policy, kTwo), (Keys{0x7FFF, 0x8001, 0x0007}));
  EXPECT_EQ(policy->partitions.all.back().p_key, 7);
  EXPECT_TRUE(policy->partitions.all.back().groups.empty());
  EXPECT_EQ(keys_of(*file, kTwo), (Keys{0x7FFF})) << "the file's own is as it was";
}

TEST(AddedMembers, WithoutAFileEverybodyElseStaysAFullMemberOfTheDefaultPartition) {
  const auto policy = with_members(std::make_shared<const PartitionPolicy>(),
                                   std::vector<AddedMember>{{1, kOne, Membership::Full, ""}});
  EXPECT_TRUE(policy->from_file);
  EXPECT_EQ(keys_of(*policy, kOne), (Keys{0xFFFF, 0x8001}));
  EXPECT_EQ(keys_of(*policy, kTwo), (Keys{0xFFFF}));
}

TEST(AddedMembers, NoWordDemotesTheSubnetManager) {
  const auto policy =
      with_members(test::policy_of("# nothing\n"),
                   std::vector<AddedMember>{{0x7FFF, kSm, Membership::Limited, ""}});
  EXPECT_EQ(keys_of(*policy, kSm), (Keys{0xFFFF}));
}

TEST(AddedMembers, PKeysAreReadWithAndWithoutTheMembershipBit) {
  EXPECT_EQ(read_p_key("0x8001").value(), 1);
  EXPECT_EQ(read_p_key("1").value(), 1);
  EXPECT_EQ(read_p_key("0x7fff").value(), 0x7FFF);
  for (const char* wrong : {"0", "0x8000", "0x10000", "red", "", "-1"}) {
    const auto key = read_p_key(wrong);
    ASSERT_FALSE(key) << wrong;
    EXPECT_EQ(key.error().message,
              std::string("expected a P_Key from 0x1 to 0x7fff, with or without "
                          "the membership bit 0x8000, got '") +
                  wrong + "'");
  }
}

}  // namespace
}  // namespace sm::policy
