// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// RatePolicy: an enhanced QoS policy file in force: which port may send how much on which SL.
#pragma once

#include <string>
#include <vector>

#include "sm/policy/partition_policy.h"
#include "sm/policy/rate_file.h"

namespace sm::policy {

struct RatePolicy {
  RateFile file;
  std::vector<PortGroup> groups;  // that rules may name

  /// The rule of the port's GUID, else the first rule of a group that names it, else `default`.
  const SlRates& rates_of(const EndPortFacts& port) const;
  /// Groups that rules name and that are not there, a line each.
  std::vector<std::string> unknown_groups(const std::string& file_name) const;
};

}  // namespace sm::policy
