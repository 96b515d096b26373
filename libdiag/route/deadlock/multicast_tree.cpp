// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/multicast_tree.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "libdiag/tables/least_hops.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Takes away branches on which there is no CA: they would only bind turns.
void prune(const fabric::CompactGraph& graph, const std::vector<SwitchIndex>& order,
           std::vector<SwitchIndex>& parent) {
  std::vector<bool> needed(graph.switch_count(), false);
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    if (graph.end_ports()[*at] != 0) needed[*at] = true;
    if (parent[*at] == fabric::kNoSwitch) continue;
    if (needed[*at])
      needed[parent[*at]] = true;
    else
      parent[*at] = fabric::kNoSwitch;
  }
}

Channel channel(const Channels& channels, SwitchIndex from, SwitchIndex to) {
  for (Channel c = channels.first(from); c < channels.first(from + 1); ++c)
    if (channels.to(c) == to) return c;
  return kNoChannel;
}

}  // namespace

std::vector<SwitchIndex> tree_roots(const fabric::CompactGraph& graph, const Targets& targets) {
  std::vector<std::size_t> farthest(graph.switch_count(), 0);
  std::vector<SwitchIndex> batch;
  const auto all = targets.all();
  for (std::size_t first = 0; first < all.size(); first += tables::kTargetsPerBatch) {
    batch.clear();
    for (const Target& target :
         all.subspan(first, std::min(tables::kTargetsPerBatch, all.size() - first)))
      if (target.columns() != 0) batch.push_back(target.leaf);
    if (batch.empty()) continue;
    const auto hops = tables::least_hops(graph, batch);
    for (std::size_t level = 0; level < hops.at.size(); ++level)
      for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        if (hops.at[level][s] != 0) farthest[s] = std::max(farthest[s], level);
  }
  std::vector<SwitchIndex> order(graph.switch_count());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](SwitchIndex a, SwitchIndex b) {
    return std::tuple(farthest[a], targets.sources(a), graph.guid(a)) <
           std::tuple(farthest[b], targets.sources(b), graph.guid(b));
  });
  return order;
}

std::vector<Turn> multicast_tree(const fabric::CompactGraph& graph, const Turns& turns,
                                 std::vector<SwitchIndex> roots, std::size_t root,
                                 MulticastRule& rule) {
  if (root < roots.size()) std::swap(roots.front(), roots[root]);
  std::vector<SwitchIndex> parent(graph.switch_count(), fabric::kNoSwitch);
  std::vector<std::uint32_t> number(graph.switch_count(), 0);
  std::vector<bool> met(graph.switch_count(), false);
  std::vector<SwitchIndex> order;
  for (const SwitchIndex start : roots) {
    if (met[start]) continue;
    std::size_t next = order.size();
    met[start] = true;
    order.push_back(start);
    for (; next < order.size(); ++next)
      for (const auto& arc : graph.arcs(order[next]))
        if (!met[arc.to]) {
          met[arc.to] = true;
          parent[arc.to] = order[next];
          order.push_back(arc.to);
        }
  }
  for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
  prune(graph, order, parent);

  std::vector<std::vector<SwitchIndex>> neighbours(graph.switch_count());
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    if (parent[s] != fabric::kNoSwitch) {
      neighbours[s].push_back(parent[s]);
      neighbours[parent[s]].push_back(s);
    }
  const Channels& channels = turns.channels();
  std::vector<Turn> taken;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const SwitchIndex from : neighbours[s])
      for (const SwitchIndex to : neighbours[s])
        if (from != to)
          taken.push_back(turns.number(channel(channels, from, s), channel(channels, s, to)));
  rule.up_order = std::move(number);
  rule.parent = std::move(parent);
  return taken;
}

}  // namespace ib::route
