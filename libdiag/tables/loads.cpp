// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/loads.h"

#include <algorithm>
#include <span>

#include "libdiag/base/parallel.h"
#include "libdiag/tables/least_hops.h"
#include "libdiag/tables/verify_loads.h"

namespace ib::tables {
namespace {

using namespace check;

/// LIDs of hosts behind one switch.
struct Leaf {
  SwitchIndex at{};
  std::vector<std::uint16_t> lids;
};

std::vector<Leaf> leaves_with_hosts(const SwitchGraph& switch_graph, const LinearTables& tables) {
  std::vector<Leaf> leaves;
  std::vector<std::size_t> index(switch_graph.graph.switch_count(), ~std::size_t{0});
  for (const auto& d : switch_graph.destinations) {
    if (!d.is_host || d.lid.value >= tables.lid_count()) continue;
    if (index[d.leaf] == ~std::size_t{0}) {
      index[d.leaf] = leaves.size();
      leaves.push_back({d.leaf, {}});
    }
    leaves[index[d.leaf]].lids.push_back(d.lid.value);
  }
  return leaves;
}

/// Up to 64 leaves at a time. Nearly every entry leads nearer to its leaf, so switches hand on what
/// they send and what came by from far to near.
class LoadCounter {
 public:
  LoadCounter(const SwitchGraph& switch_graph, const LinearTables& tables)
      : load(switch_graph.channels(), 0), switch_graph_(switch_graph), tables_(tables) {}

  void run(std::span<const Leaf> leaves) {
    std::vector<SwitchIndex> targets;
    for (const Leaf& leaf : leaves) targets.push_back(leaf.at);
    const LeastHops hops = least_hops(switch_graph_.graph, targets);
    const std::size_t switches = switch_graph_.graph.switch_count();
    std::vector<std::size_t> hops_from(switches);
    std::vector<std::vector<SwitchIndex>> by_hops(hops.at.size());
    for (std::size_t b = 0; b < leaves.size(); ++b) {
      for (std::size_t d = 0; d < by_hops.size(); ++d) {
        by_hops[d].clear();
        for (SwitchIndex s = 0; s < switches; ++s)
          if (((hops.at[d][s] >> b) & 1) != 0) by_hops[d].push_back(s), hops_from[s] = d;
      }
      add(leaves[b], by_hops, hops_from);
    }
  }

  std::vector<std::uint64_t> load;  // by channel

 private:
  void add(const Leaf& leaf, std::span<const std::vector<SwitchIndex>> by_hops,
           std::span<const std::size_t> hops_from) {
    const std::size_t lids = leaf.lids.size();
    // LIDs limit their number to 49,151. A switch that has handed them on has none left.
    if (arriving_.size() < switch_graph_.graph.switch_count() * lids)
      arriving_.resize(switch_graph_.graph.switch_count() * lids, 0);
    for (std::size_t d = by_hops.size(); d-- > 1;)
      for (const SwitchIndex s : by_hops[d]) {
        const std::uint8_t* row = tables_.row(s).data();
        std::uint16_t* here = arriving_.data() + s * lids;
        for (std::size_t i = 0; i < lids; ++i) {
          const std::uint32_t sources = here[i] + switch_graph_.hosts[s];
          here[i] = 0;
          if (sources == 0) continue;
          const Channel c = switch_graph_.link(s, row[leaf.lids[i]]);
          if (c == kNoChannel) continue;
          load[c] += sources;
          const SwitchIndex next = switch_graph_.to[c];
          if (hops_from[next] < d) {
            std::uint16_t& there = arriving_[next * lids + i];
            there = static_cast<std::uint16_t>(there + sources);
          } else {
            follow(next, leaf, leaf.lids[i], sources);
          }
        }
      }
    std::fill_n(arriving_.data() + leaf.at * lids, lids, std::uint16_t{0});
  }

  /// To the end, where the way is longer than it need be.
  void follow(SwitchIndex s, const Leaf& leaf, std::uint16_t lid, std::uint32_t sources) {
    for (unsigned hop = 0; hop < kHopsMax && s != leaf.at; ++hop) {
      const Channel c = switch_graph_.link(s, tables_.at(s, Lid{lid}));
      if (c == kNoChannel) return;
      load[c] += sources;
      s = switch_graph_.to[c];
    }
  }

  const SwitchGraph& switch_graph_;
  const LinearTables& tables_;
  std::vector<std::uint16_t> arriving_;  // by switch and LID of the leaf
};

}  // namespace

namespace check {

std::vector<std::uint64_t> loads_by_channel(const SwitchGraph& switch_graph,
                                            const LinearTables& tables) {
  const auto leaves = leaves_with_hosts(switch_graph, tables);
  PerWorker<LoadCounter> counters([&] { return LoadCounter(switch_graph, tables); });
  const std::size_t batches = (leaves.size() + kTargetsPerBatch - 1) / kTargetsPerBatch;
  parallel_for(std::size_t{0}, batches, [&](std::size_t i) {
    const std::size_t first = i * kTargetsPerBatch;
    counters.local().run(
        std::span(leaves).subspan(first, std::min(kTargetsPerBatch, leaves.size() - first)));
  });
  std::vector<std::uint64_t> loads(switch_graph.channels(), 0);
  counters.each([&](const LoadCounter& part) {
    for (std::size_t c = 0; c < loads.size(); ++c) loads[c] += part.load[c];
  });
  return loads;
}

Loads summed(const std::vector<std::uint64_t>& load) {
  Loads result;
  std::uint64_t used = 0, sum = 0;
  for (const std::uint64_t l : load) {
    result.max = std::max(result.max, l);
    sum += l;
    used += l != 0;
  }
  if (used != 0) result.mean = static_cast<double>(sum) / static_cast<double>(used);
  return result;
}

}  // namespace check

std::vector<std::uint64_t> loads_by_arc(const fabric::CompactGraph& graph,
                                        const LinearTables& tables) {
  const SwitchGraph switch_graph(graph, kNoLid);
  const auto loads = loads_by_channel(switch_graph, tables);
  std::vector<std::uint64_t> result(graph.arc_count(), 0);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (std::size_t i = 0; i < graph.arcs(s).size(); ++i)
      result[graph.arc_index(s, i)] = loads[switch_graph.channel(s, graph.arcs(s)[i].out_port)];
  return result;
}

}  // namespace ib::tables
