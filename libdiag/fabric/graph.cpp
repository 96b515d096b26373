// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/graph.h"

#include <algorithm>
#include <unordered_set>

#include "libdiag/fabric/aggregation_node.h"

namespace ib::fabric {
namespace {

bool carries_traffic(const Fabric& fabric, const Port& port) {
  return port.peer && port.state != wire::PortState::Down &&
         fabric.port(port.peer).state != wire::PortState::Down;
}

}  // namespace

CompactGraph::CompactGraph(const Fabric& fabric, std::span<const Guid> no_hosts) {
  const auto nodes = fabric.nodes();
  const std::unordered_set<Guid> listed(no_hosts.begin(), no_hosts.end());
  const auto has_host = [&](PortRef end) {
    return !is_aggregation_node(nodes[end.node]) &&
           (listed.empty() ||
            (!listed.contains(nodes[end.node].guid) && !listed.contains(fabric.port(end).guid)));
  };
  switch_of_.assign(nodes.size(), kNoSwitch);
  for (NodeIndex n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].is_switch()) continue;
    switch_of_[n] = static_cast<SwitchIndex>(node_of_.size());
    node_of_.push_back(n);
    num_ports_.push_back(nodes[n].num_ports);
    guid_.push_back(nodes[n].guid);
    max_ports_ = std::max<unsigned>(max_ports_, nodes[n].num_ports);
  }
  attached_.assign(node_of_.size(), 0);
  end_ports_.assign(node_of_.size(), 0);
  first_arc_.reserve(node_of_.size() + 1);

  // By LID, so that destinations come out ascending and the first owner of a doubled LID keeps it.
  std::vector<Destination> by_lid;
  const auto add_destination = [&](PortRef end, SwitchIndex leaf, std::uint8_t leaf_port,
                                   bool is_host) {
    const Port& p = fabric.port(end);
    if (!p.lid.is_unicast()) return;
    const std::size_t lids_end = std::min<std::size_t>(
        p.lid.value + (std::size_t{1} << (p.lmc & 7U)), kLidUnicastMax.value + std::size_t{1});
    if (by_lid.size() < lids_end) by_lid.resize(lids_end);
    for (std::size_t lid = p.lid.value; lid < lids_end; ++lid) {
      if (by_lid[lid].leaf != kNoSwitch) continue;
      by_lid[lid] = {Lid{static_cast<std::uint16_t>(lid)}, leaf, leaf_port, end, is_host};
    }
  };

  for (SwitchIndex s = 0; s < node_of_.size(); ++s) {
    first_arc_.push_back(arcs_.size());
    const NodeIndex n = node_of_[s];
    add_destination({n, 0}, s, 0, false);
    for (unsigned out = 1; out <= num_ports_[s]; ++out) {
      const Port& port = fabric.port(n, out);
      if (!carries_traffic(fabric, port) || port.peer.node == n) continue;
      const auto out_port = static_cast<std::uint8_t>(out);
      const SwitchIndex far = switch_of_[port.peer.node];
      if (far != kNoSwitch) {
        arcs_.push_back({far, out_port, port.peer.port});
      } else {
        const bool is_host = has_host(port.peer);
        attached_[s] += is_host ? 1 : 0;
        ++end_ports_[s];
        add_destination(port.peer, s, out_port, is_host);
      }
    }
  }
  first_arc_.push_back(arcs_.size());

  std::copy_if(by_lid.begin(), by_lid.end(), std::back_inserter(destinations_),
               [](const Destination& d) { return d.leaf != kNoSwitch; });
  if (!destinations_.empty()) max_lid_ = destinations_.back().lid;
}

Pieces pieces_of(const CompactGraph& graph) {
  Pieces pieces;
  pieces.of.assign(graph.switch_count(), kNoSwitch);
  std::vector<SwitchIndex> queue;
  for (SwitchIndex start = 0; start < graph.switch_count(); ++start) {
    if (pieces.of[start] != kNoSwitch) continue;
    pieces.of[start] = pieces.count;
    queue.assign(1, start);
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const Arc& arc : graph.arcs(queue[i]))
        if (pieces.of[arc.to] == kNoSwitch) {
          pieces.of[arc.to] = pieces.count;
          queue.push_back(arc.to);
        }
    ++pieces.count;
  }
  return pieces;
}

}  // namespace ib::fabric
