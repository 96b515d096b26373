// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The subnet of the figures: a fat tree of 11,664 hosts and 1,620 switches, routed by updn; and
// what a sweep and a reroute make of it.
#pragma once

#include <memory>

#include "libdiag/route/engine.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace sm::sa::test {

inline std::shared_ptr<const Routing> routes_of(const Fabric& fabric, std::uint32_t scatter_seed) {
  ib::fabric::CompactGraph graph(fabric);
  ib::route::Request request;
  request.fabric = &fabric;
  request.graph = &graph;
  request.options.scatter_seed = scatter_seed;
  auto routes = ib::route::find_engine("updn")->compute(request);
  return std::make_shared<Routing>(Routing{
      std::move(graph), std::move(routes->lfts), "updn", std::move(routes->virtual_lanes), {}});
}

/// Made once; the tests of one program share it.
inline const std::shared_ptr<Snapshot>& large_subnet() {
  static const std::shared_ptr<Snapshot> kSubnet = [] {
    ib::fabric::FatTree tree;
    tree.levels = 3;
    tree.radix = 36;
    auto made = snapshot_of(*ib::fabric::generate(tree), [](const ib::fabric::CompactGraph& graph) {
      return ib::tables::LinearTables(graph.switch_count(), graph.max_lid());
    });
    made->routing = routes_of(made->fabric(), 0);
    return made;
  }();
  return kSubnet;
}

/// The same after a sweep has found every fifth cable between switches slow, with other tables in
/// every switch.
inline const std::shared_ptr<Snapshot>& rerouted_subnet() {
  static const std::shared_ptr<Snapshot> kSubnet = [] {
    auto made = std::make_shared<Snapshot>(*large_subnet());
    auto observed = std::make_shared<ib::discover::Observed>(*made->observed);
    auto& fabric = observed->fabric;
    std::size_t cables = 0;
    for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
      for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p) {
        const PortRef at{n, static_cast<std::uint8_t>(p)};
        const PortRef peer = fabric.port(at).peer;
        if (!peer || peer.node < n || !fabric.node(n).is_switch() ||
            !fabric.node(peer.node).is_switch() || ++cables % 5 != 0)
          continue;
        for (const PortRef end : {at, peer}) fabric.port(end).speed = ib::wire::LinkSpeed::Sdr;
      }
    made->observed = std::move(observed);
    made->routing = routes_of(made->fabric(), 3);
    return made;
  }();
  return kSubnet;
}

}  // namespace sm::sa::test
