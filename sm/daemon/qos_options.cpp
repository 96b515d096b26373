// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/qos_options.h"

#include "sm/policy/port_group_file.h"

namespace sm::daemon {

ib::Result<QosRules> read_qos_rules(const std::string& file, const policy::Partitions& partitions,
                                    PolicyFiles& files) {
  if (file.empty()) return QosRules{};
  const auto use = [&](const std::string& text, const std::string& name) -> ib::Result<QosRules> {
    const policy::QosFile read = policy::read_qos_file(text, name);
    if (ib::has_errors(read.diagnostics))
      return refused("the QoS policy of " + name, text, read.diagnostics);
    QosRules out;
    std::vector<ib::Diagnostic> diagnostics = read.diagnostics;
    out.rules = std::make_shared<const policy::QosPolicy>(read, name, partitions, diagnostics);
    out.warnings = shown(diagnostics, text);
    return out;
  };
  return files.read(kQosPolicyFile, file, use);
}

ib::Result<std::vector<policy::PortGroup>> read_port_groups(const PolicyFile& kind,
                                                            const std::string& file,
                                                            PolicyFiles& files) {
  using Groups = ib::Result<std::vector<policy::PortGroup>>;
  if (file.empty()) return {};
  return files.read(kind, file, [](const std::string& text, const std::string& name) -> Groups {
    std::vector<ib::Diagnostic> diagnostics;
    auto read = policy::read_any_port_groups(text, name, diagnostics);
    if (ib::has_errors(diagnostics))
      return refused("the port groups of " + name, text, diagnostics);
    return read;
  });
}

ib::Result<RateLimits> read_rate_limits(const std::string& file,
                                        const std::vector<policy::PortGroup>& groups,
                                        PolicyFiles& files) {
  if (file.empty()) return RateLimits{};
  const auto use = [&](const std::string& text, const std::string& name) -> ib::Result<RateLimits> {
    policy::RatePolicy policy;
    policy.file = policy::read_rate_file(text, name);
    if (ib::has_errors(policy.file.diagnostics))
      return refused("the rate limits of " + name, text, policy.file.diagnostics);
    policy.groups = groups;
    RateLimits out;
    out.warnings = shown(policy.file.diagnostics, text);
    for (std::string& line : policy.unknown_groups(name)) out.warnings.push_back(std::move(line));
    out.policy = std::make_shared<const policy::RatePolicy>(std::move(policy));
    return out;
  };
  return files.read(kRatesFile, file, use);
}

}  // namespace sm::daemon
