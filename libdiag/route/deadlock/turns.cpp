// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/turns.h"

#include <algorithm>

#include "libdiag/base/parallel.h"

namespace ib::route {

using fabric::SwitchIndex;

Turns::Turns(const Channels& channels) : channels_(channels) {
  first_.reserve(channels.size());
  for (Channel a = 0; a < channels.size(); ++a) {
    first_.push_back(static_cast<Turn>(holder_.size()));
    const SwitchIndex s = channels.to(a);
    holder_.insert(holder_.end(), channels.first(s + 1) - channels.first(s), a);
  }
}

Walker::Walker(const fabric::CompactGraph& graph, const Targets& targets, const Ways& ways,
               const Turns& turns)
    : graph_(graph), targets_(targets), ways_(ways), turns_(turns), trees_(graph.switch_count()) {
  for (std::size_t i = 0; i < targets.all().size(); ++i)
    for (std::size_t t = ways.first[i]; t < ways.first[i + 1]; ++t)
      trees_[targets.all()[i].leaf].push_back(t);
}

PairTurns::PairTurns(const Walker& walker) {
  for (SwitchIndex s = 0; s < walker.graph().switch_count(); ++s)
    if (walker.graph().end_ports()[s] != 0) leaves_.push_back(s);
  rows_.resize(leaves_.size());
  PerWorker<std::vector<std::uint32_t>> stamps(
      [&] { return std::vector<std::uint32_t>(walker.turns().size(), 0); });
  parallel_for(std::size_t{0}, rows_.size(), [&](std::size_t i) {
    Row& row = rows_[i];
    auto& seen = stamps.local();  // by turn: the last pair of this row that took it
    std::fill(seen.begin(), seen.end(), 0);
    for (std::size_t j = i + 1; j < leaves_.size(); ++j) {
      row.first.push_back(static_cast<std::uint32_t>(row.turns.size()));
      const auto stamp = static_cast<std::uint32_t>(j);
      const auto add = [&](Turn t) {
        if (seen[t] == stamp) return;
        seen[t] = stamp;
        row.turns.push_back(t);
      };
      walker.walk(leaves_[i], leaves_[j], add);
      walker.walk(leaves_[j], leaves_[i], add);
    }
    row.first.push_back(static_cast<std::uint32_t>(row.turns.size()));
  });
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    first_pair_.push_back(pairs_);
    pairs_ += rows_.size() - i - 1;
    row_of_.insert(row_of_.end(), rows_.size() - i - 1, i);
  }
}

PairTurns::Pair PairTurns::pair(std::size_t i) const {
  const std::uint32_t at = row_of_[i];
  const std::size_t j = i - first_pair_[at];
  const Row& row = rows_[at];
  if (!replaced_.empty())
    if (const auto found = replaced_.find(i); found != replaced_.end())
      return {leaves_[at], leaves_[at + 1 + j], found->second};
  return {leaves_[at], leaves_[at + 1 + j],
          std::span(row.turns).subspan(row.first[j], row.first[j + 1] - row.first[j])};
}

std::uint32_t PairTurns::index(SwitchIndex a, SwitchIndex b) const {
  const auto row = [&](SwitchIndex s) {
    return static_cast<std::size_t>(std::ranges::lower_bound(leaves_, s) - leaves_.begin());
  };
  const auto [first, second] = std::minmax({row(a), row(b)});
  return static_cast<std::uint32_t>(first_pair_[first] + second - first - 1);
}

Dependencies all_dependencies(const Walker& walker, Ends ends) {
  const auto& graph = walker.graph();
  const auto& ways = walker.ways();
  const Channels& channels = walker.turns().channels();
  struct Worker {
    Dependencies dependencies;
    std::vector<std::uint32_t> visited;
    std::uint32_t stamp{0};
  };
  PerWorker<Worker> workers([&] {
    return Worker{Dependencies(channels), std::vector<std::uint32_t>(graph.switch_count(), 0)};
  });
  const auto targets = walker.targets().all();
  parallel_for(std::size_t{0}, targets.size(), [&](std::size_t i) {
    Worker& worker = workers.local();
    const Target& target = targets[i];
    const bool hosts = graph.end_ports()[target.leaf] != 0;
    if (ends == Ends::Hosts && !hosts) return;
    for (std::size_t t = ways.first[i]; t < ways.first[i + 1]; ++t) {
      const auto tree = ways.tree(t);
      if (ends == Ends::All && hosts) {  // from everywhere
        for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
          if (tree[s] == kNoExit) continue;
          const auto& arc = graph.arcs(s)[tree[s]];
          if (tree[arc.to] == kNoExit) continue;
          worker.dependencies.insert(channels.of_arc(graph.arc_index(s, tree[s])),
                                     channels.of_arc(graph.arc_index(arc.to, tree[arc.to])));
        }
        continue;
      }
      ++worker.stamp;
      for (SwitchIndex source = 0; source < graph.switch_count(); ++source) {
        if (graph.end_ports()[source] == 0) continue;
        Channel before = kNoChannel;
        for (SwitchIndex s = source; s != target.leaf && tree[s] != kNoExit;) {
          const Channel c = channels.of_arc(graph.arc_index(s, tree[s]));
          if (before != kNoChannel) worker.dependencies.insert(before, c);
          if (worker.visited[s] == worker.stamp) break;
          worker.visited[s] = worker.stamp;
          before = c;
          s = channels.to(c);
        }
      }
    }
  });
  Dependencies all(channels);
  workers.each([&](const Worker& worker) { all.merge(worker.dependencies); });
  return all;
}

}  // namespace ib::route
