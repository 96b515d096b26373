// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tables by a closed form: each LID takes the lane that its number in the tree says, at every
// switch alike. Nothing is counted, so what is damaged changes only the LIDs that used it.
#pragma once

#include <span>

#include "libdiag/route/tree_places.h"
#include "libdiag/routes/least_hops.h"

namespace ib::route {

/// As spread(). With options.honour_previous, entries of `request.previous` that are candidates
/// stay.
routes::LinearTables deal(const Request& request, const Targets& targets, const TreePlaces& places,
                          std::span<const routes::LeastHops> hops);

}  // namespace ib::route
