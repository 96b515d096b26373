// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/check_command.h"

#include <algorithm>
#include <iterator>
#include <ostream>

#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/topology_text.h"
#include "sm/daemon/against.h"
#include "sm/daemon/offline_subnet.h"

namespace sm::daemon {

int run_check_command(const CheckCommand& command, std::ostream& complaints) {
  const DaemonOptions& options = command.options;
  std::vector<std::string> warnings = options.warnings;
  auto topology = ib::fabric::read_topology_file(command.topology, &warnings);
  if (!topology) {
    complaints << "ibsm: " << topology.error().message << '\n';
    return ib::cli::kExitUsage;
  }
  if (options.core.node_names) options.core.node_names->name_all(*topology);
  std::ranges::move(unknown_names(*topology, options), std::back_inserter(warnings));
  if (options.core.plan.qos) {
    const auto planned = plan_offline(*topology, options);
    if (!planned)
      warnings.push_back(command.topology +
                         ": levels of service are not held against it: " + planned.error().message);
    else
      std::ranges::copy(planned->desired->qos_alarms, std::back_inserter(warnings));
  }
  for (const std::string& line : warnings) complaints << line << '\n';
  return warnings.empty() && !command.warned ? ib::cli::kExitGood : ib::cli::kExitFound;
}

}  // namespace sm::daemon
