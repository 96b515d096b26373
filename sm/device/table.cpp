// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/device/table.h"

#include <algorithm>

namespace sm::device {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;

std::optional<ib::mad::DirectedRoute> route_to(const Observed& observed, NodeIndex node,
                                               const TableKind& kind, Slot slot) {
  const auto& seen = observed.nodes[node];
  const bool any_way = kind.scope == Scope::Node || observed.fabric.node(node).is_switch();
  if (any_way || slot.port == seen.info.local_port_num.value) return seen.route;
  const PortRef peer = observed.fabric.port(PortRef{node, slot.port}).peer;
  if (!peer || !observed.fabric.node(peer.node).is_switch()) return std::nullopt;
  return observed.nodes[peer.node].route.extended(peer.port);
}

bool means_the_same(const TableKind& kind, const Observed& observed, NodeIndex node, Slot slot,
                    const Block& a, const Block& b) {
  return a == b || (kind.same != nullptr && kind.same(observed, node, slot, a, b));
}

Block block_of(const TableKind& kind, const std::byte* data) {
  Block block{};
  std::copy_n(data, kind.bytes, block.begin());
  return block;
}

}  // namespace sm::device
