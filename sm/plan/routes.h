// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The routes of a plan: which are chosen for the LIDs and links that are wanted, whether they are
// programmed, and whose connections they take another SL to. Pure but for RerouteState.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sm/plan/plan.h"

namespace sm::plan {

/// What the rest of a plan is made by, beside `Desired::routing`.
struct PlannedRoutes {
  /// The fabric as routes see it: the assigned LIDs, and no cable to a node that is not managed.
  ib::fabric::Fabric fabric;
  std::optional<ClassMapping> class_mapping;  // with QoS and routes on several VLs
  ServiceClasses classes;                     // that have these
};

/// For the ports and LIDs of `out`, to which it adds the routes and what is to be said of them.
/// `settings`: with QoS; nullptr: without.
PlannedRoutes plan_routes(const PlanRequest& request, const policy::VlSettingsByKind* settings,
                          RerouteState& reroute, Desired& out);

/// Likewise those of PlanRequest::stopgap_engine; without an engine where it cannot be used.
PlannedRoutes stopgap_routes(const PlanRequest& request, RerouteState& reroute, Desired& out);

/// SLs that packets may be asked to have.
std::uint16_t used_sls(const PlanOptions& options);

/// Software behind the port may have built on what it was told.
bool is_in_use(const ib::discover::ObservedPort& seen);
/// Asking its client to register again is what the port can do and the operator wants.
bool may_reregister(const PlanOptions& options, const ib::discover::ObservedPort& seen);

/// An alarm of levels of service.
void say_of_qos(Desired& out, const std::string& what);

}  // namespace sm::plan
