// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Weights of VL arbitration: how many VLs a port can give one, and which VLs that packets are sent
// on have none (IBA 7.6.9: a VL without an entry sends nothing but by the device's own grace).
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sm/plan/desired.h"
#include "sm/policy/vl_tables.h"

namespace sm::plan {

/// Of `vls` data VLs those that both tables of arbitration of the port have an entry for. A table
/// that the port has not, and a port that did not say, leave it at `vls`; never 0.
unsigned weighable_vls(const ib::discover::ObservedPort* port, unsigned vls);

/// `table` in `entries` of them: as it was written, but for VLs from `vls` on. Where it is too
/// long, entries that are skipped go first, then the end; if that left a VL without any, those of
/// each VL become one before.
policy::VlArbitrationTemplate fitted(policy::VlArbitrationTemplate table, unsigned vls,
                                     unsigned entries);

/// VLs that the wanted tables send SLs of `used` on (bits) and have no weight for, a line for each
/// kind of port that has such.
std::vector<std::string> vls_without_weight(const ib::discover::Observed& observed,
                                            std::span<const PortWant> ports,
                                            const WantedTables& tables, std::uint16_t used);

}  // namespace sm::plan
