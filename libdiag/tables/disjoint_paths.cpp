// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/disjoint_paths.h"

#include <algorithm>
#include <utility>

#include "libdiag/base/parallel.h"
#include "libdiag/tables/verify_switch_graph.h"

namespace ib::tables {
namespace {

using namespace check;

/// Counts for one pair of switches at a time.
class Counter {
 public:
  Counter(const SwitchGraph& switch_graph, const LinearTables& tables)
      : switch_graph_(switch_graph),
        tables_(tables),
        used_(switch_graph.channels(), false),
        reached_by_(switch_graph.graph.switch_count(), kNoChannel) {}

  /// In the order of the LIDs, so it is what there is at least.
  std::size_t found(const Ways& ways) {
    std::size_t count = 0;
    for (const Lid lid : ways.lids)
      if (path_to(ways, lid) && std::ranges::none_of(path_, [&](Channel c) { return used_[c]; })) {
        for (const Channel c : path_) use(c);
        ++count;
      }
    clear();
    return count;
  }

  /// The greatest flow with one unit on each link, up to `most`.
  std::size_t possible(const Ways& ways, std::size_t most) {
    std::size_t count = 0;
    while (count < most && augment(ways)) ++count;
    clear();
    return count;
  }

 private:
  bool path_to(const Ways& ways, Lid lid) {
    path_.clear();
    for (SwitchIndex s = ways.from; s != ways.to; s = switch_graph_.to[path_.back()]) {
      const Channel c = switch_graph_.link(s, tables_.at(s, lid));
      if (c == kNoChannel || path_.size() == kHopsMax) return false;
      path_.push_back(c);
    }
    return true;
  }

  /// One more way through links that are free, or whose flow can be turned back.
  bool augment(const Ways& ways) {
    std::vector<SwitchIndex> queue{ways.from};
    for (std::size_t i = 0; i < queue.size() && reached_by_[ways.to] == kNoChannel; ++i) {
      const SwitchIndex s = queue[i];
      const auto reach = [&](SwitchIndex next, Channel by) {
        if (next == ways.from || reached_by_[next] != kNoChannel) return;
        reached_by_[next] = by;
        queue.push_back(next);
      };
      for (const auto& arc : switch_graph_.graph.arcs(s)) {
        const Channel out = switch_graph_.channel(s, arc.out_port);
        const Channel back = switch_graph_.channel(arc.to, arc.in_port);
        if (!used_[out]) reach(arc.to, out);
        if (used_[back]) reach(arc.to, back);
      }
    }
    const bool found = reached_by_[ways.to] != kNoChannel;
    for (SwitchIndex s = ways.to; found && s != ways.from;) {
      const Channel c = reached_by_[s];
      const bool turned_back = switch_graph_.from(c) == s;
      s = turned_back ? switch_graph_.to[c] : switch_graph_.from(c);
      if (turned_back)
        used_[c] = false;
      else
        use(c);
    }
    for (const SwitchIndex s : queue) reached_by_[s] = kNoChannel;
    return found;
  }

  void use(Channel c) {
    used_[c] = true;
    touched_.push_back(c);
  }
  void clear() {
    for (const Channel c : touched_) used_[c] = false;
    touched_.clear();
  }

  const SwitchGraph& switch_graph_;
  const LinearTables& tables_;
  std::vector<bool> used_;
  std::vector<Channel> touched_, path_;
  std::vector<Channel> reached_by_;
};

}  // namespace

DisjointPaths disjoint_paths(const fabric::CompactGraph& graph, const LinearTables& tables,
                             std::span<const Ways> ways) {
  DisjointPaths result;
  if (ways.empty() || tables.switch_count() != graph.switch_count()) return result;
  const SwitchGraph switch_graph(graph, kNoLid);
  std::vector<std::pair<std::size_t, std::size_t>> counts(ways.size());
  PerWorker<Counter> counters([&] { return Counter(switch_graph, tables); });
  parallel_for(std::size_t{0}, ways.size(), [&](std::size_t i) {
    Counter& counter = counters.local();
    counts[i] = {counter.found(ways[i]), counter.possible(ways[i], ways[i].lids.size())};
  });
  result.least = static_cast<double>(counts.front().first);
  for (const auto& [found, possible] : counts) {
    result.mean += static_cast<double>(found);
    result.possible += static_cast<double>(possible);
    result.least = std::min(result.least, static_cast<double>(found));
  }
  const auto n = static_cast<double>(ways.size());
  result.mean /= n;
  result.possible /= n;
  return result;
}

}  // namespace ib::tables
