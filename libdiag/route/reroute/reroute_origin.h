// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routes as they were adopted, and the fabric they were made for, after a Rerouter has gone over to
// another order of switches, or to a fabric with other switches, LIDs or cables.
#pragma once

#include <vector>

#include "libdiag/route/reroute/reroute_state.h"

namespace ib::route {

struct Rerouter::Origin {
  fabric::CompactGraph graph;
  std::vector<LinkKind> kinds;  // by arc
  Routes routes;

  /// Whether the fabric of the request is that one.
  bool is_made_for(const Request& request) const;
  /// Whether connections may go on with the SLs they have (Request::previous_sls) on these routes:
  /// together with what the routes themselves say, that closes no credit loop.
  bool mixes_with(const Request& request) const;
};

}  // namespace ib::route
