// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/rate_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sm::policy {
namespace {

RatePolicy policy_of(std::string_view rates, std::string_view groups = {}) {
  RatePolicy policy;
  policy.file = read_rate_file(rates, "r");
  EXPECT_FALSE(ib::has_errors(policy.file.diagnostics));
  policy.groups = read_qos_file(groups, "g").groups;
  return policy;
}
EndPortFacts described_port(std::uint64_t guid, std::string_view description = {},
                            std::uint8_t number = 1) {
  EndPortFacts facts;
  facts.guid = ib::Guid{guid};
  facts.node_description = description;
  facts.port = number;
  return facts;
}

TEST(RatePolicy, AGuidStandsAboveItsGroupsAndTheseAboveTheDefault) {
  const auto policy = policy_of(
      "BW_NAMES a = 10 b = 20 c = 30 d = 40\n"
      "BW_RULES\ndefault = 1:a\nstorage = 1:b\nfast = 1:c\n0x12 = 2:d\n",
      "port-groups\n port-group\n  name: storage\n  port-guid: 0x11-0x13\n end-port-group\n"
      " port-group\n  name: fast\n  port-guid: 0x13, 0x14\n end-port-group\nend-port-groups\n");
  EXPECT_EQ(policy.rates_of(described_port(0x10))[1], 10U);
  EXPECT_EQ(policy.rates_of(described_port(0x11))[1], 20U);
  EXPECT_EQ(policy.rates_of(described_port(0x12))[1], 0U)
      << "what a rule does not name is unlimited";
  EXPECT_EQ(policy.rates_of(described_port(0x12))[2], 40U);
  EXPECT_EQ(policy.rates_of(described_port(0x13))[1], 20U) << "the first group that names it";
  EXPECT_EQ(policy.rates_of(described_port(0x14))[1], 30U);
  EXPECT_TRUE(policy.unknown_groups("r").empty());
}

TEST(RatePolicy, WithoutADefaultOthersAreUnlimited) {
  const auto policy = policy_of("BW_NAMES a = 10\nBW_RULES\n0x12 = 1:a\n");
  EXPECT_EQ(policy.rates_of(described_port(0x11)), SlRates{});
}

TEST(RatePolicy, GroupsThatAreNotThereAreNamedWithTheirPlace) {
  const auto policy = policy_of("BW_NAMES a = 10\nBW_RULES\nstorag = 1:a\n");
  EXPECT_THAT(policy.unknown_groups("r"),
              testing::ElementsAre(
                  "r:3:1: warning: there is no port group 'storag': the rule has no effect"));
}

}  // namespace
}  // namespace sm::policy
