// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routes for a fabric: those of before where they can follow what has changed, else the best that
// an engine makes, with VLs for each class of the operator's levels of service. Pure but for
// RerouteState, which is handed from plan to plan.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libdiag/route/choose/choose.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/tables/verify_changes.h"
#include "sm/device/inventory.h"
#include "sm/device/routing.h"
#include "sm/plan/found_routes.h"
#include "sm/plan/service_classes.h"
#include "sm/policy/qos_sets.h"

namespace sm::plan {

/// Routes that close a credit loop with the rows of SL2VL that some switches keep.
struct LeftForOneVl {
  std::string why;  // less which engine routes instead
  std::set<ib::Guid> keepers;
  std::vector<ib::Guid> switches;  // of the fabric, ascending
};

/// Routes that follow links which come and go, so that only entries that must change do. Handed
/// from plan to plan; dropped when the operator's options change.
struct RerouteState {
  std::optional<ib::route::Rerouter> rerouter;
  std::shared_ptr<ib::tables::Verifier> verifier;  // knows the rerouter's routes
  ib::tables::VerifyOptions checks;                // that it was made with
  unsigned vls{};                                  // for each class of levels of service
  std::size_t classes{1}, classes_wanted{1};
  /// What the engine's load was to the least there can be when it was chosen by default.
  double load_to_least{};
  /// Engines that did not pass with these switches, which are not asked again.
  std::vector<ib::route::Tried> failed;
  std::vector<ib::Guid> switches;  // ascending
  /// Why routes on several VLs were left, and with which switches; empty: they were not.
  LeftForOneVl left;
};

struct RouteRequest {
  const ib::fabric::Fabric& fabric;  // with the LIDs as assigned
  const ib::fabric::CompactGraph& graph;
  const ib::route::ChoiceOptions* options;  // never null
  const ib::tables::VerifyOptions& checks;
  const Routing* routes_before{};  // that are programmed; nullptr: none
  bool options_changed{};          // since the routes that are followed were made
  const FoundRoutes* found{};      // with no routes before: what to go on with; nullptr: nothing
  bool balance{};                  // fresh routes of the same engine, if they spread loads better
  // Levels of service:
  const policy::VlSettings* between{};  // of links between switches; nullptr: without QoS
  std::uint16_t used_sls{};             // that packets may be asked to have (bits)
  std::uint8_t operational_vls_max{};   // code
  unsigned weighable_vls{};             // that links between switches have weights for
  // Switches that did not take rows of SL2VL, and what they hold:
  const std::set<ib::Guid>& keepers;
  const device::Inventory* held{};  // nullptr: not known
};

struct ChosenRoutes {
  ib::route::Choice choice;
  std::shared_ptr<ib::tables::Verifier> verifier;  // knows them
  std::optional<ClassMapping> class_mapping;       // with QoS and routes on several VLs
  ServiceClasses classes;                          // that have these
  std::string merged_levels;                       // which levels are not apart, a sentence
  bool followed{};                                 // the routes of before
  /// Why routes on several VLs were left for these, or were not although with the rows that
  /// switches keep they may deadlock: a sentence. Empty: neither.
  std::string deadlock_by_kept_rows;
  bool left{};                          // they were
  std::optional<std::size_t> taken_up;  // entries that differ from the routes found, if kept
};

/// Where switches keep rows of SL2VL, routes are proved with these, too. If that fails, routes that
/// need one VL are taken in their place: they are free of deadlock whatever switches map.
ChosenRoutes choose_for_classes(const RouteRequest& request, RerouteState& reroute);

}  // namespace sm::plan
