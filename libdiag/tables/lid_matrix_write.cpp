// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "libdiag/tables/least_hops.h"
#include "libdiag/tables/lid_matrix.h"

namespace ib::tables {
namespace {

using fabric::SwitchIndex;

/// By target and switch; LidMatrix::kUnreachable where no way leads there.
std::vector<std::uint8_t> hops_between_switches(const fabric::CompactGraph& graph) {
  const std::size_t switches = graph.switch_count();
  std::vector<std::uint8_t> hops(switches * switches, LidMatrix::kUnreachable);
  for (SwitchIndex first = 0; first < switches; first += kTargetsPerBatch) {
    std::vector<SwitchIndex> targets(std::min<std::size_t>(kTargetsPerBatch, switches - first));
    std::iota(targets.begin(), targets.end(), first);
    least_hops(graph, targets).for_each([&](std::size_t b, SwitchIndex s, std::size_t distance) {
      hops[(first + b) * switches + s] =
          static_cast<std::uint8_t>(std::min<std::size_t>(distance, LidMatrix::kUnreachable - 1));
    });
  }
  return hops;
}

}  // namespace

void write_lid_matrix(const TextSink& write, const fabric::Fabric& fabric,
                      const fabric::CompactGraph& graph) {
  const std::size_t switches = graph.switch_count();
  const auto hops = hops_between_switches(graph);
  std::vector<const fabric::Destination*> rows;
  for (const auto& d : graph.destinations())
    if (d.is_switch()) rows.push_back(&d);
  std::ranges::sort(rows, {}, [](const auto* d) { return d->lid; });
  std::vector<SwitchIndex> order(switches);
  std::iota(order.begin(), order.end(), SwitchIndex{0});
  std::ranges::stable_sort(order, {}, [&](SwitchIndex s) { return graph.guid(s); });

  std::string out;
  for (const SwitchIndex s : order) {
    out = fmt::format("Switch: guid {}\n", to_string(graph.guid(s)));
    std::vector<std::uint8_t> by_port(fabric.node(graph.node_of(s)).num_ports + std::size_t{1});
    for (const auto* d : rows) {
      const std::uint8_t* to = &hops[d->leaf * switches];
      std::ranges::fill(by_port, LidMatrix::kUnreachable);
      by_port[0] = to[s];
      for (const auto& arc : graph.arcs(s))
        if (to[arc.to] < LidMatrix::kUnreachable - 1)
          by_port[arc.out_port] = static_cast<std::uint8_t>(to[arc.to] + 1);
      fmt::format_to(std::back_inserter(out), "0x{:04x}: {:02x} # portguid {}\n", d->lid.value,
                     fmt::join(by_port, " "), to_string(graph.guid(d->leaf)));
    }
    write(out);
  }
}

}  // namespace ib::tables
