// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Takes cables out of a fabric until it is in pieces.
#pragma once

#include <vector>

#include "libdiag/fabric/graph.h"

namespace ib::tables {

/// Every cable between switches of which `between(a, b)` says so, a and b as the graph of the whole
/// fabric numbers them. Returns one end of each.
template <class Function>
std::vector<fabric::PortRef> cut(fabric::Fabric& fabric, Function between) {
  const fabric::CompactGraph graph(fabric);
  std::vector<fabric::PortRef> ends;
  for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s))
      if (s < arc.to && between(s, arc.to)) ends.push_back({graph.node_of(s), arc.out_port});
  for (const fabric::PortRef end : ends) fabric.disconnect(end);
  return ends;
}

}  // namespace ib::tables
