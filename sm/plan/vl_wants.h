// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a plan wants of VLs: how many links operate, and, where routes or the operator need them or
// did, SL2VL, VL arbitration and high limits of all ports. Pure.
#pragma once

#include "sm/plan/routes.h"

namespace sm::plan {

/// qos_*_max_vls caps what a link that comes up operates, and bounces none: one whose two ends
/// agree keeps its VLs, those of a max_vls of before included. `want` is what `p` wants with a link
/// to `q`. True: it operates fewer than it would if it came up now.
bool cap_vls(const PlanRequest& request, const policy::VlSettingsByKind* settings,
             ib::fabric::PortRef p, ib::fabric::PortRef q, PortWant& want);

/// By the routes of `out`. `keeps_vls`: some link does as cap_vls() says.
void want_vls(const PlanRequest& request, const policy::VlSettingsByKind* settings,
              const PlannedRoutes& routes, bool keeps_vls, Desired& out);

}  // namespace sm::plan
