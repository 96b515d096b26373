// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Whether what this host stores is of the fabric that a sweep found: its state directory may have
// come here from another one, by a copy or with the head node that moved.
#pragma once

#include <vector>

#include "libdiag/discover/observed.h"
#include "libdiag/route/lids.h"
#include "sm/store/kinship.h"

namespace sm::core {

/// GUIDs of the ports that were found, less those of our own node.
std::vector<ib::Guid> other_ports(const ib::discover::Observed& found);

store::Kinship kinship_of(const ib::route::StoredLids& stored, const ib::discover::Observed& found);

}  // namespace sm::core
