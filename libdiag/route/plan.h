// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routing a saved topology with no fabric attached: LIDs, an engine, a verdict. Pure.
#pragma once

#include <string>
#include <vector>

#include "libdiag/route/choose.h"

namespace ib::route {

struct PlanOptions {
  ChoiceOptions choice;
  routes::VerifyOptions verify;
};

struct Plan {
  fabric::Fabric fabric;  // with LIDs
  fabric::CompactGraph graph;
  Routes routes;
  routes::Verdict verdict;
  bool passed{false};  // false: what fails least, and not to be programmed
  std::vector<Tried> tried;
  std::size_t lids_given{0};       // end ports that had none
  std::vector<std::string> notes;  // engines that did not pass, and why
};

/// Gives every end port that has a cable and no LID one: the smallest that is free, in the order of
/// port GUIDs. Returns how many got one.
std::size_t give_lids(fabric::Fabric& fabric);

/// An error of kind Usage names an engine that does not exist; one of kind NotFound says why none
/// of the engines fits.
Result<Plan> plan_routes(fabric::Fabric fabric, const PlanOptions& options = {});

}  // namespace ib::route
