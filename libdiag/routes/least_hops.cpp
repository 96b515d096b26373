// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/routes/least_hops.h"

#include <cassert>
#include <utility>

namespace ib::routes {

LeastHops least_hops(const fabric::CompactGraph& graph,
                     std::span<const fabric::SwitchIndex> targets) {
  assert(targets.size() <= kTargetsPerBatch);
  const std::size_t switches = graph.switch_count();
  LeastHops result;
  result.arcs.assign(graph.arc_count(), 0);

  std::vector<std::uint64_t> frontier(switches, 0);
  for (std::size_t b = 0; b < targets.size(); ++b) frontier[targets[b]] |= std::uint64_t{1} << b;
  std::vector<std::uint64_t> missing(switches);
  const std::uint64_t all =
      targets.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << targets.size()) - 1;
  for (std::size_t s = 0; s < switches; ++s) missing[s] = all & ~frontier[s];
  result.at.push_back(frontier);

  for (bool progress = true; progress;) {
    progress = false;
    std::vector<std::uint64_t> next(switches, 0);
    for (fabric::SwitchIndex s = 0; s < switches; ++s) {
      if (missing[s] == 0) continue;
      const auto arcs = graph.arcs(s);
      std::uint64_t reached = 0;
      for (const auto& arc : arcs) reached |= frontier[arc.to];
      reached &= missing[s];
      if (reached == 0) continue;
      next[s] = reached;
      missing[s] &= ~reached;
      progress = true;
      const std::size_t first = graph.arc_index(s, 0);
      for (std::size_t i = 0; i < arcs.size(); ++i)
        result.arcs[first + i] |= frontier[arcs[i].to] & reached;
    }
    if (progress) result.at.push_back(next);
    frontier = std::move(next);
  }
  return result;
}

void transpose64(std::span<std::uint64_t, 64> rows) {
  // Swaps ever smaller off-diagonal squares: 32 x 32, then 16 x 16, down to single bits.
  std::uint64_t mask = 0x00000000FFFFFFFFULL;
  for (unsigned size = 32; size != 0; size >>= 1, mask ^= mask << size) {
    for (unsigned i = 0; i < 64; i = ((i | size) + 1) & ~size) {
      const std::uint64_t swap = ((rows[i] >> size) ^ rows[i | size]) & mask;
      rows[i] ^= swap << size;
      rows[i | size] ^= swap;
    }
  }
}

}  // namespace ib::routes
