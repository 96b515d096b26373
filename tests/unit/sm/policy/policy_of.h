// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A partition policy from the text of a partition file, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sm/policy/partition_policy.h"

namespace sm::policy::test {

inline std::shared_ptr<const PartitionPolicy> policy_of(const std::string& text) {
  auto file = read_partition_file(text, "p");
  GeneratedKeys keys;
  PartitionPolicy policy;
  policy.from_file = true;
  policy.partitions = merge_definitions(file, "p", keys, file.diagnostics);
  EXPECT_FALSE(ib::has_errors(file.diagnostics)) << to_string(file.diagnostics.front());
  return std::make_shared<const PartitionPolicy>(std::move(policy));
}

}  // namespace sm::policy::test
