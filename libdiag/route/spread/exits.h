// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Exits: the arcs of every switch in the order in which equal loads prefer them, each with what a
// route through it costs. What operators say about ports (scatter, search order, ignored ports,
// link capacity) ends up here; choosing among exits is spread's.
#pragma once

#include <vector>

#include "libdiag/route/engine.h"

namespace ib::route {

/// What a route through each arc costs; 0: its load is not counted.
std::vector<std::uint32_t> route_costs(const Request& request);

struct Exit {
  fabric::SwitchIndex to{};
  std::uint32_t cost{1};  // route_costs()
  std::uint8_t port{};
};

struct Exits {
  explicit Exits(const Request& request);

  std::span<const Exit> of(const fabric::CompactGraph& graph, fabric::SwitchIndex s) const {
    return {all.data() + graph.arc_index(s, 0), graph.arcs(s).size()};
  }

  std::vector<Exit> all;           // by arc_index(s, rank), the preferred first
  std::vector<std::uint32_t> arc;  // arc_index of all[i]
};

}  // namespace ib::route
