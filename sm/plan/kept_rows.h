// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SL2VL as it is where devices keep rows that are not those they were told: what a proof that
// routes are free of deadlock has to go by, and what paths from hosts can have. Pure.
#pragma once

#include <map>
#include <set>

#include "libdiag/discover/observed.h"
#include "libdiag/tables/virtual_lanes.h"
#include "sm/device/inventory.h"

namespace sm::plan {

/// `planned`, with the rows that the switches of `keepers` are known to hold in place of theirs.
ib::tables::SlToVl with_kept_rows(const ib::tables::SlToVl& planned,
                                  const ib::fabric::CompactGraph& graph,
                                  const std::set<ib::Guid>& keepers, const device::Inventory& held);

/// SLs, a bit each, that ports of the hosts of `keepers` drop by the rows that they are known to
/// hold: those on VL 15, and on VLs that the link does not operate. Ports that drop none are
/// absent.
std::map<ib::fabric::PortRef, std::uint16_t> sls_dropped_by_hosts(
    const ib::discover::Observed& observed, const std::set<ib::Guid>& keepers,
    const device::Inventory& held);

/// Some row that a port in use is known to hold drops packets of `sls` (a bit each), as above.
bool any_row_drops(const ib::discover::Observed& observed, const device::Inventory& held,
                   std::uint16_t sls);

}  // namespace sm::plan
