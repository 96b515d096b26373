// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One hop of a trace: what its own LID's route is, and what it says itself of the port that our
// packet came in by.
#pragma once

#include "tools/ibtracer/sa_route.h"
#include "tools/ibtracer/trace.h"

namespace ibtracer {

/// Who says which route is to be expected: the tables of the switches, or the SA.
struct Guide {
  ib::mad::Session& session;
  std::uint64_t gid_prefix{};  // of our subnet
  SaRoutes* sa{nullptr};       // nullptr: the tables
};

/// The route to `dlid`. `options` are of a walk by the tables; the SA's begins at our own port.
ib::Result<ib::query::Walk> walk_to(const Guide& guide, ib::Lid dlid,
                                    const ib::query::WalkOptions& options);

/// How a hop is addressed.
struct HopAddress {
  ib::Lid lid;
  bool is_last{};  // of a walk that arrived
};

/// Asks the hop: its agent, and by a LID-routed NodeInfo. `dlid_walk` is the target's own path.
/// What contradicts the tables is looked at twice. Error: the port itself failed, or the SA.
ib::Result<void> check_hop(const Guide& guide, const TraceOptions& options,
                           const HopAddress& address, const ib::query::Walk& dlid_walk,
                           TracedHop& hop);

}  // namespace ibtracer
