// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/spread/demand.h"

#include "libdiag/base/parallel.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

template <class Function>
void over(std::size_t count, Function function) {
  parallel_for(std::size_t{0}, count, function, 8);
}

}  // namespace

Demand::Demand(const fabric::CompactGraph& graph, const Targets& targets,
               std::span<const tables::LeastHops> hops)
    : graph_(graph), targets_(targets), hops_(hops), passes_on_(hops.size()), asked_(hops.size()) {
  find_contested();
  over(hops.size(), [&](std::size_t i) { find_what_passes_on(i); });
}

void Demand::find_contested() {
  contested_.assign(graph_.arc_count(), 0);
  over(graph_.switch_count(), [&](std::size_t s) {
    const std::size_t first = graph_.arc_index(static_cast<SwitchIndex>(s), 0);
    const std::size_t end = first + graph_.arcs(static_cast<SwitchIndex>(s)).size();
    bool all = false;
    for (std::size_t i = 0; i < hops_.size() && !all; ++i) {
      const std::uint64_t loaded = loaded_targets(i);
      if (loaded == 0) break;  // nor have the batches behind it
      const auto& arcs = hops_[i].arcs;
      std::uint64_t once = 0, again = 0;
      for (std::size_t a = first; a < end; ++a) again |= once & arcs[a], once |= arcs[a];
      again &= loaded;
      if (again == 0) continue;
      all = true;
      for (std::size_t a = first; a < end; ++a) {
        contested_[a] |= static_cast<std::uint8_t>((arcs[a] & again) != 0);
        all &= contested_[a] != 0;
      }
    }
  });
}

/// Targets that have columns: the loads of links come of these alone.
std::uint64_t Demand::loaded_targets(std::size_t index) const {
  std::uint64_t loaded = 0;
  const auto batch = targets_.batch(index);
  for (std::size_t b = 0; b < batch.size(); ++b)
    if (batch[b].columns() != 0) loaded |= std::uint64_t{1} << b;
  return loaded;
}

void Demand::find_what_passes_on(std::size_t index) {
  const std::uint64_t loaded = loaded_targets(index);
  if (loaded == 0) return;
  const auto& hops = hops_[index];
  auto& passes = passes_on_[index];
  passes.assign(graph_.switch_count(), 0);
  asked_[index].assign(hops.at.size(), 0);
  std::vector<std::uint64_t> wants(graph_.switch_count(), 0);
  for (std::size_t level = 1; level < hops.at.size(); ++level)
    for (SwitchIndex s = 0; s < graph_.switch_count(); ++s) {
      const std::uint64_t here = hops.at[level][s] & loaded;
      if (here == 0) continue;
      const auto arcs = graph_.arcs(s);
      const std::size_t first = graph_.arc_index(s, 0);
      std::uint64_t once = 0, decides = 0, behind = 0;
      for (std::size_t i = 0; i < arcs.size(); ++i) {
        const std::uint64_t mine = hops.arcs[first + i] & here;
        decides |= contested_[first + i] != 0 ? mine : once & mine;
        once |= mine;
        behind |= mine & wants[arcs[i].to];
      }
      passes[s] |= behind;
      asked_[index][level] |= behind;
      wants[s] |= behind | decides;
    }
}

}  // namespace ib::route
