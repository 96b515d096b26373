// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SL2VL and VL arbitration of a tree of 1,620 switches and 11,664 hosts, planned as the operator's
// sets say, and for levels of service on routes that use several VLs.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/engine.h"
#include "sm/plan/vl_tables.h"

namespace sm {
namespace {

using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

constexpr std::uint8_t kEightVls = 4;  // the code

ib::discover::Observed tree() {
  ib::fabric::FatTree tree;
  tree.radix = 36;
  tree.levels = 3;
  auto fabric = ib::fabric::generate(tree);
  if (!fabric) std::abort();
  ib::discover::Observed observed;
  observed.fabric = *std::move(fabric);
  return observed;
}

/// As a sweep sees it, as far as these tables go by it; and what is wanted of its ports.
struct Subnet {
  ib::discover::Observed observed = tree();
  std::vector<plan::PortWant> ports;
  Routing routing{ib::fabric::CompactGraph(observed.fabric), {}, {}};

  Subnet() {
    const auto& f = observed.fabric;
    observed.ports.resize(f.port_count());
    ports.resize(f.port_count());
    for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
      auto& node = observed.nodes.emplace_back();
      if (f.node(n).is_switch()) {
        node.switch_info.emplace();
        node.switch_info->enhanced_port0 = true;
      }
      for (unsigned p = f.node(n).is_switch() ? 0 : 1; p <= f.node(n).num_ports; ++p)
        see({n, static_cast<std::uint8_t>(p)});
    }
  }

 private:
  void see(PortRef port) {
    ib::wire::PortInfo info;
    info.capability_mask = ib::wire::port_cap::kSlMapping;
    info.vl_cap = kEightVls;
    info.vl_arbitration_low_cap = info.vl_arbitration_high_cap = 64;
    info.port_state = ib::wire::PortState::Active;
    std::array<std::byte, 64> bytes{};
    ib::wire::encode(info, bytes.data());
    observed.update_port(port, bytes.data(), info);
    plan::PortWant& want = ports[observed.port_index(port)];
    want.managed = want.activate = static_cast<bool>(observed.fabric.port(port).peer);
    want.operational_vls = kEightVls;
  }
};

policy::VlSettingsByKind settings() {
  policy::QosSets sets;
  policy::VlArbitrationTemplate longest;
  for (unsigned i = 0; i < 64; ++i)
    longest.push_back({static_cast<std::uint8_t>(i % 8), static_cast<std::uint8_t>(64 + i)});
  sets[0].vlarb_low = sets[0].vlarb_high = longest;
  sets[static_cast<std::size_t>(policy::QosKind::Ca)].sl_to_vl = {0, 0, 1, 1, 2, 2, 3, 3};
  return policy::all_settings(sets);
}

void BM_PlanBySets(benchmark::State& state) {
  const Subnet subnet;
  const auto by_kind = settings();
  for (auto _ : state)
    benchmark::DoNotOptimize(
        plan::plan_vl_tables(subnet.observed, subnet.ports, subnet.routing, &by_kind));
}
BENCHMARK(BM_PlanBySets)->Unit(benchmark::kMillisecond);

void BM_PlanWithFourClasses(benchmark::State& state) {
  Subnet subnet;
  const auto by_kind = settings();
  ib::route::Routes routes;
  routes.vls_used = 2;
  const auto switches = subnet.routing.graph.switch_count();
  routes.virtual_lanes.sls = ib::tables::PathSls(switches, ib::Sl{0});
  routes.virtual_lanes.sls.set(0, 1, ib::Sl{1});
  // Rows by the ports that packets come in and go out by.
  routes.virtual_lanes.sl_to_vl =
      ib::tables::SlToVl(subnet.routing.graph, ib::tables::SlToVlRow::modulo(2));
  routes.virtual_lanes.sl_to_vl.set(0, 1, 2, ib::tables::SlToVlRow::modulo(1));
  const plan::ServiceClasses classes{0b1, 0b10, 0b100, 0b1000};
  const auto class_mapping =
      plan::map_classes(routes, switches, classes, policy::kDefaultSlToVl, 8);
  if (!class_mapping) std::abort();
  subnet.routing.virtual_lanes = class_mapping->virtual_lanes;
  const plan::VlClasses of_classes{classes, &*class_mapping};
  for (auto _ : state)
    benchmark::DoNotOptimize(
        plan::plan_vl_tables(subnet.observed, subnet.ports, subnet.routing, &by_kind, &of_classes));
}
BENCHMARK(BM_PlanWithFourClasses)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sm

BENCHMARK_MAIN();
