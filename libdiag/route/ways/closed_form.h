// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tables by a closed form: each LID takes the uplink that its number in the tree says, at every
// switch alike. Nothing is counted, so what is damaged changes only the LIDs that used it.
#pragma once

#include <span>

#include "libdiag/route/shape/tree_places.h"
#include "libdiag/tables/least_hops.h"

namespace ib::route {

/// As spread(). With options.honour_previous, entries of `request.previous` that are candidates
/// stay.
tables::LinearTables closed_form_tables(const Request& request, const Targets& targets,
                                        const TreePlaces& places,
                                        std::span<const tables::LeastHops> hops);

}  // namespace ib::route
