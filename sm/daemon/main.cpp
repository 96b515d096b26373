// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <filesystem>
#include <iostream>

#include "libdiag/cli/exit_status.h"
#include "sm/daemon/check_command.h"
#include "sm/daemon/daemon.h"
#include "sm/daemon/dry_run.h"
#include "sm/daemon/explain_command.h"
#include "sm/daemon/plan_verb.h"
#include "sm/daemon/system_log.h"

namespace {

using namespace sm::daemon;

constexpr const char* kProgram = "ibsm";

/// What earlier runs wrote; not a device or a pipe.
void erase_log(const std::string& path) {
  std::error_code error;
  const std::string file = path.empty() ? kDefaultLogFile : path;
  if (std::filesystem::is_regular_file(file, error)) std::filesystem::remove(file, error);
}

int serve(const DaemonOptions& options) {
  const auto cannot = [](const ib::Error& e) {
    return ib::cli::complain(
        kProgram, e.message,
        e.kind == ib::ErrorKind::Usage ? ib::cli::kExitUsage : ib::cli::kExitCannotRun);
  };
  Background background;
  if (options.background) {
    auto entered = Background::enter();
    if (!entered) return cannot(entered.error());
    background = *std::move(entered);
  }
  if (options.erase_log) erase_log(options.log_file);
  auto log = LogFile::open(options.log_file, options.log_flags, options.flush_log,
                           ib::monotonic_now, {options.log_max_size, options.log_prefix});
  if (!log) return cannot(log.error());
  log->tell_major(system_log());
  for (const std::string& note : options.notes) log->write({ib::LogLevel::Info, "config", note});
  for (const std::string& line : options.warnings)
    log->write({ib::LogLevel::Warning, "config", line});
  return run_daemon(options, *log, background);
}

int run(int argc, char** argv) {
  const Command command = read_command_line(argc, argv, IBKIT_VERSION);
  if (const int* status = std::get_if<int>(&command)) return *status;
  if (const auto* verb = std::get_if<PlanVerb>(&command))
    return run_plan_verb(*verb, IBKIT_VERSION, std::cout, std::cerr);
  if (const auto* asked = std::get_if<ExplainCommand>(&command))
    return run_explain_command(*asked, std::cout, std::cerr);
  if (const auto* asked = std::get_if<CheckCommand>(&command))
    return run_check_command(*asked, std::cerr);
  const auto& options = std::get<DaemonOptions>(command);
  if (options.dry_run) return run_dry(options, IBKIT_VERSION, std::cout, std::cerr);
  return options.list_ports ? with_chosen_port(options, serve) : serve(options);
}

}  // namespace

int main(int argc, char** argv) {
  return ib::cli::run_main(kProgram, [&] { return run(argc, argv); });
}
