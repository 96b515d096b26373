// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What engines would make of a fabric, held against what is programmed. Nothing is written to it.
#pragma once

#include <string>
#include <vector>

#include "libdiag/route/plan.h"
#include "tools/ibroutes/source.h"

namespace ib::tools {

struct Comparison {
  std::vector<route::Tried> rows;
  std::vector<std::string> notes;  // what was left out
};

/// A row for each engine of `options.choice`; none named: for all, with `file` where it has
/// something to read (`tables_given`). The first row is what is programmed, on `lanes`, with
/// nothing left out. An error is of kind Usage and says that the fabric has no LIDs yet, or what
/// was not found to be left out.
Result<Comparison> compare(const Source& source, const fabric::CompactGraph& graph,
                           const tables::VirtualLanes& lanes, route::PlanOptions options,
                           bool tables_given);

std::string comparison_json(const Source& source, const Comparison& comparison,
                            const std::string& version);

}  // namespace ib::tools
