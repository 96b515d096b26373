// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/shape/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "libdiag/base/parallel.h"
#include "libdiag/tables/names.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;
constexpr std::uint32_t kUnranked = 0xFFFFFFFF;

std::string name_of(const Request& request, SwitchIndex s) {
  return tables::switch_name(*request.fabric, *request.graph, s);
}

void sort_by_guid(const fabric::CompactGraph& graph, std::vector<SwitchIndex>& switches) {
  std::sort(switches.begin(), switches.end(), [&](auto a, auto b) {
    return std::tuple(graph.guid(a), a) < std::tuple(graph.guid(b), b);
  });
}

/// Ranks that are set stand; all others follow from their neighbours, one more than the least.
void spread_ranks(const fabric::CompactGraph& graph, std::vector<std::uint32_t>& rank) {
  std::vector<std::vector<SwitchIndex>> by_rank;
  const auto put = [&](SwitchIndex s) {
    if (by_rank.size() <= rank[s]) by_rank.resize(rank[s] + std::size_t{1});
    by_rank[rank[s]].push_back(s);
  };
  for (SwitchIndex s = 0; s < rank.size(); ++s)
    if (rank[s] != kUnranked) put(s);
  for (std::size_t r = 0; r < by_rank.size(); ++r)
    for (std::size_t i = 0; i < by_rank[r].size(); ++i)
      for (const auto& arc : graph.arcs(by_rank[r][i]))
        if (rank[arc.to] == kUnranked) {
          rank[arc.to] = static_cast<std::uint32_t>(r + 1);
          put(arc.to);
        }
}

/// The mean distance from a switch to the CAs that are not its own, as a fraction.
struct Mean {
  std::uint64_t sum{}, count{};
  friend bool operator<(const Mean& a, const Mean& b) {
    if (a.count == 0 || b.count == 0) return a.count != 0 && b.count == 0;  // nobody else: far
    return a.sum * b.count < b.sum * a.count;
  }
};

std::vector<Mean> mean_distances(const fabric::CompactGraph& graph) {
  const std::size_t switches = graph.switch_count();
  // A fabric without CAs is judged by its switches.
  std::vector<std::uint32_t> weight(graph.attached().begin(), graph.attached().end());
  if (std::all_of(weight.begin(), weight.end(), [](auto w) { return w == 0; }))
    weight.assign(switches, 1);
  std::vector<SwitchIndex> leaves;
  for (SwitchIndex s = 0; s < switches; ++s)
    if (weight[s] != 0) leaves.push_back(s);

  const std::size_t batches =
      (leaves.size() + tables::kTargetsPerBatch - 1) / tables::kTargetsPerBatch;
  std::vector<std::vector<Mean>> parts(batches);
  parallel_for(std::size_t{0}, batches, [&](std::size_t i) {
    const std::size_t first = i * tables::kTargetsPerBatch;
    const auto batch =
        std::span(leaves).subspan(first, std::min(tables::kTargetsPerBatch, leaves.size() - first));
    const auto hops = tables::least_hops(graph, batch);
    parts[i].resize(switches);
    for (std::size_t d = 1; d < hops.at.size(); ++d)
      for (SwitchIndex s = 0; s < switches; ++s)
        for (std::uint64_t bits = hops.at[d][s]; bits != 0; bits &= bits - 1) {
          const auto w = weight[batch[static_cast<std::size_t>(std::countr_zero(bits))]];
          parts[i][s].sum += d * w;
          parts[i][s].count += w;
        }
  });
  std::vector<Mean> total(switches);
  for (const auto& part : parts)
    for (SwitchIndex s = 0; s < switches; ++s) {
      total[s].sum += part[s].sum;
      total[s].count += part[s].count;
    }
  return total;
}

