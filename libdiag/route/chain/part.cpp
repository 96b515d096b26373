// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/chain/part.h"

#include <algorithm>

#include "libdiag/fabric/node_order.h"

namespace ib::route {
namespace {

using fabric::CompactGraph;
using fabric::Fabric;
using fabric::NodeIndex;
using fabric::PortBits;
using fabric::SwitchIndex;

/// GUIDs of what is connected and no host: aggregation nodes, and what the operator listed.
std::vector<Guid> guids_without_host(const Fabric& fabric, const CompactGraph& graph) {
  std::vector<Guid> guids;
  for (const auto& d : graph.destinations()) {
    if (d.is_switch() || d.is_host) continue;
    const Guid own = fabric.port(d.end_port).guid;
    guids.push_back(own.value != 0 ? own : fabric.node(d.end_port.node).guid);
  }
  return guids;
}

}  // namespace

const ChainTopology* Chain::topology_of(const ChainStep& step) const {
  const auto at = std::ranges::find(topologies, step.topology, &ChainTopology::id);
  return at == topologies.end() ? nullptr : &*at;
}

tables::LinearTables ChainPart::part_of(const tables::LinearTables& tables) const {
  tables::LinearTables out(whole.size(), graph.max_lid());
  for (SwitchIndex s = 0; s < whole.size() && whole[s] < tables.switch_count(); ++s)
    for (const auto& d : graph.destinations()) out.set(s, d.lid, tables.at(whole[s], d.lid));
  return out;
}

ChainPart chain_part(const Fabric& fabric, const CompactGraph& graph,
                     const fabric::PortGroups& groups, const ChainTopology& topology) {
  std::vector<NodeIndex> kept;
  std::vector<PortBits> ports;  // in the topology, by place in `kept`
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& group = fabric.node(n).is_switch() ? topology.switches : topology.hosts;
    const PortBits in = groups.ports_of(group, grouped_node(fabric, n));
    if (in.none()) continue;
    kept.push_back(n);
    ports.push_back(in);
  }
  Fabric part = with_nodes_in(fabric, kept);
  for (NodeIndex n = 0; n < kept.size(); ++n) {
    const bool is_switch = part.node(n).is_switch();
    for (unsigned p = 1; p <= part.node(n).num_ports; ++p) {
      const auto peer = part.port(n, p).peer;
      // A cable to a host is its host's.
      const bool is_cut =
          peer && !ports[n].test(p) && (!is_switch || part.node(peer.node).is_switch());
      if (is_cut) part.disconnect({n, static_cast<std::uint8_t>(p)});
    }
  }
  part.reindex();
  CompactGraph of_part(part, guids_without_host(fabric, graph));
  std::vector<SwitchIndex> whole;
  for (SwitchIndex s = 0; s < of_part.switch_count(); ++s)
    whole.push_back(graph.switch_of(kept[of_part.node_of(s)]));
  return {std::move(part), std::move(of_part), std::move(whole)};
}

}  // namespace ib::route
