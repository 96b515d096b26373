// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/explain_verb.h"

#include "libdiag/cli/exit_status.h"
#include "sm/daemon/explain_view.h"

namespace sm::daemon {

PathRules path_rules_of(const DaemonOptions& options) {
  return {options.sa.server.policy,
          options.sa.server.qos,
          {options.core.plan.rates, options.rates_file},
          options.version.substr(options.version.find(' ') + 1)};
}

control::Answer explain_verb(const control::Request& request, const SnapshotPtr& snapshot,
                             const DeviceStatePtr& device_state, const PathRules& rules) {
  const auto asked = read_explain_request(request);
  if (!asked) return {2, asked.error().message + '\n'};
  if (snapshot == nullptr || snapshot->routing == nullptr)
    return {4, "there are no routes to explain: ibsm has not finished a sweep as master\n"};
  const ExplainView subnet(snapshot, held_vl_tables(snapshot, device_state), rules.policy,
                           rules.qos);
  const auto answer = explain_path(subnet, *asked, rules.rates, rules.version);
  if (answer) return *answer;
  return {ib::cli::status_of(answer.error()), answer.error().message + '\n'};
}

}  // namespace sm::daemon
