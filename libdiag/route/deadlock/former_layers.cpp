// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/former_layers.h"

#include <algorithm>
#include <numeric>

namespace ib::route {

std::uint8_t FormerLayers::of(fabric::SwitchIndex a, fabric::SwitchIndex b) const {
  const Sl sl = previous_->at(a, b);
  if (sl == tables::kNoSl || sl.value < first_sl_ || sl.value - first_sl_ >= layers_max_)
    return kNoLayer;
  return static_cast<std::uint8_t>(sl.value - first_sl_);
}

std::size_t FormerLayers::count(const PairTurns& pairs) const {
  std::size_t layers = 1;
  for (std::uint32_t i = 0; i < pairs.size(); ++i)
    if (const std::uint8_t l = of(pairs.pair(i)); l != kNoLayer)
      layers = std::max(layers, l + std::size_t{1});
  return layers;
}

std::vector<std::uint32_t> FormerLayers::undisputed_first(const PairTurns& pairs,
                                                          const Turns& turns) const {
  const Channels& channels = turns.channels();
  const std::size_t layers = count(pairs);
  std::vector<Dependencies> wanted(layers, Dependencies(channels));
  for (std::uint32_t i = 0; i < pairs.size(); ++i) {
    const auto pair = pairs.pair(i);
    if (const std::uint8_t l = of(pair); l != kNoLayer)
      for (const Turn t : pair.turns) {
        const auto [a, b] = turns.dependency(t);
        wanted[l].insert(a, b);
      }
  }
  // What the topological order reaches is on no cycle.
  std::vector<std::vector<bool>> clear(layers, std::vector<bool>(channels.size(), false));
  for (std::size_t l = 0; l < layers; ++l)
    for (const Channel c : wanted[l].order()) clear[l][c] = true;
  std::vector<std::size_t> disputed(pairs.size(), 0);
  for (std::uint32_t i = 0; i < pairs.size(); ++i) {
    const auto pair = pairs.pair(i);
    const std::uint8_t l = of(pair);
    if (l == kNoLayer) continue;
    for (const Turn t : pair.turns) {
      const auto [a, b] = turns.dependency(t);
      disputed[i] += !clear[l][a] && !clear[l][b];
    }
  }
  std::vector<std::uint32_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return disputed[i]; });
  return order;
}

}  // namespace ib::route
