// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routing a saved topology with no fabric attached: LIDs, an engine, a verdict. Pure.
#pragma once

#include <string>
#include <vector>

#include "libdiag/route/engine.h"
#include "libdiag/routes/verify.h"

namespace ib::route {

struct PlanOptions {
  std::vector<std::string> engines{"minhop"};  // the first that fits is taken
  Options engine;
  unsigned vls_max{8};  // data VLs an engine may use, as far as the links have them
  routes::VerifyOptions verify;
};

struct Plan {
  fabric::Fabric fabric;  // with LIDs
  fabric::CompactGraph graph;
  Routes routes;
  routes::Verdict verdict;
  std::size_t lids_given{0};       // end ports that had none
  std::vector<std::string> notes;  // engines that did not fit, and why
};

/// Gives every end port that has a cable and no LID one: the smallest that is free, in the order of
/// port GUIDs. Returns how many got one.
std::size_t give_lids(fabric::Fabric& fabric);

/// An error of kind Usage names an engine that does not exist; one of kind NotFound says why none
/// of the engines fits.
Result<Plan> plan_routes(fabric::Fabric fabric, const PlanOptions& options = {});

}  // namespace ib::route
