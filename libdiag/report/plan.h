// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A plan of routes as text and as members of a document (doc/formats.md, *plan*), of a saved
// topology or of a live fabric.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libdiag/report/json.h"
#include "libdiag/route/choose/plan.h"
#include "libdiag/tables/figures.h"
#include "libdiag/tables/sl_moves.h"

namespace ib::report {

/// What devices are to hold of one table besides LFTs.
struct TableSum {
  std::string table;  // "P_KeyTable"
  std::size_t blocks{0}, nodes{0};
};

struct PlanReport {
  const route::Plan& plan;
  std::string topology;  // what was routed: a file, or words for a live fabric
  bool compares{false};  // engines side by side: a row each, no routes of one
  std::optional<tables::Figures> figures;
  std::optional<route::Tried> programmed;  // with `compares`: what switches hold, as a first row
  std::string programmed_note;             // where the SLs of that are from
  /// What switches would be sent if the plan were programmed, where that is known.
  struct Changes {
    std::size_t entries{0}, blocks{0};
  };
  std::optional<Changes> changes;
  /// What a subnet manager that watches would do where the fabric was whole before.
  struct Event {
    std::string engine;
    tables::SlMoves sl_moves;
  };
  std::optional<Event> event;
  /// Tables of devices, where these are planned, too.
  std::optional<std::vector<TableSum>> tables;
  std::string missing;  // what of the fabric is unknown, a clause; empty: nothing
};

/// "name: value" lines; of a comparison a table of the engines below them.
std::string plan_text(const PlanReport& report);
/// Members of the object that is open.
void write_plan(JsonWriter& json, const PlanReport& report);

}  // namespace ib::report
