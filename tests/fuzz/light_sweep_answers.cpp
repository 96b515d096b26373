// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Devices that answer a light sweep with anything: it comes to its end after a few questions to
// each switch, and names places that there are.
#include "sm/core/light_sweep.h"
#include "tests/fuzz/swept_answers.h"

namespace {

using ib::fuzz::require;

constexpr std::size_t kMost = 1000;

const ib::discover::Observed& in_order() {
  static const auto made = [] {
    ib::discover::Sweep whole;
    ib::fuzz::SweptDevices().serve(whole, nullptr, kMost);
    return whole.take_observed();
  }();
  return made;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ib::fuzz::Input in(data, size);
  ib::fuzz::SweptDevices devices;
  auto seen = in_order();
  const auto& f = seen.fabric;
  for (unsigned n = in.byte() % 4U; n > 0; --n) {
    const auto node = static_cast<ib::fabric::NodeIndex>(in.byte() % f.nodes().size());
    ib::discover::Trouble trouble;
    trouble.kind = static_cast<ib::discover::Trouble::Kind>(in.byte() % 6);
    trouble.node_guid = in.byte() % 2 == 0 ? f.node(node).guid : ib::Guid{};
    trouble.behind = {node, static_cast<std::uint8_t>(1 + in.byte() % f.node(node).num_ports)};
    trouble.route = seen.nodes[node].route;
    seen.troubles.push_back(trouble);
  }
  std::vector<bool> managed(f.nodes().size());
  for (std::size_t n = 0; n < managed.size(); ++n) managed[n] = in.byte() % 8 != 7;
  std::vector<ib::Guid> kept;
  if (const std::uint8_t who = in.byte(); who % 2 == 1)
    kept.push_back(f.node(static_cast<ib::fabric::NodeIndex>(who / 2 % f.nodes().size())).guid);
  std::set<ib::Guid> silent;
  const sm::core::Flapping flapping;
  sm::core::PortStates states;
  for (int round = 0; round < 2; ++round) {
    sm::core::LightSweep sweep(seen, managed, silent, kept, flapping, states, 0);
    devices.serve(sweep, &in, kMost);
    for (const auto& place : sweep.places())
      require(f.find_node(place.node).has_value(), "a place is a node that is known");
    for (const ib::Guid guid : sweep.unchanged())
      require(f.find_node(guid).has_value(), "who is unchanged is known");
    for (const auto* lines : {&sweep.changes(), &sweep.notes()})
      for (const auto& line : *lines) require(ib::printable(line) == line, "a line");
    silent = sweep.silent();
  }
  return 0;
}
