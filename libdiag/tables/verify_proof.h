// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the quick proof leaves behind, so that later changes can be added to it. Inside
// libdiag/tables only.
#pragma once

#include <optional>

#include "libdiag/tables/tables.h"
#include "libdiag/tables/verify_walk.h"

namespace ib::tables::check {

struct Proof {
  /// On one VL, without a cycle: all that must flow, and what else fits.
  Dependencies turns;
  std::vector<std::uint32_t> position;  // a topological order of it
  std::vector<Turn> refused;            // of LIDs of switches, which did not fit
  Tally switches;                       // what became of those LIDs
};

/// As if every switch sent to every CA LID, and every link were used: where that is free of faults
/// there is no need to know what really flows, but for turns that close a cycle. Precondition: one
/// SL.
std::optional<Proof> prove_quickly(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                                   const VlView& view, const LinearTables& tables,
                                   const VirtualLanes& virtual_lanes,
                                   const std::optional<Dependencies>& of_trees,
                                   const VerifyOptions& options);

/// True when every link can carry what it would if all were used.
bool vls_hold_everywhere(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                         const VlView& view, const VirtualLanes& virtual_lanes);

/// verify(), and its proof if all that must flow on one SL has no cycle (without `switches`).
Verdict verify_keeping(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                       const LinearTables& tables, const VirtualLanes& virtual_lanes,
                       const MulticastCheck& multicast, const VerifyOptions& options,
                       std::optional<Proof>& proof);

}  // namespace ib::tables::check
