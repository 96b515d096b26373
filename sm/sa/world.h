// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What queries and writes are judged by: one snapshot of the subnet, what clients have registered,
// and the operator's policy.
#pragma once

#include <memory>

#include "sm/core/holdings.h"
#include "sm/sa/policy.h"
#include "sm/sa/quotas.h"
#include "sm/sa/state.h"

namespace sm::sa {

struct World {
  std::shared_ptr<const Paths> paths;  // kept by queries that outlive the call
  const State& state;                  // both live as long as any query
  const Policy& policy;
  Quotas quotas{};
  HoldingsPtr holdings{std::make_shared<const Holdings>()};  // never null
  std::uint8_t sm_assigned_guid{};                           // of alias GUIDs that are made here

  const Snapshot& snapshot() const { return paths->snapshot(); }
};

}  // namespace sm::sa
