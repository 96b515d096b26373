// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/explain_command.h"

#include <algorithm>
#include <iterator>
#include <ostream>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/topology_text.h"
#include "sm/daemon/against.h"
#include "sm/daemon/explain_view.h"
#include "sm/daemon/failure_documents.h"
#include "sm/daemon/offline_subnet.h"

namespace sm::daemon {

int run_explain_command(const ExplainCommand& command, std::ostream& out,
                        std::ostream& complaints) {
  const DaemonOptions& options = command.options;
  const auto complain = [&](const ib::Error& error) {
    complaints << "ibsm: " << ib::printable(error.message) << '\n';
    if (command.request.json) out << explain_failure(command.version, error) << std::flush;
    return ib::cli::status_of(error);
  };
  std::vector<std::string> warnings = options.warnings;
  auto topology = ib::fabric::read_topology_file(command.topology, &warnings);
  if (!topology) return complain(topology.error());
  if (options.core.node_names) options.core.node_names->name_all(*topology);
  std::ranges::move(unknown_names(*topology, options), std::back_inserter(warnings));
  const auto planned = plan_offline(*topology, options);
  if (!planned) return complain(planned.error());
  std::ranges::copy(planned->desired->alarms, std::back_inserter(warnings));
  for (const std::string& line : warnings)
    complaints << "ibsm: warning: " << ib::printable(line.substr(0, line.find('\n'))) << '\n';

  const ExplainView subnet(planned->snapshot,
                           planned_vl_tables(planned->desired, planned->snapshot),
                           options.sa.server.policy, options.sa.server.qos);
  const auto answer = explain_path(subnet, command.request,
                                   {options.core.plan.rates, options.rates_file}, command.version);
  if (!answer) return complain(answer.error());
  out << answer->text;
  if (!out.flush()) return complain({ib::ErrorKind::Io, "cannot write to stdout", 0});
  return answer->status;
}

}  // namespace sm::daemon
