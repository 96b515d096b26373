// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm ctl explain SRC DST`: the path between two ports of the running subnet, by the policies in
// force and the tables that devices hold.
#pragma once

#include <string>

#include "sm/control/protocol.h"
#include "sm/daemon/options.h"
#include "sm/device/device_state.h"
#include "sm/device/snapshot.h"

namespace sm::daemon {

/// What paths are decided by, beside the subnet.
struct PathRules {
  sa::Policy policy;
  std::shared_ptr<const policy::QosPolicy> qos;  // null: there is none
  RateRules rates;
  std::string version;  // of the program, for JSON
};
PathRules path_rules_of(const DaemonOptions& options);

/// `snapshot` may be null: nothing is known yet.
control::Answer explain_verb(const control::Request& request, const SnapshotPtr& snapshot,
                             const DeviceStatePtr& device_state, const PathRules& rules);

}  // namespace sm::daemon
