// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The options of `ibsm plan`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libdiag/cli/command_line.h"
#include "sm/config/command_words.h"
#include "sm/daemon/plan_command.h"

namespace sm::daemon {

class PlanWords {
 public:
  void add_to(ib::cli::CommandLine& line);
  /// What was asked for, once the words are read; option files are read here.
  ib::Result<PlanCommand> command(const std::string& version);
  bool json() const { return command_.json; }

 private:
  PlanCommand command_;
  config::CommandWords words_;
  std::optional<unsigned> vls_max_;
  std::string compared_;  // a list, or kAll
  std::vector<std::string> compared_engines_;
};

}  // namespace sm::daemon
