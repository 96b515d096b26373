// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/up_down/detours.h"

#include <array>

#include "libdiag/base/parallel.h"

namespace ib::route {

using fabric::SwitchIndex;

void add_detours(const fabric::CompactGraph& graph, const UpDownOrder& order,
                 const Targets& targets, tables::LeastHops& hops) {
  const std::size_t switches = graph.switch_count();
  std::vector<std::uint64_t> passed(switches, 0), climbs(switches, 0), wanting(switches, 0),
      moved(switches, 0);
  for (SwitchIndex s = 0; s < switches; ++s) {
    const auto arcs = graph.arcs(s);
    std::array<std::uint8_t, tables::kTargetsPerBatch> ways{};
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      const std::uint64_t bits = hops.arcs[graph.arc_index(s, i)];
      passed[arcs[i].to] |= bits;
      if (order.is_up(s, arcs[i].to)) climbs[s] |= bits;
      if (targets.sources(s) != 0)
        for (std::size_t b = 0; b < ways.size(); ++b)
          ways[b] = static_cast<std::uint8_t>(ways[b] + ((bits >> b) & 1));
    }
    for (std::size_t b = 0; b < ways.size(); ++b)
      if (ways[b] != 0 && ways[b] * std::size_t{2} <= arcs.size())
        wanting[s] |= std::uint64_t{1} << b;
  }

  const std::vector<std::vector<std::uint64_t>> at = hops.at;
  hops.at.resize(at.size() + 2, std::vector<std::uint64_t>(switches, 0));
  // From the bottom, so that what somebody leans on does not move itself.
  for (std::size_t position = switches; position-- > 0;) {
    const SwitchIndex s = order.from_top()[position];
    if (wanting[s] == 0) continue;
    const auto arcs = graph.arcs(s);
    for (std::size_t level = 1; level + 1 < at.size(); ++level) {
      const std::uint64_t candidates = at[level][s] & wanting[s] & ~passed[s];
      std::uint64_t gained = 0;
      for (std::size_t i = 0; candidates != 0 && i < arcs.size(); ++i) {
        const SwitchIndex to = arcs[i].to;
        std::uint64_t bits = at[level + 1][to] & candidates & ~moved[to];
        if (!order.is_up(s, to)) bits &= ~climbs[to];  // entered from above, it must descend
        hops.arcs[graph.arc_index(s, i)] |= bits;
        passed[to] |= bits;
        gained |= bits;
      }
      hops.at[level][s] &= ~gained;
      hops.at[level + 2][s] |= gained;
      moved[s] |= gained;
    }
  }
}

void add_detours(const fabric::CompactGraph& graph, const UpDownOrder& order,
                 const Targets& targets, std::span<tables::LeastHops> hops) {
  parallel_for(std::size_t{0}, hops.size(),
               [&](std::size_t i) { add_detours(graph, order, targets, hops[i]); });
}

}  // namespace ib::route
