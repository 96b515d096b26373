// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Evens out the load of tables that were made from candidates: one LID at one switch is moved at a
// time, to the exit whose whole way to the target is least loaded. spread() looks at the links of
// the switch it is at; this looks at all links of a way, which is what tells in a damaged fabric.
#pragma once

#include <span>

#include "libdiag/route/spread/spread.h"
#include "libdiag/tables/tables.h"

namespace ib::route {

struct EvenOutOptions {
  /// Passes over all LIDs and switches; the first looks at sums of squares, the others at fourth
  /// powers, which is nearer to the maximum.
  unsigned sweeps{4};
  /// How much worse a link becomes for each further LID of the same target that the same switch
  /// sends over it. This keeps apart what hosts of one leaf send to hosts of another.
  double crowd{0.6};
  /// Ways looked at in all: when they are used up, what there is stays.
  std::uint64_t ways_max{200'000'000};
};

/// Precondition: every entry of `tables` for a column of `targets` is one of the candidates, or
/// kNoPort where there is none. Entries stay candidates. With options.honour_previous, entries that
/// `request.previous` has as well stay.
void even_out(const Request& request, const Targets& targets,
              std::span<const tables::LeastHops> hops, tables::LinearTables& tables,
              const EvenOutOptions& options = {});

/// spread(), and even_out() after it where that lowers the maximum (more on slower links) and costs
/// little: up to a million entries, no load ignored. With more entries the most loaded links are
/// relieved where something is missing; `rule` is what `hops` came of.
tables::LinearTables spread_evenly(const Request& request, const Targets& targets,
                                   std::span<const tables::LeastHops> hops,
                                   const CandidateRule& rule);

}  // namespace ib::route
