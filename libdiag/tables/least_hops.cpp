// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/least_hops.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ib::tables {

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
  std::size_t unfinished = 0;  // switches that miss something
  for (std::size_t s = 0; s < switches; ++s) {
    missing[s] = all & ~frontier[s];
    unfinished += missing[s] != 0;
  }
  result.at.push_back(frontier);

  for (bool progress = true; progress && unfinished != 0;) {
    progress = false;
    // Every cable is an arc either way, so what the frontier tells its neighbours is what they
    // would find when they ask.
    std::vector<std::uint64_t> next(switches, 0);
    for (fabric::SwitchIndex s = 0; s < switches; ++s)
      if (frontier[s] != 0)
        for (const auto& arc : graph.arcs(s)) next[arc.to] |= frontier[s];
    for (fabric::SwitchIndex s = 0; s < switches; ++s) {
      const std::uint64_t reached = next[s] &= missing[s];
      if (reached == 0) continue;
      progress = true;
      missing[s] &= ~reached;
      unfinished -= missing[s] == 0;
      const auto arcs = graph.arcs(s);
      const std::size_t first = graph.arc_index(s, 0);
      for (std::size_t i = 0; i < arcs.size(); ++i)
        result.arcs[first + i] |= frontier[arcs[i].to] & reached;
    }
    if (progress) result.at.push_back(next);
    frontier = std::move(next);
  }
  return result;
}

LeastHops least_hops(const fabric::CompactGraph& graph,
                     std::span<const fabric::SwitchIndex> targets,
                     std::span<const std::uint8_t> lengths) {
  assert(targets.size() <= kTargetsPerBatch);
  const std::size_t switches = graph.switch_count();
  std::vector<std::size_t> length(graph.arc_count());
  for (std::size_t arc = 0; arc < length.size(); ++arc)
    length[arc] = std::max<std::size_t>(lengths[arc], 1);
  const std::size_t longest = length.empty() ? 1 : *std::max_element(length.begin(), length.end());

  LeastHops result;
  result.arcs.assign(graph.arc_count(), 0);
  std::vector<std::uint64_t> seen(switches, 0);
  for (std::size_t b = 0; b < targets.size(); ++b) seen[targets[b]] |= std::uint64_t{1} << b;
  result.at.push_back(seen);
  // The level of each of the last distances, by distance modulo their number; 0: nothing is there.
  std::vector<std::size_t> level(longest + 1, 0);
  std::vector<std::uint64_t> found(switches);
  for (std::size_t distance = 1, last = 0; distance <= last + longest; ++distance) {
    bool progress = false;
    for (fabric::SwitchIndex s = 0; s < switches; ++s) {
      found[s] = 0;
      const auto arcs = graph.arcs(s);
      const std::size_t first = graph.arc_index(s, 0);
      for (std::size_t i = 0; i < arcs.size(); ++i) {
        const std::size_t l = length[first + i];
        if (l > distance) continue;
        const std::size_t there = level[(distance - l) % level.size()];
        if (there == 0 && l != distance) continue;
        const std::uint64_t reached = result.at[there][arcs[i].to] & ~seen[s];
        result.arcs[first + i] |= reached;
        found[s] |= reached;
      }
      progress |= found[s] != 0;
    }
    level[distance % level.size()] = progress ? result.at.size() : 0;
    if (!progress) continue;
    last = distance;
    for (std::size_t s = 0; s < switches; ++s) seen[s] |= found[s];
    result.at.push_back(found);
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

}  // namespace ib::tables
