// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The subnet of the figures: a fat tree of 11,664 hosts and 1,620 switches, routed by updn.
#pragma once

#include <memory>

#include "libdiag/route/engine.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace sm::sa::test {

/// Made once; the tests of one program share it.
inline const std::shared_ptr<Snapshot>& large_subnet() {
  static const std::shared_ptr<Snapshot> kSubnet = [] {
    ib::fabric::FatTree tree;
    tree.levels = 3;
    tree.radix = 36;
    auto made = snapshot_of(*ib::fabric::generate(tree), [](const ib::fabric::CompactGraph& graph) {
      return ib::routes::LinearTables(graph.switch_count(), graph.max_lid());
    });
    ib::fabric::CompactGraph graph(made->fabric());
    ib::route::Request request;
    request.fabric = &made->fabric();
    request.graph = &graph;
    auto routes = ib::route::find_engine("updn")->compute(request);
    made->routing = std::make_shared<Routing>(
        Routing{std::move(graph), std::move(routes->lfts), "updn", std::move(routes->lanes), {}});
    return made;
  }();
  return kSubnet;
}

}  // namespace sm::sa::test
