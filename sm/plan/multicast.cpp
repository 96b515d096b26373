// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/multicast.h"

#include <algorithm>

namespace sm::plan {
namespace {

using ib::fabric::Arc;
using ib::fabric::CompactGraph;
using ib::fabric::Fabric;
using ib::fabric::kNoSwitch;
using ib::fabric::PortRef;
using ib::fabric::SwitchIndex;

struct Leaf {
  SwitchIndex at{kNoSwitch};
  std::uint8_t port{};  // 0: the switch itself
};

Leaf leaf_of(const Fabric& fabric, const CompactGraph& graph, ib::Guid guid) {
  const auto port = fabric.find_port_guid(guid);
  if (!port) return {};
  if (fabric.node(port->node).is_switch()) return {graph.switch_of(port->node), 0};
  const PortRef peer = fabric.port(*port).peer;
  if (!peer || !fabric.node(peer.node).is_switch()) return {};
  return {graph.switch_of(peer.node), peer.port};
}

struct Tree {
  std::vector<SwitchIndex> parent;
  std::vector<std::uint8_t> up_port;    // towards the parent
  std::vector<std::uint8_t> down_port;  // of the parent, towards this switch
  std::vector<SwitchIndex> order;       // the root first
};

Tree breadth_first(const CompactGraph& graph, SwitchIndex root) {
  Tree t;
  t.parent.assign(graph.switch_count(), kNoSwitch);
  t.up_port.assign(graph.switch_count(), 0);
  t.down_port.assign(graph.switch_count(), 0);
  t.order.push_back(root);
  t.parent[root] = root;
  for (std::size_t i = 0; i < t.order.size(); ++i) {
    for (const Arc& arc : graph.arcs(t.order[i])) {
      if (t.parent[arc.to] != kNoSwitch) continue;
      t.parent[arc.to] = t.order[i];
      t.up_port[arc.to] = arc.in_port;
      t.down_port[arc.to] = arc.out_port;
      t.order.push_back(arc.to);
    }
  }
  return t;
}

/// A switch near the middle: half way along a longest shortest path (two searches).
SwitchIndex middle(const CompactGraph& graph, SwitchIndex from) {
  const SwitchIndex one_end = breadth_first(graph, from).order.back();
  const Tree t = breadth_first(graph, one_end);
  std::vector<SwitchIndex> path{t.order.back()};
  while (path.back() != one_end) path.push_back(t.parent[path.back()]);
  return path[path.size() / 2];
}

}  // namespace

std::map<SwitchIndex, ib::routes::PortMask> multicast_tree(const Fabric& fabric,
                                                           const CompactGraph& graph,
                                                           const MlidGroup& group) {
  std::map<SwitchIndex, ib::routes::PortMask> masks;
  std::vector<Leaf> receivers, senders;
  for (const ib::Guid guid : group.receivers)
    if (const Leaf l = leaf_of(fabric, graph, guid); l.at != kNoSwitch) receivers.push_back(l);
  for (const ib::Guid guid : group.senders)
    if (const Leaf l = leaf_of(fabric, graph, guid); l.at != kNoSwitch) senders.push_back(l);
  if (receivers.empty()) return masks;

  const Tree tree = breadth_first(graph, middle(graph, receivers.front().at));
  std::vector<std::uint32_t> members(graph.switch_count(), 0);
  std::uint32_t total = 0;
  for (const auto* list : {&receivers, &senders}) {
    for (const Leaf& l : *list) {
      if (tree.parent[l.at] == kNoSwitch) continue;  // not connected
      ++members[l.at];
      ++total;
    }
  }
  for (const Leaf& l : receivers)
    if (tree.parent[l.at] != kNoSwitch) masks[l.at].set(l.port);
  // From the far ends inwards: an edge belongs to the tree when members are on both sides of it.
  for (auto it = tree.order.rbegin(); it != tree.order.rend(); ++it) {
    const SwitchIndex s = *it;
    const SwitchIndex up = tree.parent[s];
    if (up == s || members[s] == 0) continue;
    members[up] += members[s];
    if (members[s] == total) continue;  // everybody is below: the tree ends here
    masks[s].set(tree.up_port[s]);
    masks[up].set(tree.down_port[s]);
  }
  return masks;
}

}  // namespace sm::plan
