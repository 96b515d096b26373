// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A plan as a piece of work: the subnet manager hands it out, it is done on any thread, and what
// came of it is handed back (SubnetManager::on_planned()). Meanwhile the subnet manager answers.
#pragma once

#include <cstdint>

#include "sm/plan/plan.h"

namespace sm::core {

struct PlanResult {
  std::uint64_t generation{0};  // of the job
  plan::Planned planned;
};

struct PlanJob {
  std::uint64_t generation{0};
  plan::PlanRequest request;

  /// What is thrown becomes an error of the plan.
  PlanResult run() &&;
};

}  // namespace sm::core
