// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routing a saved topology with no fabric attached: LIDs, an engine, a verdict. Pure.
#pragma once

#include <string>
#include <vector>

#include "libdiag/route/choose/choose.h"
#include "libdiag/route/reroute/what_if.h"
#include "libdiag/tables/pieces.h"
#include "libdiag/tables/sl_moves.h"

namespace ib::route {

struct PlanOptions {
  WhatIf what_if;                   // what goes keeps its LIDs: they are given before
  std::optional<std::uint8_t> lmc;  // none: as the file has it
  ChoiceOptions choice;
  tables::VerifyOptions verify;
};

struct Plan {
  fabric::Fabric fabric;  // with LIDs, nodes by GUID
  fabric::CompactGraph graph;
  Routes routes;  // no engine: none fits
  tables::Verdict verdict;
  bool passed{false};  // false: what fails least, if any, and not to be programmed
  std::vector<Tried> tried;
  std::size_t lids{0};        // of all end ports, whether a switch is between them or not
  std::size_t lids_given{0};  // end ports that got another, or their first
  Taken taken;
  std::vector<tables::Piece> pieces;  // that no link joins; none when all is one
  /// Links that are gone, pieces of the fabric, engines that did not pass and why.
  std::vector<std::string> notes;
};

struct GivenLids {
  std::size_t count{0};            // ports that got another LID than they had, or their first
  std::vector<std::string> notes;  // LIDs that two ports had, one line each
};

/// Gives LIDs as ibsm does where the ports are ACTIVE and its store is empty (assign_lids): every
/// end port that has a LID keeps it, the others get free ones in the order of port GUIDs. Of two
/// ports with a LID in common that of the smaller GUID keeps it. With an LMC, hosts get 2^LMC LIDs
/// each, those whose LID is not a multiple of that another one. An error of kind Usage when there
/// are more ports than LIDs; `fabric` is then as it was.
Result<GivenLids> give_lids(fabric::Fabric& fabric, std::optional<std::uint8_t> lmc = {});

/// Nodes are taken by GUID, as a subnet manager has them: their order in `fabric` decides nothing.
/// An error names an engine (Usage), or a switch (NotFound) or link that does not exist. Where no
/// engine fits the plan has routes of none, and `tried` says why.
Result<Plan> plan_routes(fabric::Fabric fabric, const PlanOptions& options = {});

/// Routes that go on with those of before.
struct Followed {
  Routes routes;
  tables::SlMoves sl_moves;
};
/// What a subnet manager that has programmed `whole` makes of the fabric of `now`: the engine in
/// use is asked first, for as few changes as it can. nullopt: either has no routes that pass.
std::optional<Followed> routes_after(const Plan& whole, const Plan& now,
                                     const PlanOptions& options);

}  // namespace ib::route
