// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Layers by the shape of paths: on a tree all pairs of switches whose paths climb and then descend
// close no cycle together, nor do those whose paths descend and then climb. So most pairs have a
// layer at once, however large the tree, and only those that are left are put into layers one by
// one.
#pragma once

#include "libdiag/route/deadlock/layers.h"
#include "libdiag/route/up_down/valley_hops.h"

namespace ib::route {

/// Pairs have the layers that they had (Request::previous_sls) as far as those stay free of cycles;
/// the others one by shape. Layer i is SL i; there may be as many as request.vls. Pairs of hosts
/// that fit no layer are led by ways of single_tops, which may be longer.
Layers layers_by_shape(const Request& request, const Targets& targets, Ways& ways,
                       const TreeOrders& orders);

}  // namespace ib::route
