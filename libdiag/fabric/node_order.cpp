// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/node_order.h"

#include <algorithm>
#include <numeric>

namespace ib::fabric {

std::vector<NodeIndex> nodes_by_guid(const Fabric& fabric) {
  std::vector<NodeIndex> order(fabric.nodes().size());
  std::iota(order.begin(), order.end(), NodeIndex{0});
  std::ranges::stable_sort(order, {}, [&](NodeIndex n) { return fabric.node(n).guid; });
  return order;
}

Fabric with_nodes_in(const Fabric& fabric, std::span<const NodeIndex> order) {
  std::vector<NodeIndex> place(fabric.nodes().size(), kNoNode);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<NodeIndex>(i);
  Fabric moved;
  moved.reserve(fabric.nodes().size(), fabric.port_count());
  for (const NodeIndex old : order) {
    const NodeIndex n = moved.add_node(fabric.node(old));
    for (unsigned p = 0; p <= fabric.node(old).num_ports; ++p) {
      Port& port = moved.port(n, p) = fabric.port(old, p);
      if (!port.peer) continue;
      port.peer.node = place[port.peer.node];
      if (!port.peer) port.peer = {};
    }
  }
  moved.initiated_from_node = fabric.initiated_from_node;
  moved.initiated_from_port = fabric.initiated_from_port;
  moved.reindex();
  return moved;
}

Fabric sorted_by_guid(const Fabric& fabric) { return with_nodes_in(fabric, nodes_by_guid(fabric)); }

}  // namespace ib::fabric