/// Where a GUID of a root file is: a switch, or the switches that a CA or one of its ports hangs
/// from. Empty: nowhere.
std::vector<SwitchIndex> switches_named(const Request& request, Guid guid) {
  const auto& fabric = *request.fabric;
  const auto& graph = *request.graph;
  std::vector<SwitchIndex> found;
  const auto add_far_end = [&](fabric::PortRef near) {
    const auto far = fabric.port(near).peer;
    if (far && graph.switch_of(far.node) != fabric::kNoSwitch)
      found.push_back(graph.switch_of(far.node));
  };
  if (const auto node = fabric.find_node(guid)) {
    if (fabric.node(*node).is_switch()) return {graph.switch_of(*node)};
    for (unsigned p = 1; p <= fabric.node(*node).num_ports; ++p)
      add_far_end({*node, static_cast<std::uint8_t>(p)});
  } else if (const auto port = fabric.find_port_guid(guid)) {
    if (fabric.node(port->node).is_switch()) return {graph.switch_of(port->node)};
    add_far_end(*port);
  }
  return found;
}

}  // namespace

namespace {

std::size_t links_within_ranks(const fabric::CompactGraph& graph,
                               const std::vector<std::uint32_t>& rank) {
  std::size_t count = 0;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s)) count += rank[arc.to] == rank[s] ? 1 : 0;
  return count;
}

std::vector<std::uint32_t> ranks_from(const fabric::CompactGraph& graph,
                                      const std::vector<SwitchIndex>& roots) {
  std::vector<std::uint32_t> rank(graph.switch_count(), kUnranked);
  for (SwitchIndex s : roots) rank[s] = 0;
  spread_ranks(graph, rank);
  return rank;
}

/// A top that has lost much may be farther from CAs than its neighbours are, which then pass for
/// tops. But where most CAs are at one rank, it is as high above them as most tops found: what is
/// that high are the tops, if that leaves no more links within ranks.
std::vector<SwitchIndex> tops_of_one_height(const fabric::CompactGraph& graph,
                                            std::vector<SwitchIndex> roots) {
  const auto rank = ranks_from(graph, roots);
  std::vector<std::size_t> cas, tops;
  std::size_t all = 0;
  const auto count = [](std::vector<std::size_t>& at, std::uint32_t i, std::size_t n) {
    if (at.size() <= i) at.resize(i + std::size_t{1});
    at[i] += n;
  };
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    count(cas, rank[s], graph.attached()[s]);
    all += graph.attached()[s];
  }
  const auto bottom =
      static_cast<std::uint32_t>(std::max_element(cas.begin(), cas.end()) - cas.begin());
  if (cas.empty() || cas[bottom] * 2 <= all) return roots;
  std::vector<std::uint32_t> height(graph.switch_count(), kUnranked);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    if (rank[s] == bottom && graph.attached()[s] != 0) height[s] = 0;
  spread_ranks(graph, height);
  for (SwitchIndex s : roots)
    if (height[s] != kUnranked) count(tops, height[s], 1);
  if (tops.empty()) return roots;
  const auto highest =
      static_cast<std::uint32_t>(std::max_element(tops.begin(), tops.end()) - tops.begin());
  const auto component = pieces_of(graph).of;
  std::vector<bool> has_top(graph.switch_count(), false);
  std::vector<SwitchIndex> others;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    if (height[s] == highest) {
      others.push_back(s);
      has_top[component[s]] = true;
    }
  for (SwitchIndex s : roots)
    if (!has_top[component[s]]) others.push_back(s);
  const bool better =
      links_within_ranks(graph, ranks_from(graph, others)) <= links_within_ranks(graph, rank);
  return better ? others : roots;
}

}  // namespace

std::vector<SwitchIndex> find_roots(const fabric::CompactGraph& graph) {
  const auto mean = mean_distances(graph);
  const auto component = pieces_of(graph).of;
  std::vector<SwitchIndex> roots, order(graph.switch_count());
  std::vector<bool> has_root(graph.switch_count(), false);  // by component
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto arcs = graph.arcs(s);
    // No neighbour is nearer to the CAs, and not all are as near.
    if (std::none_of(arcs.begin(), arcs.end(), [&](auto& a) { return mean[a.to] < mean[s]; }) &&
        std::any_of(arcs.begin(), arcs.end(), [&](auto& a) { return mean[s] < mean[a.to]; })) {
      roots.push_back(s);
      has_root[component[s]] = true;
    }
  }
  std::iota(order.begin(), order.end(), SwitchIndex{0});
  sort_by_guid(graph, order);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return mean[a] < mean[b]; });
  for (SwitchIndex s : order)
    if (!has_root[component[s]]) {
      roots.push_back(s);
      has_root[component[s]] = true;
    }
  roots = tops_of_one_height(graph, std::move(roots));
  sort_by_guid(graph, roots);
  return roots;
}

