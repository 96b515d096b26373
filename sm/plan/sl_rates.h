// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Rate limits of SLs: what QosConfigSL of CA ports should hold, where the device can limit.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "libdiag/discover/observed.h"
#include "sm/device/inventory.h"
#include "sm/plan/wanted_block.h"
#include "sm/policy/rate_policy.h"

namespace sm::plan {

/// What QosConfigSL of this end port should hold: its limits, and no shares of the bandwidth.
ib::wire::MlnxQosConfigSl rate_limits_of(const policy::EndPortFacts& port,
                                         const policy::RatePolicy& policy);

struct SlRatePlan {
  std::vector<WantedBlock> blocks;   // by node
  std::vector<WantedBlock> to_read;  // what devices can do, where it is not known; by node
  std::vector<std::string> alarms;   // devices that cannot limit, a line a kind
};

/// `sm_port` stands for SELF in port groups. `refused`: nodes that do not tell what they can do.
SlRatePlan plan_sl_rates(const ib::discover::Observed& observed, const std::vector<bool>& managed,
                         ib::fabric::PortRef sm_port, const policy::RatePolicy& policy,
                         const device::Inventory& held, const std::set<ib::Guid>& refused);

}  // namespace sm::plan
