// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Levels of service whose packets hosts drop, since they keep an SLtoVLMappingTable of their own.
#pragma once

#include "sm/device/snapshot.h"
#include "sm/policy/dropped_levels.h"

namespace sm::daemon {

/// One for each rule and partition whose SL some host drops, and for paths without a level where
/// there are no `rules` (null).
std::vector<policy::DroppedLevel> levels_dropped_by_hosts(const policy::QosPolicy* rules,
                                                          const Snapshot& subnet);
/// A sentence for an operator.
std::string line_of(const policy::DroppedLevel& by_hosts);

}  // namespace sm::daemon
