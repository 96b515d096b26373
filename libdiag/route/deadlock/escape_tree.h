// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A spanning tree of every component, of which only the turns that packets between CAs may take
// count: a way that is always there.
#pragma once

#include <array>
#include <vector>

#include "libdiag/route/spread/spread.h"

namespace ib::route {

struct EscapeTree {
  std::vector<fabric::SwitchIndex> parent;  // kNoSwitch at roots
  std::vector<std::uint32_t> depth;
  std::vector<std::uint32_t> component;
  std::vector<std::uint32_t> number;  // parents before children
  std::vector<bool> needed;           // there are CAs here or further from the root

  /// From a switch to another of its component, both included.
  std::vector<fabric::SwitchIndex> path(fabric::SwitchIndex from, fabric::SwitchIndex to) const;
  /// All (from, via, to) along links of the tree that lead to CAs.
  std::vector<std::array<fabric::SwitchIndex, 3>> turns() const;
};

/// Breadth first, from the switch of each component that is nearest to all CAs.
EscapeTree find_escape_tree(const fabric::CompactGraph& graph, const Targets& targets);

}  // namespace ib::route
