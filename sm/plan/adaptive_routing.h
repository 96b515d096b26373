// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Adaptive routing: which ports switches may choose among for a LID, proved, and what their tables
// are to hold for it. The LFT stays as it is planned; its port is in every group.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libdiag/discover/observed.h"
#include "libdiag/route/engine.h"
#include "libdiag/tables/adaptive.h"
#include "sm/device/inventory.h"
#include "sm/device/routing.h"
#include "sm/plan/wanted_block.h"
#include "sm/policy/adaptive_settings.h"

namespace sm::plan {

/// What may be chosen, whatever switches can do.
struct AdaptiveRoutes {
  policy::AdaptiveSettings settings;
  ib::tables::PortGroups groups;  // empty: nobody is to choose
  std::vector<std::string> notes, alarms;
};

/// For verified routes. `fabric`: with the LIDs as assigned; `order`: that they keep to, nullptr
/// where the engine's own is right.
AdaptiveRoutes plan_adaptive_routes(const policy::AdaptiveSettings& settings,
                                    const ib::fabric::Fabric& fabric, const Routing& routing,
                                    const ib::route::Options& options,
                                    std::shared_ptr<const ib::route::PlacedSwitches> order,
                                    ib::Lid sm_lid);

struct AdaptivePlan {
  std::vector<WantedBlock> blocks;   // by node: groups, the LFT, ARInfo last
  std::vector<WantedBlock> to_read;  // what switches can do, where it is not known; by node
  std::vector<std::string> notes, alarms;
};

/// `mute`: nodes that do not tell what they can do.
AdaptivePlan plan_adaptive_blocks(const AdaptiveRoutes& routes,
                                  const ib::discover::Observed& observed,
                                  const std::vector<bool>& managed, const Routing& routing,
                                  const device::Inventory& held, const std::set<ib::Guid>& mute);

struct Desired;
/// Puts into `desired` what its `adaptive` routes come to with what is known of switches.
void take_adaptive_blocks(Desired& desired, const ib::discover::Observed& observed,
                          const device::Inventory& held, const std::set<ib::Guid>& mute);

/// May be asked whether it knows adaptive routing: some firmware does not survive the question.
bool may_know_adaptive_routing(const ib::fabric::Node& node);

}  // namespace sm::plan
