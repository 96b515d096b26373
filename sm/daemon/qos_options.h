// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The QoS policy file and the enhanced one: read with the options, and again on SIGHUP, whole or
// not at all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libdiag/base/result.h"
#include "sm/daemon/last_good.h"
#include "sm/policy/qos_policy.h"
#include "sm/policy/rate_policy.h"

namespace sm::daemon {

struct QosRules {
  std::shared_ptr<const policy::QosPolicy> rules;  // nullptr: no file
  std::vector<std::string> warnings;               // as shown() gives them
};

/// `file` may be empty: no policy. An error has every mistake of the file, each with its line and a
/// caret under the place.
ib::Result<QosRules> read_qos_rules(const std::string& file, const policy::Partitions& partitions,
                                    PolicyFiles& files);

/// Of a QoS policy file its port groups, for others to name; `file` may be empty.
ib::Result<std::vector<policy::PortGroup>> read_port_groups(const PolicyFile& kind,
                                                            const std::string& file,
                                                            PolicyFiles& files);

struct RateLimits {
  std::shared_ptr<const policy::RatePolicy> policy;  // nullptr: no file
  std::vector<std::string> warnings;                 // likewise
};

/// The enhanced QoS policy file; `file` may be empty: limits of devices are left alone. `groups`
/// are those that rules may name. Errors as above.
ib::Result<RateLimits> read_rate_limits(const std::string& file,
                                        const std::vector<policy::PortGroup>& groups,
                                        PolicyFiles& files);

}  // namespace sm::daemon
