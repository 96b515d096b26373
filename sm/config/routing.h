// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Settings of routing as libdiag/route and sm/plan take them.
#pragma once

#include "libdiag/route/choose/choose.h"
#include "libdiag/route/files.h"
#include "sm/config/settings.h"
#include "sm/plan/plan.h"

namespace sm::config {

/// Files are named here, and read by the caller.
struct Routing {
  ib::route::ChoiceOptions choice;
  ib::route::OptionFiles files;
};
Routing routing(const Settings& settings);

/// All but routing.
plan::PlanOptions plan_options(const Settings& settings);

}  // namespace sm::config
