// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibsm-plan: what `ibsm plan` becomes. Same words, a program of its own, so that the daemon does
// not carry Graphviz about.
#include <iostream>

#include "libdiag/cli/exit_status.h"
#include "sm/daemon/options.h"
#include "sm/daemon/plan_command.h"
#include "sm/daemon/plan_failure.h"

namespace {

using namespace sm::daemon;

int plan(int argc, char** argv) {
  const Command words = read_command_line(argc, argv, IBKIT_VERSION);
  if (const int* status = std::get_if<int>(&words)) return *status;
  if (std::holds_alternative<DaemonOptions>(words))
    return ib::cli::complain("ibsm-plan",
                             "expected `plan TOPOLOGY`; it is meant to be started by `ibsm plan`",
                             ib::cli::kExitUsage);
  auto plan = std::get<PlanWords>(words);
  const auto command = plan.command(IBKIT_VERSION);
  if (!command) {
    ib::cli::complain("ibsm", command.error());
    if (plan.json()) std::cout << plan_failure(IBKIT_VERSION, command.error());
    return ib::cli::kExitUsage;
  }
  return run_plan_command(*command, std::cout, std::cerr);
}

}  // namespace

int main(int argc, char** argv) {
  return ib::cli::run_main("ibsm", [&] { return plan(argc, argv); });
}
