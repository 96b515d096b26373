// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/discover/observed.h"

#include <utility>

#include "libdiag/fabric/node_order.h"

namespace ib::discover {

std::string_view trouble_name(Trouble::Kind kind) {
  switch (kind) {
    case Trouble::Kind::Silent:
      return "silent";
    case Trouble::Kind::Refused:
      return "refused";
    case Trouble::Kind::Garbage:
      return "garbage";
    case Trouble::Kind::DuplicateGuid:
      return "duplicate GUID";
    case Trouble::Kind::Moved:
      return "moved";
    case Trouble::Kind::TooFar:
      return "too far";
  }
  return "trouble";
}

wire::PortInfo ObservedPort::info() const { return wire::decode<wire::PortInfo>(bytes.data()); }

void Observed::update_port(fabric::PortRef p, const std::byte* answer, const wire::PortInfo& info) {
  ObservedPort& seen = port(p);
  std::copy_n(answer, seen.bytes.size(), seen.bytes.begin());
  seen.known = true;
  fabric::Port& out = fabric.port(p);
  out.present = true;
  out.state = info.port_state;
  out.phys_state = info.port_physical_state;
  out.width = wire::active_width(info);
  out.speed = wire::active_speed(info, seen.fdr10);
  out.vl_cap = info.vl_cap;
  out.mtu_cap = info.mtu_cap;
  const bool end_port = !fabric.node(p.node).is_switch() || p.port == 0;
  if (end_port) {
    out.lid = info.lid.is_unicast() ? info.lid : kNoLid;
    out.lmc = info.lmc;
  }
}

std::vector<Guid> special_nodes(const Observed& observed) {
  std::vector<Guid> nodes;
  for (fabric::NodeIndex n = 0; n < observed.fabric.nodes().size(); ++n)
    for (unsigned p = 1; p <= observed.fabric.node(n).num_ports; ++p) {
      const fabric::PortRef at{n, static_cast<std::uint8_t>(p)};
      const fabric::PortRef peer = observed.fabric.port(at).peer;
      if (peer && observed.port(at).special != SpecialPort::None)
        nodes.push_back(observed.fabric.node(peer.node).guid);
    }
  std::ranges::sort(nodes);
  return nodes;
}

void sort_nodes(Observed& observed) {
  keep_nodes(observed, fabric::nodes_by_guid(observed.fabric));
}

void keep_nodes(Observed& observed, const std::vector<fabric::NodeIndex>& order) {
  using fabric::NodeIndex;
  using fabric::PortRef;
  std::vector<NodeIndex> place(observed.nodes.size(), fabric::kNoNode);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<NodeIndex>(i);
  const auto moved = [&](PortRef p) {
    return p && place[p.node] != fabric::kNoNode ? PortRef{place[p.node], p.port} : PortRef{};
  };

  // Part for part, so that not everything is there twice.
  std::vector<ObservedPort> ports;
  ports.reserve(observed.ports.size());
  for (const NodeIndex old : order)
    for (unsigned p = 0; p <= observed.fabric.node(old).num_ports; ++p)
      ports.push_back(observed.port({old, static_cast<std::uint8_t>(p)}));
  observed.ports = std::move(ports);
  std::vector<ObservedNode> nodes;
  nodes.reserve(order.size());
  for (const NodeIndex old : order) nodes.push_back(std::move(observed.nodes[old]));
  observed.nodes = std::move(nodes);
  observed.fabric = fabric::with_nodes_in(observed.fabric, order);
  for (Trouble& t : observed.troubles) t.behind = moved(t.behind);
  observed.local_port = moved(observed.local_port);
}

}  // namespace ib::discover
