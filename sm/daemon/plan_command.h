// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm plan TOPOLOGY`: the routes of a saved topology, whole or with parts missing, by one engine
// or by several side by side, and what they are worth. No fabric is attached.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/route/files.h"
#include "libdiag/route/plan.h"

namespace sm::daemon {

struct PlanCommand {
  std::string topology;                       // file of ibnetdiscover's text
  ib::route::PlanOptions plan;                // with choice.compare: a row for each engine
  std::vector<ib::route::Mentions> mentions;  // of the option files
  bool figures{false};                        // load against its floor, lengths, contention
  ib::tables::FiguresOptions figures_options;
  bool json{false};
  std::string dump_dir;  // tables and lanes are written there; empty: nowhere
  std::string svg_file;  // a picture of the loads; empty: none
  std::string version;
};

/// Returns the exit status: 0 an engine's routes are verified, 1 those of none are, 2 a bad file or
/// name, 4 something could not be written.
int run_plan_command(const PlanCommand& command, std::ostream& out, std::ostream& complaints);

}  // namespace sm::daemon
