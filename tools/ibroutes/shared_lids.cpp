// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibroutes/shared_lids.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "libdiag/tables/names.h"

namespace ib::tools {

using fabric::Fabric;
using fabric::NodeIndex;
using fabric::PortRef;

std::vector<SharedLid> shared_lids(const Fabric& fabric) {
  std::map<Lid, std::vector<PortRef>> shared;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    const unsigned last = node.is_switch() ? 0 : node.num_ports;
    for (unsigned p = node.is_switch() ? 0 : 1; p <= last; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)};
      const auto& port = fabric.port(at);
      if (!port.lid.is_unicast()) continue;
      for (unsigned i = 0; i < 1U << port.lmc; ++i) {
        const Lid lid{static_cast<std::uint16_t>(port.lid.value + i)};
        const auto first = fabric.find_lid(lid);
        if (!first || *first == at) continue;
        auto& ports = shared[lid];
        if (ports.empty()) ports.push_back(*first);
        ports.push_back(at);
      }
    }
  }
  std::vector<SharedLid> all;
  all.reserve(shared.size());
  for (auto& [lid, ports] : shared) all.push_back({lid, std::move(ports)});
  return all;
}

bool has_lid(const Fabric& fabric, PortRef at, Lid lid) {
  const auto& end = fabric.port(end_port_of(fabric, at));
  return end.lid.is_unicast() && lid >= end.lid && lid.value < end.lid.value + (1U << end.lmc);
}

std::string end_port_name(const Fabric& fabric, PortRef at) {
  const std::string node = tables::node_name(fabric, at.node);
  return fabric.node(at.node).is_switch() ? node : fmt::format("{} port {}", node, at.port);
}

std::string shared_lid_text(const Fabric& fabric, const SharedLid& shared) {
  constexpr std::size_t kListed = 8;
  std::string text =
      fmt::format("duplicate LID {}: assigned to {} ports:", shared.lid.value, shared.ports.size());
  for (std::size_t i = 0; i < std::min(shared.ports.size(), kListed); ++i)
    text += (i == 0 ? " " : ", ") + end_port_name(fabric, shared.ports[i]);
  if (shared.ports.size() > kListed) text += ", ...";
  return text;
}

}  // namespace ib::tools
