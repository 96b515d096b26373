// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The options of what clients register and how it is kept: groups, the store, the SA dump. Names
// as opensm has them where it has them.
#pragma once

#include <string>

#include "libdiag/base/instant.h"
#include "libdiag/cli/command_line.h"
#include "sm/sa/server.h"

namespace sm::daemon {

struct RegistryOptions {
  store::Sync sync{store::Sync::Normal};
  std::string sa_db_file;  // read at the start; empty: none
  /// Between two dumps to STATE_DIR/opensm-sa.dump; 0: none.
  ib::Duration dump_every{std::chrono::seconds(30)};
};

/// Rules of groups and their quota go to `server`.
void add_registry_options(ib::cli::CommandLine& line, RegistryOptions& options,
                          sa::Options& server);

}  // namespace sm::daemon
