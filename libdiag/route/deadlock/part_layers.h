// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Ways of the LIDs of one end port that share no link (part_ways.h), in layers.
#pragma once

#include "libdiag/route/deadlock/layer.h"

namespace ib::route {

/// Pairs of switches in their layers.
struct FilledLayers {
  const Walker& walker;
  PairTurns& pairs;
  std::vector<Layer>& layers;
  std::vector<std::uint8_t>& layer_of;  // by pair
  unsigned layers_max{};
  bool keep{false};  // pairs stay in their layers
};

/// A way changes where its pair then fits its layer, or another unless that is to be kept. How many
/// did.
std::size_t part_ways_in_layers(const Request& request, const Targets& targets, Ways& ways,
                                FilledLayers filled);

}  // namespace ib::route
