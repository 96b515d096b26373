// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The QoS policy file: read with the options, and again on SIGHUP, whole or not at all. The last
// one that could be used is kept in the state directory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libdiag/base/result.h"
#include "sm/policy/qos_policy.h"
#include "sm/policy/rate_policy.h"

namespace sm::daemon {

struct QosRules {
  std::shared_ptr<const policy::QosPolicy> rules;  // nullptr: no file
  std::vector<std::string> warnings;               // a line each
  std::string text;                                // of the file
};

/// `file` may be empty: no policy. An error has every mistake of the file, each with its line and a
/// caret under the place.
ib::Result<QosRules> read_qos_rules(const std::string& file, const policy::Partitions& partitions);
/// The same of the last file that could be used; an error where there is none.
ib::Result<QosRules> read_last_qos_rules(const std::string& state_dir,
                                         const policy::Partitions& partitions);
/// Where that is kept.
std::string last_qos_file(const std::string& state_dir);
/// What that is from now on. Precondition: the state directory is there.
ib::Result<void> keep_qos_rules(const std::string& text, const std::string& state_dir);

struct RateLimits {
  std::shared_ptr<const policy::RatePolicy> policy;  // nullptr: no file
  std::vector<std::string> warnings;                 // a line each
};

/// The enhanced QoS policy file; `file` may be empty or "null": limits of devices are left alone.
/// `groups_file`, if any, has the port groups that rules may name. Errors as above.
ib::Result<RateLimits> read_rate_limits(const std::string& file, const std::string& groups_file);

}  // namespace sm::daemon
