// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include <algorithm>
#include <optional>

#include "libdiag/base/parallel.h"
#include "libdiag/tables/verify_walk.h"

namespace ib::tables::check {
namespace {

constexpr std::size_t kLidsPerBlock = 64;

}  // namespace

/// Tables are rows of switches and a walk wants columns: blocks
/// of LIDs are turned round once, which fits the cache, and go to the processors.
Tally walk_lids(const SwitchGraph& switch_graph, const VlView& virtual_lanes,
                const LinearTables& tables, Lid sm_lid, WalkOptions options, Lids which) {
  const auto wanted = [&](const fabric::Destination& d) {
    return which == Lids::All || d.is_switch();
  };
  struct Worker {
    LidWalker walker;
    std::vector<std::uint8_t> columns;
  };
  const std::size_t switches = switch_graph.graph.switch_count();
  PerWorker<Worker> workers([&] {
    return Worker{LidWalker(switch_graph, virtual_lanes, sm_lid, options),
                  std::vector<std::uint8_t>(switches * kLidsPerBlock)};
  });
  // Runs of destinations in one block of LIDs.
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  const auto& destinations = switch_graph.destinations;
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    if (!wanted(destinations[i])) continue;
    const auto block = [&](std::size_t j) { return destinations[j].lid.value / kLidsPerBlock; };
    if (runs.empty() || block(runs.back().first) != block(i)) runs.emplace_back(i, i);
    runs.back().second = i + 1;
  }
  parallel_for(std::size_t{0}, runs.size(), [&](std::size_t run) {
    const auto [begin, end] = runs[run];
    const std::uint16_t first_lid = destinations[begin].lid.value;
    const std::size_t lids = destinations[end - 1].lid.value - first_lid + std::size_t{1};
    Worker& worker = workers.local();
    for (SwitchIndex s = 0; s < switches; ++s)
      for (std::size_t i = 0; i < lids; ++i)
        worker.columns[i * switches + s] =
            tables.at(s, Lid{static_cast<std::uint16_t>(first_lid + i)});
    for (std::size_t i = begin; i < end; ++i)
      if (const auto& d = destinations[i]; wanted(d))
        worker.walker.walk(d, &worker.columns[(d.lid.value - first_lid) * switches]);
  });
  std::optional<Tally> total;
  workers.each([&](Worker& worker) {
    if (total)
      total->add(worker.walker.tally);
    else
      total = std::move(worker.walker.tally);
  });
  if (!total) total.emplace(switch_graph, virtual_lanes, options);
  total->must.expand(switch_graph, virtual_lanes);
  total->should.expand(switch_graph, virtual_lanes);
  std::sort(total->bad_lids.begin(), total->bad_lids.end());
  return std::move(*total);
}

}  // namespace ib::tables::check
