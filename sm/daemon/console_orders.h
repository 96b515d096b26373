// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ConsoleOrders: a command of the console from its words to what is printed: its view is taken from
// the parts of the daemon, and its order is carried out by them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sm/config/configuration.h"
#include "sm/console/command.h"
#include "sm/daemon/log_file.h"

namespace sm::daemon {

/// The parts of the daemon that commands look at and change.
struct ConsoleWorld {
  core::SubnetManager& manager;
  managers::performance::PerformanceManager* performance{nullptr};  // null: there is none
  LogFile& log;
  const config::Configuration& configuration;  // as it was read last
  std::string version;
  std::string state_dir, dump_folder;
  std::function<std::optional<sa::Counters>()> sa_counters;
  /// A verb of the control socket.
  std::function<control::Answer(const control::Request&)> ask;
};

/// Who is not trusted writes files in the console's folder alone (console_files.h).
console::Outcome run_console(const ConsoleWorld& world, console::Words words, bool is_trusted);

/// `ibsm ctl console WORDS`.
control::Answer console_verb(const ConsoleWorld& world, const control::Request& request);

}  // namespace sm::daemon
