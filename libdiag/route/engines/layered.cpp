// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/engines/layered.h"

#include <fmt/format.h>

#include <utility>

#include "libdiag/route/deadlock/part_ways.h"
#include "libdiag/route/shape/grid_order.h"
#include "libdiag/route/shape/grid_rows.h"
#include "libdiag/tables/names.h"

namespace ib::route {
namespace {

tables::PathSls shifted(const tables::PathSls& sls, std::size_t switches, unsigned by) {
  tables::PathSls result(switches, Sl{0});
  for (fabric::SwitchIndex a = 0; a < switches; ++a)
    for (fabric::SwitchIndex b = 0; b <= a; ++b)
      result.set(a, b, Sl{static_cast<std::uint8_t>(sls.at(a, b).value + by)});
  return result;
}

}  // namespace

Request listed_nodes_first(const Request& request) {
  Request ordered = request;
  auto& order = ordered.options.guid_routing_order.entries;
  for (const GuidList* list : {&request.options.compute_nodes, &request.options.io_nodes})
    order.insert(order.end(), list->entries.begin(), list->entries.end());
  return ordered;
}

GridAttempts::GridAttempts(const fabric::CompactGraph& graph, const Targets& targets,
                           unsigned layers_max)
    : grid_(find_grid(graph)) {
  if (!grid_) return;
  const Channels channels(graph);
  if (targets.lids_of_a_port() > 1 && grid_->dimensions.size() > 1) {
    all_.push_back({{Grain::Leaf, &*grid_}});
    all_.back().ways.free_dimensions = free_dimensions(*grid_, layers_max);
  }
  all_.push_back({{Grain::Leaf, &*grid_}});
  if (GridRows(*grid_, channels).whole()) return;
  turned_ = with_last_dimension_first(*grid_);
  for (Attempt& attempt : all_) attempt.hasty = true;
  all_.push_back({{Grain::Leaf, &*grid_, true}, true});
  all_.push_back({{Grain::Leaf, &*turned_, true}, false});
}

LayeredWays layered_ways(const Request& request, const Targets& targets, const Attempt& attempt,
                         LayerRules rules) {
  rules.grid = attempt.ways.grid;
  rules.hasty = attempt.hasty;
  rules.longer_ways = attempt.ways.round_damage;
  rules.free_dimensions = attempt.ways.free_dimensions;
  Ways ways = find_ways(request, targets, attempt.ways);
  if (LayeredWays kept{ways, {}}; keep_parted_ways(request, targets, kept.ways)) {
    rules.as_before = true;
    kept.layers = assign_layers(request, targets, kept.ways, rules);
    rules.as_before = false;
    if (kept.layers.needed <= rules.layers_max) return kept;
  }
  LayeredWays found{std::move(ways), {}};
  found.layers = assign_layers(request, targets, found.ways, rules);
  return found;
}

Routes layered_routes(std::string_view engine, const Request& request, const Targets& targets,
                      const Ways& ways, const Layers& layers, unsigned first_vl) {
  Routes result;
  result.engine = engine;
  result.lfts = tables_from(request, targets, ways);
  result.promises_deadlock_freedom = true;
  result.vls_used = static_cast<std::uint8_t>(first_vl + layers.used);
  // On VLs before its own only: worth it for SL 0, which most groups have.
  if (layers.multicast_fits || first_vl > 0) result.multicast = layers.multicast;
  if (result.vls_used > 1) {
    const std::size_t switches = request.graph->switch_count();
    result.virtual_lanes.sls = layers.used == 1
                                   ? tables::PathSls(Sl{static_cast<std::uint8_t>(first_vl)})
                               : first_vl == 0 ? layers.sls
                                               : shifted(layers.sls, switches, first_vl);
    result.virtual_lanes.sl_to_vl = tables::SlToVl(tables::SlToVlRow::modulo(request.vls));
    if (layers.multicast_fits)
      result.multicast.sl = Sl{static_cast<std::uint8_t>(layers.multicast.sl.value + first_vl)};
    // Trees are parts of one, which closes no cycle where nothing else flows.
    for (unsigned sl = 0; sl < request.vls && !result.multicast.parent.empty(); ++sl)
      if (sl < first_vl || sl >= result.vls_used)
        result.multicast.sls |= static_cast<std::uint16_t>(1U << sl);
  }
  if (layers.longer_ways)
    result.notes.push_back(fmt::format(
        "{}: not all ways are the shortest; by those some pairs of switches would fit none of {}",
        engine, tables::counted(request.vls, "VL", "VLs")));
  if (layers.ways_parted > 0) result.notes.push_back(parted_note(engine, layers.ways_parted));
  if (layers.switch_pairs_left_out > 0)
    result.notes.push_back(fmt::format(
        "{}: {} pairs of switches of which one has no CA fit no layer and use the first", engine,
        layers.switch_pairs_left_out));
  return result;
}

std::string parted_note(std::string_view engine, std::size_t ways) {
  return fmt::format(
      "{}: {} of LIDs that would share links with others of their port lead elsewhere, some of "
      "them "
      "up to two hops farther",
      engine, tables::counted(ways, "way", "ways"));
}

tl::unexpected<Error> too_few_vls(std::string_view engine, const Request& request, unsigned needed,
                                  fabric::SwitchIndex crossing, unsigned first_vl) {
  const std::string place =
      crossing == fabric::kNoSwitch
          ? std::string()
          : fmt::format(" for routes through switch {}",
                        tables::switch_name(*request.fabric, *request.graph, crossing));
  const unsigned have = request.vls > first_vl ? request.vls - first_vl : 0;
  return fail(
      ErrorKind::NotFound,
      fmt::format("{} needs {}{} and has {}{}; nue does with any number", engine,
                  needed > have + 1 ? tables::counted(needed, "VL", "VLs")
                                    : "at least " + tables::counted(have + 1, "VL", "VLs"),
                  place, have, first_vl == 0 ? "" : fmt::format(" from VL {} on", first_vl)));
}

}  // namespace ib::route
