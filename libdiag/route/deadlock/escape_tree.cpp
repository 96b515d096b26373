// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/escape_tree.h"

#include <algorithm>
#include <numeric>

#include "libdiag/tables/least_hops.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Hops from each switch to every CA, added up; only those of its own component.
std::vector<std::uint64_t> distances(const fabric::CompactGraph& graph, const Targets& targets) {
  std::vector<std::uint64_t> sum(graph.switch_count(), 0);
  for (std::size_t i = 0; i < targets.batch_count(); ++i) {
    std::vector<SwitchIndex> leaves;
    std::array<std::uint32_t, tables::kTargetsPerBatch> weight{};
    for (const Target& target : targets.batch(i)) {
      weight[leaves.size()] = targets.sources(target.leaf);
      leaves.push_back(target.leaf);
    }
    const auto hops = tables::least_hops(graph, leaves);
    for (std::size_t level = 1; level < hops.at.size(); ++level)
      for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        for (std::uint64_t bits = hops.at[level][s]; bits != 0; bits &= bits - 1)
          sum[s] += level * weight[static_cast<std::size_t>(std::countr_zero(bits))];
  }
  return sum;
}

}  // namespace

std::vector<SwitchIndex> EscapeTree::path(SwitchIndex from, SwitchIndex to) const {
  std::vector<SwitchIndex> up{from}, down{to};
  while (up.back() != down.back()) {
    auto& deeper = depth[up.back()] >= depth[down.back()] ? up : down;
    deeper.push_back(parent[deeper.back()]);
  }
  up.insert(up.end(), down.rbegin() + 1, down.rend());
  return up;
}

std::vector<std::array<SwitchIndex, 3>> EscapeTree::turns() const {
  std::vector<std::vector<SwitchIndex>> joined(parent.size());
  for (SwitchIndex s = 0; s < parent.size(); ++s)
    if (parent[s] != fabric::kNoSwitch && needed[s]) {
      joined[s].push_back(parent[s]);
      joined[parent[s]].push_back(s);
    }
  std::vector<std::array<SwitchIndex, 3>> turns;
  for (SwitchIndex via = 0; via < parent.size(); ++via)
    for (const SwitchIndex from : joined[via])
      for (const SwitchIndex to : joined[via])
        if (from != to) turns.push_back({from, via, to});
  return turns;
}

EscapeTree find_escape_tree(const fabric::CompactGraph& graph, const Targets& targets) {
  const std::size_t switches = graph.switch_count();
  const auto sum = distances(graph, targets);
  std::vector<SwitchIndex> centre(switches);
  std::iota(centre.begin(), centre.end(), SwitchIndex{0});
  std::sort(centre.begin(), centre.end(), [&](SwitchIndex a, SwitchIndex b) {
    return std::tuple(sum[a], graph.guid(a)) < std::tuple(sum[b], graph.guid(b));
  });
  EscapeTree tree;
  tree.parent.assign(switches, fabric::kNoSwitch);
  tree.depth.assign(switches, 0);
  tree.component.assign(switches, 0);
  tree.number.assign(switches, 0);
  tree.needed.assign(switches, false);
  std::vector<bool> met(switches, false);
  std::vector<SwitchIndex> order;
  std::uint32_t components = 0;
  for (const SwitchIndex root : centre) {
    if (met[root]) continue;
    std::size_t next = order.size();
    met[root] = true;
    order.push_back(root);
    for (; next < order.size(); ++next) {
      const SwitchIndex s = order[next];
      tree.component[s] = components;
      for (const auto& arc : graph.arcs(s))
        if (!met[arc.to]) {
          met[arc.to] = true;
          tree.parent[arc.to] = s;
          tree.depth[arc.to] = tree.depth[s] + 1;
          order.push_back(arc.to);
        }
    }
    ++components;
  }
  for (std::size_t i = order.size(); i-- > 0;) {
    const SwitchIndex s = order[i];
    tree.number[s] = static_cast<std::uint32_t>(i);
    if (graph.end_ports()[s] != 0) tree.needed[s] = true;
    if (tree.needed[s] && tree.parent[s] != fabric::kNoSwitch) tree.needed[tree.parent[s]] = true;
  }
  return tree;
}

}  // namespace ib::route
