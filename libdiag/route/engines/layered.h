// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What sssp, dfsssp and lash share beside ways and layers: the order of their targets, how layers
// become routes, and what is said where there are too few VLs.
#pragma once

#include <string_view>

#include "libdiag/route/deadlock/layers.h"

namespace ib::route {

/// The request with compute nodes (-u), then I/O nodes (-G), routed behind what the operator's own
/// order (-X) names and ahead of all others: what is routed first finds the links empty.
Request listed_nodes_first(const Request& request);

/// Layer i becomes SL and VL first_vl + i.
Routes layered_routes(std::string_view engine, const Request& request, const Targets& targets,
                      const Ways& ways, const Layers& layers, unsigned first_vl);

/// `needed` layers, of which the first would be first_vl.
tl::unexpected<Error> too_few_vls(std::string_view engine, const Request& request, unsigned needed,
                                  fabric::SwitchIndex crossing, unsigned first_vl);

}  // namespace ib::route
