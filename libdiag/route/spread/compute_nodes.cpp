// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/compute_nodes.h"

#include <unordered_set>
#include <vector>

namespace ib::route {

std::optional<fabric::CompactGraph> graph_of_compute_nodes(const Request& request) {
  std::unordered_set<Guid> listed;
  for (const auto& entry : request.options.compute_nodes.entries) listed.insert(entry.guid);
  if (listed.empty()) return std::nullopt;
  std::vector<Guid> others;
  bool any = false;
  for (const auto& d : request.graph->destinations()) {
    if (d.is_switch()) continue;
    const Guid guid = request.fabric->port(d.end_port).guid;
    if (d.is_host && listed.contains(guid))
      any = true;
    else
      others.push_back(guid);
  }
  if (!any) return std::nullopt;
  return fabric::CompactGraph(*request.fabric, others);
}

}  // namespace ib::route
