// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routing: computed or programmed routes with the graph that gives their switch indexes a meaning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libdiag/route/engine.h"
#include "sm/policy/dropped_levels.h"

namespace sm {

/// Routes as programmed, with the graph whose switch indexes they use.
struct Routing {
  ib::fabric::CompactGraph graph;
  ib::tables::LinearTables lfts;
  std::string engine;
  ib::tables::VirtualLanes virtual_lanes{};
  ib::route::MulticastRule multicast{};
  /// The SLs of pairs as the engine has them, where classes of levels of service have others.
  std::optional<ib::tables::PathSls> engine_sls{};
  /// Which levels of service share VLs for want of them, in one sentence; empty: none does.
  std::string merged_levels{};
  /// Why an engine was left for one that needs one VL, in one sentence; empty: none was.
  std::string left_for_one_vl{};
  /// What the operator's mapping drops, where routes use one VL. (Else `virtual_lanes` says.)
  policy::DroppedSls dropped_sls{};
  /// Engines that were asked before `engine`, and whose routes cannot be used.
  std::vector<std::string> failed{};
  /// The routes of before followed what changed; false: all were computed.
  bool followed{false};
};

/// The switch that `port` hangs from, or belongs to; kNoSwitch when there is none.
inline ib::fabric::SwitchIndex leaf_of(const ib::fabric::Fabric& fabric,
                                       const ib::fabric::CompactGraph& graph,
                                       ib::fabric::PortRef port) {
  if (fabric.node(port.node).is_switch()) return graph.switch_of(port.node);
  const auto peer = fabric.port(port).peer;
  return peer ? graph.switch_of(peer.node) : ib::fabric::kNoSwitch;
}

/// The SL of the path from one end port to another. 0 where no switch is between them.
inline ib::Sl path_sl(const ib::fabric::Fabric& fabric, const Routing& routing,
                      ib::fabric::PortRef from, ib::fabric::PortRef to) {
  const auto a = leaf_of(fabric, routing.graph, from), b = leaf_of(fabric, routing.graph, to);
  if (a == ib::fabric::kNoSwitch || b == ib::fabric::kNoSwitch) return {};
  return routing.virtual_lanes.sls.at(a, b);
}

}  // namespace sm
