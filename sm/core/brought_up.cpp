// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/brought_up.h"

#include <algorithm>

namespace sm::core {

using ib::Guid;
using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::PortState;

void BroughtUp::on_apply(const Observed& seen,
                         const std::vector<ib::route::LidAssignment>& desired) {
  for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
    const auto& node = seen.fabric.node(n);
    if (node.is_switch()) continue;
    for (unsigned p = 1; p <= node.num_ports; ++p) {
      const PortRef at{n, static_cast<std::uint8_t>(p)}, near = seen.fabric.port(at).peer;
      if (!near || !seen.fabric.node(near.node).is_switch()) continue;
      const auto is_to_rise = [&](PortRef end) {
        const auto state = seen.port(end).state();
        return state == PortState::Initialize || state == PortState::Armed;
      };
      if (is_to_rise(at) || is_to_rise(near))
        nodes_.emplace(seen.fabric.node(near.node).guid, node.guid);
    }
  }
  for (const ib::route::LidAssignment& a : desired) {
    const auto& node = seen.fabric.node(a.port.node);
    const auto* port = seen.known_port(a.port);
    if (node.is_switch() && port != nullptr && port->get<&ib::wire::PortInfo::lid>() != a.lid)
      nodes_.emplace(node.guid, node.guid);
  }
}

std::set<Guid> BroughtUp::doubtful(const Observed& found, const std::vector<Guid>& switches) {
  std::set<Guid> doubted;
  for (const Guid guid : switches) {
    const auto n = found.fabric.find_node(guid);
    const auto first = nodes_.lower_bound({guid, Guid{}});
    auto last = first;
    for (; last != nodes_.end() && last->first == guid; ++last)
      if (n && found.nodes[*n].changed) doubted.insert(last->second);
    nodes_.erase(first, last);
  }
  return doubted;
}

bool BroughtUp::has(Guid node) const {
  return std::ranges::any_of(nodes_, [&](const auto& entry) { return entry.second == node; });
}

void BroughtUp::on_unchanged(Guid switch_guid) {
  nodes_.erase(nodes_.lower_bound({switch_guid, Guid{}}),
               nodes_.upper_bound({switch_guid, Guid{UINT64_MAX}}));
}

}  // namespace sm::core
