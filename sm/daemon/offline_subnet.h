// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What ibsm would make of a saved topology by the operator's options, with no fabric attached:
// LIDs, routes, partitions, VLs. Devices are taken for those that ibfabric models: MTU 4096, 8 data
// VLs, arbitration tables of 8 entries and default P_Keys where the topology does not say, all
// links up. Ports keep the LIDs that it has.
#pragma once

#include <memory>

#include "sm/daemon/options.h"
#include "sm/device/snapshot.h"
#include "sm/plan/desired.h"
#include "sm/plan/plan.h"

namespace sm::daemon {

struct OfflineSubnet {
  std::shared_ptr<const plan::Desired> desired;  // never null, nor is the other
  SnapshotPtr snapshot;                          // as it is when all of that was programmed
  plan::RerouteState reroute;                    // for a plan of what comes after it
};

/// The subnet manager is at the port that the options name, else at the first host, else at a
/// switch. An error where
/// there is nobody to manage. `for_report`: that of plan::PlanRequest.
ib::Result<OfflineSubnet> plan_offline(const ib::fabric::Fabric& topology,
                                       const DaemonOptions& options, bool for_report = false);

/// What follows once the subnet has become `topology`, as of a fabric that is watched. For a
/// report.
ib::Result<OfflineSubnet> plan_offline_after(OfflineSubnet before,
                                             const ib::fabric::Fabric& topology,
                                             const DaemonOptions& options);

}  // namespace sm::daemon
