// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How engines that use layers turn them into routes, and say that there are too few VLs.
#pragma once

#include <string_view>

#include "libdiag/route/layers.h"

namespace ib::route {

/// Layer i becomes SL and VL first_vl + i.
Routes layered_routes(std::string_view engine, const Request& request, const Targets& targets,
                      const Ways& ways, const Layers& layers, unsigned first_vl);

/// `needed` layers, of which the first would be first_vl.
tl::unexpected<Error> too_few_vls(std::string_view engine, const Request& request, unsigned needed,
                                  fabric::SwitchIndex crossing, unsigned first_vl);

}  // namespace ib::route
