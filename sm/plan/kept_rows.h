// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SL2VL as it is where switches keep rows that are not those they were told: what a proof that
// routes are free of deadlock has to go by. Pure.
#pragma once

#include <set>

#include "libdiag/tables/virtual_lanes.h"
#include "sm/device/inventory.h"

namespace sm::plan {

/// `planned`, with the rows that the switches of `keepers` are known to hold in place of theirs.
ib::tables::SlToVl with_kept_rows(const ib::tables::SlToVl& planned,
                                  const ib::fabric::CompactGraph& graph,
                                  const std::set<ib::Guid>& keepers, const device::Inventory& held);

}  // namespace sm::plan
