// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Trees of multicast groups over routes that stand, verified with them. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "libdiag/route/multicast/multicast.h"
#include "sm/plan/desired.h"

namespace sm::plan {

using MlidGroup = ib::route::MulticastGroup;

/// What an operator should know of the trees, a line each.
struct MulticastPlan {
  std::vector<std::string> notes, alarms;
};
/// Trees of `groups` over the routes that `desired` has already; touches nothing else. Those that
/// an engine claims are verified together with its routes; where they fail, none is programmed.
/// `fabric` has the nodes and links of the routes.
MulticastPlan want_multicast(Desired& desired, const ib::fabric::Fabric& fabric,
                             std::span<const MlidGroup> groups);

}  // namespace sm::plan
