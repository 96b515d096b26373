// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Dimension order by the order of ports: of the ways of fewest hops the one whose link comes first,
// where ports are numbered (or searched, -O) dimension by dimension on every switch. That breaks
// all cycles of meshes and hypercubes. The wrap-around links of a torus form them whatever the
// order, so nothing is promised; verify says what came out.

#include <algorithm>
#include <numeric>

#include "libdiag/base/parallel.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/spread/spread.h"
#include "libdiag/tables/least_hops.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Positions in graph.arcs(s) in the order in which ports are searched: as the operator says, what
/// he left out by number after that.
std::vector<std::size_t> search_order(const Request& request, SwitchIndex s) {
  const auto arcs = request.graph->arcs(s);
  std::vector<std::size_t> order(arcs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto& orders = request.options.port_search_order;
  const auto given = orders.find(request.graph->guid(s));
  if (given == orders.end()) return order;
  std::array<std::size_t, 256> rank;
  rank.fill(given->second.size());
  for (std::size_t i = given->second.size(); i-- > 0;) rank[given->second[i]] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rank[arcs[a].out_port] < rank[arcs[b].out_port];
  });
  return order;
}

/// Leaves of the candidates of s only those to the neighbour that the first of them leads to.
void keep_first_dimension(const Request& request, SwitchIndex s, tables::LeastHops& hops) {
  const auto arcs = request.graph->arcs(s);
  const std::size_t first = request.graph->arc_index(s, 0);
  std::vector<std::pair<SwitchIndex, std::uint64_t>> wanted;  // neighbour, targets sent to it
  std::uint64_t decided = 0;
  for (const std::size_t i : search_order(request, s)) {
    const std::uint64_t now = hops.arcs[first + i] & ~decided;
    if (now == 0) continue;
    decided |= now;
    wanted.emplace_back(arcs[i].to, now);
  }
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    std::uint64_t mask = 0;
    for (const auto& [to, targets] : wanted)
      if (to == arcs[i].to) mask |= targets;
    hops.arcs[first + i] &= mask;
  }
}

}  // namespace

Result<Routes> dor(const Request& request) {
  const auto& graph = *request.graph;
  const Targets targets(request);
  std::vector<tables::LeastHops> hops(targets.batch_count());
  parallel_for(std::size_t{0}, hops.size(), [&](std::size_t i) {
    std::vector<SwitchIndex> leaves;
    for (const Target& target : targets.batch(i)) leaves.push_back(target.leaf);
    hops[i] = tables::least_hops(graph, leaves);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      keep_first_dimension(request, s, hops[i]);
  });
  Routes result;
  result.engine = "dor";
  result.lfts = spread(request, targets, hops);
  return result;
}

}  // namespace ib::route
