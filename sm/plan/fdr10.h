// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// FDR10, which is no speed of PortInfo: vendor attribute 0xFF90 (Mellanox) says who knows it, has
// it enabled and runs at it, and a Set of it enables it. It is asked of ports whose link runs at
// plain QDR, or at FDR10, which looks alike, and of devices that are known to answer.
#pragma once

#include <set>

#include "sm/device/inventory.h"
#include "sm/plan/desired.h"

namespace sm::plan {

/// Adds to `desired` what is to be read, what is to be written, and which links have to train again
/// for it. `keep`: nodes that did not take a Set.
void want_fdr10(Desired& desired, const ib::discover::Observed& observed, bool enabled,
                const device::Inventory& held, const std::set<ib::Guid>& keep);

}  // namespace sm::plan
