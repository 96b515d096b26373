// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/tree_claim.h"

#include <algorithm>

namespace ib::route {

using fabric::kNoSwitch;
using fabric::SwitchIndex;

TreeClaim::TreeClaim(const fabric::CompactGraph& graph, const MulticastRule& rule) : rule_(rule) {
  std::map<SwitchIndex, Lid> groups;  // by root
  for (SwitchIndex s = 0; s < rule.parent.size(); ++s) {
    if (graph.end_ports()[s] == 0) continue;
    SwitchIndex root = s;
    while (rule.parent[root] != kNoSwitch) root = rule.parent[root];
    const Lid next{static_cast<std::uint16_t>(kLidMulticastMin.value + groups.size())};
    const Lid mlid = groups.emplace(root, next).first->second;
    members_[mlid].push_back(s);
    sls_[mlid] = static_cast<std::uint16_t>(rule.sls | 1U << rule.sl.value);
    auto& tree = trees_[mlid];
    for (SwitchIndex at = s; rule.parent[at] != kNoSwitch; at = rule.parent[at]) {
      const auto arcs = graph.arcs(at);
      const auto up = std::ranges::find(arcs, rule.parent[at], &fabric::Arc::to);
      if (up == arcs.end() || tree[at].test(up->out_port)) break;
      tree[at].set(up->out_port);
      tree[up->to].set(up->in_port);
    }
  }
  // Packets come from where hosts are.
  for (auto& [mlid, leaves] : members_)
    for (const auto& to : graph.destinations())
      if (!to.is_switch() && std::ranges::binary_search(leaves, to.leaf))
        trees_[mlid][to.leaf].set(to.port);
}

tables::MulticastCheck TreeClaim::check() const {
  if (trees_.empty()) return {};
  return {&trees_, rule_.sl, true, &members_, {}, &sls_};
}

}  // namespace ib::route
