// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Plans the routes of a fabric and reports what they are worth: the body of `ibsm plan`, which
// hands in the planner of the subnet manager, and of `ibroutes plan`. Nothing is written to a
// fabric.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libdiag/plan/plan_args.h"
#include "libdiag/report/plan.h"
#include "libdiag/tables/tables.h"
#include "libdiag/tables/virtual_lanes.h"

namespace ib::plan {

inline constexpr const char* kPlanSchema = "ibkit.plan/2";

/// The fabric that is to be routed.
struct Subject {
  fabric::Fabric fabric;
  std::string name;  // of the file, or words for a live fabric
  /// What switches hold now; no tables: unknown.
  std::vector<tables::SwitchTables> tables;
  tables::VirtualLanes vls;         // SL2VL and SLs of these routes
  std::string vls_note;             // where they are from
  Lid sm_lid{};                     // 0: unknown
  std::vector<std::string> errors;  // what could not be read
  std::string missing;              // that in a clause, for the verdict; empty: nothing
};

/// Who reports, and where to.
struct Reporter {
  std::string program, version;
  bool json{false};
  std::ostream* out{nullptr};
  std::ostream* complaints{nullptr};

  /// Prints the complaint and, with `json`, a document of it. Returns the error's exit status.
  int refuse(const Error& error) const;
};

/// What a planner makes of a fabric.
struct Planned {
  route::Plan plan;
  /// Tables of devices besides LFTs; nothing: it plans none.
  std::optional<std::vector<report::TableSum>> tables;
  /// Where something is left out and engines are not compared.
  std::optional<report::PlanReport::Event> event;
  /// Writes these into a folder that is there; empty: it plans none.
  std::function<Result<void>(const std::string& directory)> dump_tables;
};
using Planner = std::function<Result<Planned>(const fabric::Fabric&, const route::PlanOptions&)>;

/// Routes and nothing besides, of a fabric without a subnet manager in it.
Result<Planned> plan_routes(const fabric::Fabric& fabric, const route::PlanOptions& options);

/// Returns the exit status: 0 the routes of an engine are verified, 1 those of none are (or, with
/// --compare, those that are programmed are not) or a name of --without does not exist, 2 a bad
/// file, 3 some of the fabric could not be read, 4 something could not be written.
int run_plan(const PlanCommand& command, const Subject& subject, const Reporter& reporter,
             const Planner& planner = plan_routes);

/// The fabric of command.topology.
Result<Subject> saved_subject(const PlanCommand& command, const Reporter& reporter);

/// The document of a run that has nothing else to print.
std::string failure(const std::string& program, const std::string& version, const Error& error);

}  // namespace ib::plan
