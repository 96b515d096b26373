// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// valley: shortest paths on trees with hosts above the leaves. Loads are as even as minhop's; paths
// that must descend before they climb are on SLs of their own, instead of being forced over one
// switch that counts as a top.
#include <fmt/format.h>

#include <optional>

#include "libdiag/route/deadlock/shape_layers.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/engines/layered.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/route/shape/ranks.h"
#include "libdiag/route/shape/tree_shape.h"
#include "libdiag/route/spread/quality.h"
#include "libdiag/route/up_down/valley_hops.h"
#include "libdiag/route/ways/even_out.h"
#include "libdiag/tables/names.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

tables::LinearTables spread_over(const Request& request, const Targets& targets,
                                 const TreeOrders& orders, Valleys valleys) {
  const auto& graph = *request.graph;
  const auto hops = candidates_of(
      [&](const fabric::CompactGraph& of, std::span<const SwitchIndex> to) {
        return valley_hops(of, orders, to, valleys);
      },
      graph, targets);
  const auto minhop = minhop_candidates(request).value();
  auto lfts = spread_evenly(request, targets, hops, minhop);
  // Other least hops take what is too much, and few pairs another shape with them. On large trees
  // that has been done where something is missing.
  constexpr std::size_t kEntriesMax = 1'000'000;
  const bool keeps = request.options.honour_previous && request.previous != nullptr;
  const bool small = targets.columns().size() * graph.switch_count() <= kEntriesMax;
  if (!keeps && (valleys == Valleys::Few || !small)) return lfts;
  Routes routes;
  routes.lfts = lfts;
  auto relieved = Rerouter::relieved(request, minhop, std::move(routes)).lfts;
  const bool helps = greatest_load(request, relieved) * kEqualLoad < greatest_load(request, lfts);
  return keeps || helps ? relieved : lfts;
}

}  // namespace

Result<Routes> valley(const Request& asked) {
  Request request = asked;
  request.options.hop_weights.clear();
  const auto& graph = *request.graph;
  auto ranks = ranks_from_roots(request);
  if (!ranks) return tl::unexpected(ranks.error());
  if (const auto tree = check_tree(request, *ranks); !tree) return tl::unexpected(tree.error());
  // Only hosts above others need valleys while nothing is missing.
  if (!has_hosts_above(graph, *ranks))
    return fail(
        ErrorKind::NotFound,
        fmt::format("no host hangs above others, none on {}: updn needs no further VL",
                    graph.switch_count() == 0 ? "any switch"
                                              : tables::switch_name(*request.fabric, graph, 0)));
  if (request.vls < 2) return too_few_vls("valley", request, 2, 0, 0);
  TreeOrders orders;
  orders.levels = order_by_rank(request, *ranks);
  orders.single_tops = with_single_tops(graph, orders.levels);
  const Targets targets(request);
  struct Found {
    Ways ways;
    Layers layers;
    bool fits(unsigned vls) const { return layers.needed <= vls; }
    bool is_whole() const { return !layers.longer_ways && layers.switch_pairs_left_out == 0; }
  };
  std::optional<Found> found;
  for (const Valleys valleys : {Valleys::All, Valleys::Few}) {
    Found now{ways_along(graph, targets, spread_over(request, targets, orders, valleys)), {}};
    now.layers = layers_by_shape(request, targets, now.ways, orders);
    if (now.layers.pairs_too_many != 0)
      return fail(ErrorKind::NotFound,
                  fmt::format("{} pairs of switches, {} one of them, would need VLs one by one: "
                              "links are missing, and the fabric is too large for that",
                              now.layers.pairs_too_many,
                              tables::switch_name(*request.fabric, graph, now.layers.crossing)));
    const bool whole = now.fits(request.vls) && now.is_whole();
    if (whole || !found || !found->fits(request.vls)) found = std::move(now);
    if (whole) break;
  }
  if (!found->fits(request.vls))
    return too_few_vls("valley", request, found->layers.needed, found->layers.crossing, 0);
  Routes routes = layered_routes("valley", request, targets, found->ways, found->layers, 0);
  routes.notes.insert(routes.notes.begin(), ranks->notes.begin(), ranks->notes.end());
  return routes;
}

}  // namespace ib::route
