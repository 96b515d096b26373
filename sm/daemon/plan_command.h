// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm plan TOPOLOGY -R ENGINE [--json] [--lfts FILE]`: the routes of a saved topology and what
// they are worth, with no fabric attached.
#pragma once

#include <iosfwd>
#include <string>

#include "libdiag/base/result.h"
#include "libdiag/route/choose.h"
#include "libdiag/route/files.h"

namespace sm::daemon {

struct PlanCommand {
  std::string topology;  // file of ibnetdiscover's text
  ib::route::ChoiceOptions choice;
  std::vector<ib::route::Mentions> mentions;  // of the files in `choice`
  bool json{false};
  std::string lfts_file;  // the tables in dump_fts's text; empty: not written
  std::string version;
};

/// The document of --json when there is no plan.
std::string plan_failure(const std::string& version, const ib::Error& error);

/// Returns the exit status: 0 every must holds, 1 some does not or no engine fits, 2 a bad file or
/// name, 4 the tables could not be written.
int run_plan_command(const PlanCommand& command, std::ostream& out, std::ostream& complaints);

}  // namespace sm::daemon
