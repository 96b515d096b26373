// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm plan`: what ibsm would program into the devices of a saved topology, by its own planner and
// the operator's options, and what the routes are worth. No fabric is attached.
#pragma once

#include <iosfwd>
#include <string>

#include "libdiag/plan/plan_command.h"
#include "sm/daemon/options.h"

namespace sm::daemon {

/// Makes plans as ibsm with these options does; engines, LMC and what is left out are those that it
/// is asked for. What is left out keeps its LIDs, which are given before.
ib::plan::Planner planner(DaemonOptions options);

/// The exit status: that of ib::plan::run_plan.
int run_plan_verb(const PlanVerb& verb, const std::string& version, std::ostream& out,
                  std::ostream& complaints);

}  // namespace sm::daemon
