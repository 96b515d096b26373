// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Fan: all ways to one target that a tree may be chosen from.
#pragma once

#include <vector>

#include "libdiag/fabric/graph.h"

namespace ib::route {

/// Switches from near to far, each with the arcs it may take. Candidates lead to the target or to a
/// switch that comes earlier.
struct Fan {
  struct Candidate {
    std::uint32_t arc;
    fabric::SwitchIndex to;
  };
  std::vector<fabric::SwitchIndex> order;  // without the target
  std::vector<std::uint32_t> first;        // by position in `order`; one more at the end
  std::vector<Candidate> candidates;       // in order of preference
};

}  // namespace ib::route
