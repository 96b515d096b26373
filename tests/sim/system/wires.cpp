// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/sim/system/wires.h"

namespace soak {

Wires::Wires(const ib::sim::Model& model) {
  const auto& fabric = model.topology();
  const auto count = static_cast<NodeIndex>(fabric.nodes().size());
  first_.reserve(count + std::size_t{1});
  ends_.reserve(fabric.port_count());
  for (NodeIndex n = 0; n < count; ++n) {
    first_.push_back(ends_.size());
    is_switch_.push_back(fabric.node(n).is_switch());
    for (unsigned p = 0; p <= fabric.node(n).num_ports; ++p) {
      End& end = ends_.emplace_back();
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const PortRef peer = fabric.port(at).peer;
      if (!peer) continue;
      const auto info = model.port_info(at);
      if (info.port_physical_state != ib::wire::PhysState::LinkUp) continue;
      end = {peer, info.port_state == ib::wire::PortState::Active};
    }
  }
  first_.push_back(ends_.size());
  join();
}

void Wires::join() {
  constexpr unsigned kNone = ~0U;
  component_.assign(is_switch_.size(), kNone);
  unsigned number = 0;
  std::vector<NodeIndex> next;
  for (NodeIndex n = 0; n < component_.size(); ++n) {
    if (component_[n] != kNone) continue;
    component_[n] = number;
    next.push_back(n);
    while (!next.empty()) {
      const NodeIndex here = next.back();
      next.pop_back();
      // Nothing passes through a host of several ports.
      for (unsigned p = 1; p <= ports(here); ++p) {
        const PortRef peer = end({here, static_cast<std::uint8_t>(p)}).peer;
        if (!peer || component_[peer.node] != kNone) continue;
        component_[peer.node] = number;
        if (is_switch_[peer.node] || is_switch_[here]) next.push_back(peer.node);
      }
    }
    ++number;
  }
}

std::vector<PortRef> Wires::end_ports() const {
  std::vector<PortRef> out;
  for (NodeIndex n = 0; n < nodes(); ++n) {
    if (is_switch_[n]) {
      out.push_back({n, 0});
      continue;
    }
    for (unsigned p = 1; p <= ports(n); ++p)
      if (const PortRef at{n, static_cast<std::uint8_t>(p)}; end(at).peer) out.push_back(at);
  }
  return out;
}

}  // namespace soak
