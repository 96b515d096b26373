// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The options of routing, which `ibsm` and `ibsm plan` share: letters and names as opensm has them.
#pragma once

#include "libdiag/cli/command_line.h"
#include "libdiag/route/choose.h"
#include "libdiag/route/files.h"

namespace sm::daemon {

/// What the command line says about routing; files are read once all of it is known.
struct RoutingWords {
  ib::route::ChoiceOptions choice;
  ib::route::OptionFiles files;
};

void add_routing_options(ib::cli::CommandLine& line, RoutingWords& words);

}  // namespace sm::daemon
