// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm ctl counters`: what the performance manager has counted.
#pragma once

#include <string>

#include "sm/control/protocol.h"
#include "sm/managers/performance/dump.h"

namespace sm::daemon {

/// Where names are looked up, and who writes documents.
struct CountedSubnet {
  std::string version;
  const ib::fabric::Fabric* fabric{nullptr};  // null: nothing is known yet
};

/// `counters list [NODE [PORT]]` and `counters history [NODE [PORT]]` (options errors, json),
/// `counters dump [mach]`, `counters sweep`, `counters clear`. `manager` is null where no counters
/// are read. `file`: where dumps go.
control::Answer counters_verb(const control::Request& request,
                              managers::performance::PerformanceManager* manager,
                              const std::string& file, const managers::performance::Clock& clock,
                              const CountedSubnet& subnet);

}  // namespace sm::daemon
