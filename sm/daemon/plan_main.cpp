// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibsm-plan: what `ibsm plan` becomes. Same words, a program of its own, so that the daemon does
// not carry Graphviz about.
#include <iostream>

#include "libdiag/base/output.h"
#include "libdiag/base/text.h"
#include "sm/daemon/options.h"
#include "sm/daemon/plan_command.h"
#include "sm/daemon/plan_failure.h"

int main(int argc, char** argv) {
  ib::hold_standard_files();
  using namespace sm::daemon;
  const Command words = read_command_line(argc, argv, IBKIT_VERSION);
  if (const int* status = std::get_if<int>(&words)) return *status;
  if (std::holds_alternative<DaemonOptions>(words)) {
    std::cerr << "ibsm-plan: expected `plan TOPOLOGY`; it is meant to be started by `ibsm plan`\n";
    return 2;
  }
  auto plan = std::get<PlanWords>(words);
  const auto command = plan.command(IBKIT_VERSION);
  if (!command) {
    std::cerr << "ibsm: " << ib::printable(command.error().message) << '\n';
    if (plan.json()) std::cout << plan_failure(IBKIT_VERSION, command.error());
    return 2;
  }
  return run_plan_command(*command, std::cout, std::cerr);
}
