// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The plainest reroute, to have changes to verify: entries that are not on a shortest path any more
// take another one.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "libdiag/tables/least_hops.h"
#include "libdiag/tables/verify_changes.h"

namespace ib::tables {

inline std::vector<EntryChange> patch(const fabric::CompactGraph& graph, LinearTables& tables) {
  std::vector<EntryChange> changes;
  const auto switches = static_cast<fabric::SwitchIndex>(graph.switch_count());
  for (fabric::SwitchIndex first = 0; first < switches; first += kTargetsPerBatch) {
    std::vector<fabric::SwitchIndex> targets;
    for (fabric::SwitchIndex t = first; t < switches && targets.size() < kTargetsPerBatch; ++t)
      targets.push_back(t);
    const LeastHops hops = least_hops(graph, targets);
    for (const auto& d : graph.destinations()) {
      if (d.leaf < first || d.leaf >= first + targets.size()) continue;
      const std::uint64_t bit = std::uint64_t{1} << (d.leaf - first);
      for (fabric::SwitchIndex s = 0; s < switches; ++s) {
        std::vector<std::uint8_t> ports;
        if (s == d.leaf) ports.push_back(d.port);
        const auto arcs = graph.arcs(s);
        for (std::size_t i = 0; i < arcs.size(); ++i)
          if (hops.arcs[graph.arc_index(s, i)] & bit) ports.push_back(arcs[i].out_port);
        if (ports.empty() ||
            std::find(ports.begin(), ports.end(), tables.at(s, d.lid)) != ports.end())
          continue;
        tables.set(s, d.lid, ports[d.lid.value % ports.size()]);
        changes.push_back({s, d.lid});
      }
    }
  }
  return changes;
}

}  // namespace ib::tables
