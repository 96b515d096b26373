// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A torus with routes of updn that stand, to be held against fresh ones.
#pragma once

#include "libdiag/fabric/generate.h"
#include "sm/plan/fresh.h"

namespace sm::test {

inline plan::FreshRequest fresh_request(const char* engine, std::uint64_t held_load) {
  auto observed = std::make_shared<ib::discover::Observed>();
  observed->fabric = ib::fabric::generate(ib::fabric::Grid{{4, 4}, true, 2}).value();
  const auto& fabric = observed->fabric;
  const ib::fabric::CompactGraph graph(fabric);
  auto desired = std::make_shared<plan::Desired>();
  desired->node_managed.assign(fabric.nodes().size(), true);
  for (const auto& d : graph.destinations())
    desired->lids.push_back({d.end_port, fabric.port(d.end_port).guid, d.lid, 0});
  auto routes = ib::route::find_engine("updn")->compute({&fabric, &graph, {}, nullptr, 1}).value();
  desired->routing = std::make_shared<const Routing>(
      Routing{graph, std::move(routes.lfts), routes.engine, {}, routes.multicast});
  plan::FreshRequest request;
  request.observed = std::move(observed);
  request.desired = std::move(desired);
  request.engine = ib::route::find_engine(engine);
  request.checks.credit_loops_are_must = true;
  request.held_load = held_load;
  return request;
}

}  // namespace sm::test
