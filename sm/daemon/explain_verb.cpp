// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/explain_verb.h"

#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/names.h"
#include "sm/daemon/explain_view.h"
#include "sm/daemon/unknown_node.h"

namespace sm::daemon {
namespace {

/// Whether `word` is to name a node, and names none.
bool is_unknown(const ib::fabric::Fabric& fabric, const std::string& word) {
  if (ib::fabric::read_lid_word(word)) return false;
  const auto found = ib::fabric::find_node_and_port(fabric, word);
  return !found && found.error().kind == ib::ErrorKind::NotFound;
}

}  // namespace

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
  const auto& fabric = snapshot->fabric();
  const bool is_source = is_unknown(fabric, asked->source);
  if (is_source || is_unknown(fabric, asked->destination))
    return misnamed(answer.error(), is_source ? asked->source : asked->destination);
  return {ib::cli::status_of(answer.error()), answer.error().message + '\n'};
}

}  // namespace sm::daemon
