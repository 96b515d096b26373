// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What libibnetdisc found, in our words. The library believes every answer; nodes that cannot be
// are left out here and named.
#pragma once

#include <infiniband/ibnetdisc.h>

#include "tools/ibtopo/source.h"

namespace ib::tools::topo {

/// `hops_max`: how far the scan was told to go (63: everywhere).
Source source_of(const ibnd_fabric_t& found, unsigned hops_max);

}  // namespace ib::tools::topo
