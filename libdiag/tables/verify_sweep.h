// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The quick proof: as if every switch sent to every CA LID. What holds for that holds for what
// really flows; when it does not, the walks decide. Inside libdiag/tables only.
#pragma once

#include "libdiag/tables/tables.h"
#include "libdiag/tables/verify_turns.h"

namespace ib::tables::check {

struct Sweep {
  bool all_arrive{true};  // every CA LID from every switch
  Dependencies turns;     // on one VL; only when all_arrive
};

/// Looks at every entry once. An entry that leads one hop nearer needs no more proof; the others
/// are walked.
Sweep sweep(const SwitchGraph& switch_graph, const LinearTables& tables);

}  // namespace ib::tables::check
