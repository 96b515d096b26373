// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/qos_options.h"

#include "sm/daemon/operator_file.h"
#include "sm/store/text_backup.h"

namespace sm::daemon {
namespace {
constexpr const char* kLastName = "/qos-policy.conf.last";
}  // namespace

ib::Result<QosRules> read_qos_rules(const std::string& file, const policy::Partitions& partitions) {
  QosRules out;
  if (file.empty()) return out;
  const auto text = read_operator_file(file);
  if (!text) return tl::unexpected<ib::Error>(text.error());
  const policy::QosFile read = policy::read_qos_file(*text, file);
  if (ib::has_errors(read.diagnostics))
    return refused("the QoS policy of " + file, *text, read.diagnostics);
  std::vector<ib::Diagnostic> diagnostics = read.diagnostics;
  out.rules = std::make_shared<const policy::QosPolicy>(read, file, partitions, diagnostics);
  for (const auto& diagnostic : diagnostics) out.warnings.push_back(to_string(diagnostic));
  out.text = *text;
  return out;
}

ib::Result<QosRules> read_last_qos_rules(const std::string& state_dir,
                                         const policy::Partitions& partitions) {
  return read_qos_rules(last_qos_file(state_dir), partitions);
}

std::string last_qos_file(const std::string& state_dir) { return state_dir + kLastName; }

ib::Result<void> keep_qos_rules(const std::string& text, const std::string& state_dir) {
  if (text.empty()) return {};
  return store::write_backup(last_qos_file(state_dir), text);
}

ib::Result<RateLimits> read_rate_limits(const std::string& file, const std::string& groups_file) {
  RateLimits out;
  if (file.empty() || file == "null") return out;
  const auto text = read_operator_file(file);
  if (!text) return tl::unexpected<ib::Error>(text.error());
  policy::RatePolicy policy;
  policy.file = policy::read_rate_file(*text, file);
  if (ib::has_errors(policy.file.diagnostics))
    return refused("the rate limits of " + file, *text, policy.file.diagnostics);
  if (!groups_file.empty()) {
    const auto groups = read_operator_file(groups_file);
    if (!groups) return tl::unexpected<ib::Error>(groups.error());
    auto read = policy::read_qos_file(*groups, groups_file);
    if (ib::has_errors(read.diagnostics))
      return refused("the port groups of " + groups_file, *groups, read.diagnostics);
    policy.groups = std::move(read.groups);
  }
  for (const auto& diagnostic : policy.file.diagnostics)
    out.warnings.push_back(to_string(diagnostic));
  for (std::string& line : policy.unknown_groups(file)) out.warnings.push_back(std::move(line));
  out.policy = std::make_shared<const policy::RatePolicy>(std::move(policy));
  return out;
}

}  // namespace sm::daemon
