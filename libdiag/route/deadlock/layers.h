// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Layers: virtual layers of a routing. Every unordered pair of switches is put into one of them,
// both directions with all LIDs, so that no layer's channel dependencies have a cycle; a layer then
// is an SL and a VL of its own, and nothing deadlocks.
#pragma once

#include "libdiag/route/shape/channels.h"
#include "libdiag/route/ways/ways.h"

namespace ib::route {

struct LayerRules {
  unsigned layers_max{8};
  /// Pairs are dealt over all of layers_max in the end, though fewer would do: shorter queues.
  bool use_all{false};
  const Grid* grid{nullptr};    // of the graph, if the ways follow it
  unsigned first_sl{0};         // of layer 0, in Request::previous_sls
  bool hasty{false};            // other ways are tried next: what takes long is left alone
  bool longer_ways{false};      // ways are not the shortest, and may be longer for less load
  unsigned free_dimensions{0};  // WayOptions
  bool as_before{false};        // it fails where not nearly all pairs keep the SLs that they had
};

struct Layers {
  unsigned needed{1};             // how many the assignment takes; more than layers_max: failed
  unsigned used{1};               // 0 .. used - 1 have pairs
  tables::PathSls sls;            // the layer of each pair of switches, as an SL from 0
  bool longer_ways{false};        // not all are the shortest
  std::size_t ways_parted{};      // of LIDs of a port; with others of it they shared a link
  std::size_t pairs_led_round{};  // got other ways, since by their own they fit no layer
  std::size_t switch_pairs_left_out{};  // pairs with a switch that has no CA, for which layers_max
                                        // do not do: in layer 0, though they close a cycle there
  std::size_t pairs_too_many{};         // failed before any was placed: it would take too long
  fabric::SwitchIndex crossing{fabric::kNoSwitch};  // failed: a switch on a cycle that is left
  MulticastRule multicast;     // a spanning tree, free of cycles on an SL where nothing else flows
  bool multicast_fits{false};  // and beside what flows on its SL
};

/// Pairs that fit no layer may get other ways.
Layers assign_layers(const Request& request, const Targets& targets, Ways& ways,
                     const LayerRules& rules);

}  // namespace ib::route
