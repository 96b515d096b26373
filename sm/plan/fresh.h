// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routes computed from nothing, to hold those against that followed links one by one: the engine,
// the loads of both, the proof. Pure, and of data that nobody changes, so that it may be done on
// another thread while the subnet manager goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sm/plan/plan.h"

namespace sm::plan {

struct FreshRequest {
  std::shared_ptr<const ib::discover::Observed> observed;
  std::shared_ptr<const Desired> desired;  // the routes that stand; its verifier is not touched
  const ib::route::EngineEntry* engine{};  // of those
  ib::route::Options options;
  unsigned vls{1};
  ib::routes::VerifyOptions checks;
  std::uint64_t held_load{};  // Rerouter::load_max() of the routes that stand
};

struct FreshRoutes {
  std::uint64_t held_load{}, load{};  // on the most loaded link
  std::string refused;                // not empty: why there are no fresh routes

  /// Null where the routes that stand carry a tenth more at most. Else proved, and what follows is
  /// theirs.
  std::shared_ptr<const Routing> routing;
  std::size_t blocks{};  // of forwarding tables that differ
  ib::routes::Verdict verdict;
  std::shared_ptr<ib::routes::Verifier> verifier;
  std::optional<ib::route::Rerouter> rerouter;
};

FreshRoutes compute_afresh(const FreshRequest& request);

}  // namespace sm::plan
