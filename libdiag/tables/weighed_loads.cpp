// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/weighed_loads.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "libdiag/wire/rates.h"

namespace ib::tables {
namespace {

using fabric::SwitchIndex;

/// Of each arc, 1 for the fastest.
std::vector<double> capacities(const fabric::Fabric& fabric, const fabric::CompactGraph& graph) {
  std::vector<double> speeds(graph.arc_count(), 0);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (std::size_t i = 0; i < graph.arcs(s).size(); ++i) {
      const fabric::Port& port = fabric.port(graph.node_of(s), graph.arcs(s)[i].out_port);
      speeds[graph.arc_index(s, i)] = wire::lanes(port.width) * wire::gbps_per_lane(port.speed);
    }
  const double fastest = speeds.empty() ? 0 : std::ranges::max(speeds);
  for (double& speed : speeds) speed = speed == 0 ? 1 : speed / fastest;
  return speeds;
}

/// What the hosts of some switch send and get crosses its links.
double cut_floor(const fabric::CompactGraph& graph, std::span<const double> capacity) {
  const fabric::Pieces pieces = fabric::pieces_of(graph);
  std::vector<double> lids(graph.switch_count(), 0), hosts_in(pieces.count, 0),
      lids_in(pieces.count, 0);
  for (const auto& d : graph.destinations())
    if (d.is_host) ++lids[d.leaf], ++lids_in[pieces.of[d.leaf]];
  const auto hosts = graph.attached();
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) hosts_in[pieces.of[s]] += hosts[s];
  double floor = 0;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto own = capacity.subspan(graph.arc_index(s, 0), graph.arcs(s).size());
    if (own.empty()) continue;
    const double out = hosts[s] * (lids_in[pieces.of[s]] - lids[s]);
    const double in = (hosts_in[pieces.of[s]] - hosts[s]) * lids[s];
    floor = std::max(floor, std::max(out, in) / std::accumulate(own.begin(), own.end(), 0.0));
  }
  return floor;
}

}  // namespace

WeighedLoads weighed_loads(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                           std::span<const std::uint64_t> loads, double hops_least) {
  WeighedLoads result;
  if (loads.empty()) return result;
  const auto capacity = capacities(fabric, graph);
  double routes = 0;
  for (std::size_t a = 0; a < loads.size(); ++a) {
    const auto load = static_cast<double>(loads[a]);
    result.max = std::max(result.max, load / capacity[a]);
    routes += load;
  }
  const double all = std::accumulate(capacity.begin(), capacity.end(), 0.0);
  result.mean = routes / all;
  result.floor = std::max(cut_floor(graph, capacity), hops_least / all);
  return result;
}

}  // namespace ib::tables
