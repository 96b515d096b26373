// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// FormerLayers: the layers that pairs of switches have by the SLs of the previous routing.
#pragma once

#include <vector>

#include "libdiag/route/deadlock/layers.h"
#include "libdiag/route/deadlock/pair_mender.h"
#include "libdiag/route/deadlock/turns.h"

namespace ib::route {

class FormerLayers {
 public:
  static constexpr std::uint8_t kNoLayer = PairMender::kNoLayer;

  /// No `previous` SLs: any() is false, and nothing else is to be asked.
  FormerLayers(const tables::PathSls* previous, const LayerRules& rules)
      : previous_(previous), first_sl_(rules.first_sl), layers_max_(rules.layers_max) {}

  bool any() const { return previous_ != nullptr; }
  /// The layer that connections between two switches use; kNoLayer: they have none that there is.
  std::uint8_t of(fabric::SwitchIndex a, fabric::SwitchIndex b) const;
  std::uint8_t of(const PairTurns::Pair& pair) const { return of(pair.a, pair.b); }
  /// So many layers hold those of all pairs.
  std::size_t count(const PairTurns& pairs) const;

  /// All pairs, those first that can be part of no cycle in their former layer, then by the number
  /// of turns that can.
  std::vector<std::uint32_t> undisputed_first(const PairTurns& pairs, const Turns& turns) const;

 private:
  const tables::PathSls* previous_;
  unsigned first_sl_, layers_max_;
};

}  // namespace ib::route