Result<Ranks> ranks_from_roots(const Request& request) {
  const auto& graph = *request.graph;
  const GuidList& listed = request.options.roots;
  Ranks ranks;
  ranks.of.assign(graph.switch_count(), kUnranked);
  for (const auto& entry : listed.entries) {
    const auto switches = switches_named(request, entry.guid);
    if (switches.empty())
      ranks.notes.push_back(fmt::format("{} line {}: no switch or CA has GUID {}", listed.file,
                                        entry.line, to_string(entry.guid)));
    for (SwitchIndex s : switches) {
      if (ranks.of[s] != kUnranked) continue;  // the first line counts
      ranks.of[s] = entry.rank.value_or(std::uint8_t{0});
      ranks.roots.push_back(s);
    }
  }
  if (!listed.empty() && ranks.roots.empty() && graph.switch_count() != 0)
    return fail(ErrorKind::NotFound,
                fmt::format("{} names no switch of this fabric as root, not even {}", listed.file,
                            name_of(request, 0)));
  ranks.roots_given = !listed.empty();

  const auto component = pieces_of(graph).of;
  std::vector<bool> has_root(graph.switch_count(), false);
  for (SwitchIndex s : ranks.roots) has_root[component[s]] = true;
  const bool all_have =
      std::all_of(component.begin(), component.end(), [&](auto c) { return has_root[c]; });
  if (!all_have)
    for (SwitchIndex s : find_roots(graph)) {
      if (has_root[component[s]]) continue;
      ranks.of[s] = 0;
      ranks.roots.push_back(s);
      if (ranks.roots_given)
        ranks.notes.push_back(fmt::format("{} lists no root that is connected to {}: it is one now",
                                          listed.file, name_of(request, s)));
    }
  sort_by_guid(graph, ranks.roots);
  spread_ranks(graph, ranks.of);
  return ranks;
}

Ranks ranks_from_leaves(const fabric::CompactGraph& graph) {
  std::vector<std::uint32_t> height(graph.switch_count(), kUnranked);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    if (graph.attached()[s] != 0) height[s] = 0;
  spread_ranks(graph, height);
  for (auto& h : height)
    if (h == kUnranked) h = 0;  // a component without CAs: any order will do
  const auto mean = mean_distances(graph);
  std::vector<SwitchIndex> order(graph.switch_count());
  std::iota(order.begin(), order.end(), SwitchIndex{0});
  const auto is_above = [&](SwitchIndex a, SwitchIndex b) {
    return height[a] != height[b] ? height[a] > height[b] : mean[a] < mean[b];
  };
  std::stable_sort(order.begin(), order.end(), is_above);

  Ranks ranks;
  ranks.of.assign(graph.switch_count(), 0);
  for (std::size_t i = 1; i < order.size(); ++i)
    ranks.of[order[i]] = ranks.of[order[i - 1]] + (is_above(order[i - 1], order[i]) ? 1U : 0U);
  for (SwitchIndex s : order)
    if (ranks.of[s] == 0) ranks.roots.push_back(s);
  sort_by_guid(graph, ranks.roots);
  return ranks;
}

UpDownOrder order_by_rank(const Request& request, const Ranks& ranks) {
  const auto& graph = *request.graph;
  std::unordered_map<Guid, std::uint64_t> ids;
  for (const auto& entry : request.options.ids.entries)
    if (entry.number) ids.try_emplace(entry.guid, *entry.number);
  std::vector<std::uint64_t> id(graph.switch_count());
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
    const auto at = ids.find(graph.guid(s));
    id[s] = at == ids.end() ? graph.guid(s).value : at->second;
  }
  std::vector<SwitchIndex> from_top(graph.switch_count());
  std::iota(from_top.begin(), from_top.end(), SwitchIndex{0});
  std::sort(from_top.begin(), from_top.end(), [&](auto a, auto b) {
    return std::tuple(ranks.of[a], id[a], graph.guid(a), a) <
           std::tuple(ranks.of[b], id[b], graph.guid(b), b);
  });
  return UpDownOrder(std::move(from_top));
}

}  // namespace ib::route
