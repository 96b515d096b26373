// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <iostream>

#include "libdiag/base/output.h"
#include "sm/daemon/daemon.h"
#include "sm/daemon/hand_over.h"

namespace {

using namespace sm::daemon;

int serve(const DaemonOptions& options) {
  if (options.list_ports) return print_ports();
  const auto cannot = [](const ib::Error& e) {
    std::cerr << "ibsm: " << e.message << std::endl;
    return e.kind == ib::ErrorKind::Usage ? 2 : 4;
  };
  Background background;
  if (options.background) {
    auto entered = Background::enter();
    if (!entered) return cannot(entered.error());
    background = *std::move(entered);
  }
  auto log = LogFile::open(options.log_file, options.log_flags, options.flush_log);
  if (!log) return cannot(log.error());
  return run_daemon(options, *log, background);
}

}  // namespace

int main(int argc, char** argv) {
  ib::hold_standard_files();
  const Command command = read_command_line(argc, argv, IBKIT_VERSION);
  if (const int* status = std::get_if<int>(&command)) return *status;
  if (std::holds_alternative<PlanWords>(command)) {
    const ib::Error error = become_planner(argv);  // returns only with one
    std::cerr << "ibsm: " << error.message << std::endl;
    return 4;
  }
  return serve(std::get<DaemonOptions>(command));
}
