// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/exits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

#include "libdiag/base/parallel.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// A number that depends on nothing but its arguments (splitmix64), for Options::scatter_seed.
std::uint64_t mix(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15ULL ^ a * 0xBF58476D1CE4E5B9ULL ^ b;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// Costs are whole numbers: this many for the widest link where links differ.
constexpr double kCostUnit = 16;

/// Gb/s of the link behind a port; 0 when nobody knows.
double capacity(const fabric::Fabric& fabric, fabric::NodeIndex node, std::uint8_t port) {
  const fabric::Port& p = fabric.port(node, port);
  return wire::lanes(p.width) * wire::gbps_per_lane(p.speed);
}

template <class Function>
void over_switches(const fabric::CompactGraph& graph, Function function) {
  const auto switches = static_cast<SwitchIndex>(graph.switch_count());
  parallel_for(SwitchIndex{0}, switches, function, 32);
}

}  // namespace

std::vector<std::uint32_t> route_costs(const Request& request) {
  const auto& graph = *request.graph;
  std::vector<std::uint32_t> costs(graph.arc_count(), 1);
  double widest = 0, narrowest = INFINITY;
  std::vector<double> gbps;
  if (request.options.link_capacity) {
    gbps.resize(graph.arc_count());
    over_switches(graph, [&](SwitchIndex s) {
      for (std::size_t i = 0; i < graph.arcs(s).size(); ++i)
        gbps[graph.arc_index(s, i)] =
            capacity(*request.fabric, graph.node_of(s), graph.arcs(s)[i].out_port);
    });
    for (const double c : gbps) {
      if (c == 0) continue;
      widest = std::max(widest, c);
      narrowest = std::min(narrowest, c);
    }
  }
  if (widest > narrowest)
    for (std::size_t a = 0; a < costs.size(); ++a)
      costs[a] = static_cast<std::uint32_t>(gbps[a] > 0 ? std::lround(kCostUnit * widest / gbps[a])
                                                        : std::lround(kCostUnit));
  const auto& ignored = request.options.ignored;
  for (SwitchIndex s = 0; s < graph.switch_count() && !ignored.empty(); ++s)
    for (std::size_t i = 0; i < graph.arcs(s).size(); ++i)
      if (ignored.count({graph.guid(s), graph.arcs(s)[i].out_port}) != 0)
        costs[graph.arc_index(s, i)] = 0;
  return costs;
}

Exits::Exits(const Request& request)
    : all(request.graph->arc_count()), arc(request.graph->arc_count()) {
  const auto& graph = *request.graph;
  const Options& options = request.options;
  const auto costs = route_costs(request);

  using Key = std::tuple<std::uint64_t, std::size_t, Guid, std::uint8_t, std::uint8_t>;
  over_switches(graph, [&](SwitchIndex s) {
    const auto arcs = graph.arcs(s);
    const auto searched = options.port_search_order.find(graph.guid(s));
    std::vector<Key> order;
    order.reserve(arcs.size());
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      const std::uint8_t port = arcs[i].out_port;
      std::size_t turn = 0;
      if (searched != options.port_search_order.end()) {
        const auto& list = searched->second;
        const auto at =
            static_cast<std::size_t>(std::find(list.begin(), list.end(), port) - list.begin());
        turn = at < list.size() ? at : list.size() + port;
      }
      const std::uint64_t scatter =
          options.scatter_seed == 0 ? 0 : mix(options.scatter_seed, graph.guid(s).value, port);
      order.emplace_back(scatter, turn, graph.guid(arcs[i].to), port, static_cast<std::uint8_t>(i));
    }
    if (!std::is_sorted(order.begin(), order.end())) std::sort(order.begin(), order.end());
    const std::size_t first = graph.arc_index(s, 0);
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      const std::size_t i = std::get<4>(order[rank]);
      all[first + rank] = {arcs[i].to, costs[first + i], arcs[i].out_port};
      arc[first + rank] = static_cast<std::uint32_t>(first + i);
    }
  });
}

}  // namespace ib::route
