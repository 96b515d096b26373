// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Turns: the dependencies there can be, numbered, and which of them the routes between each two
// switches take.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "libdiag/route/shape/channels.h"
#include "libdiag/route/ways/ways.h"

namespace ib::route {

using Turn = std::uint32_t;

/// Numbers for all pairs of a channel and one that leaves the switch it enters.
class Turns {
 public:
  explicit Turns(const Channels& channels);
  const Channels& channels() const { return channels_; }
  std::size_t size() const { return holder_.size(); }
  Turn number(Channel a, Channel b) const { return first_[a] + channels_.out_rank(b); }
  Dependency dependency(Turn t) const {
    const Channel a = holder_[t];
    return {a, channels_.first(channels_.to(a)) + (t - first_[a])};
  }

 private:
  const Channels& channels_;
  std::vector<Turn> first_;      // by channel
  std::vector<Channel> holder_;  // by turn
};

/// Follows trees from switch to switch.
class Walker {
 public:
  Walker(const fabric::CompactGraph& graph, const Targets& targets, const Ways& ways,
         const Turns& turns);

  /// Calls function(turn) for the turns from switch `from` to switch `to`, on all its trees.
  template <class Function>
  void walk(fabric::SwitchIndex from, fabric::SwitchIndex to, Function function) const;

  /// The trees that lead to a switch.
  std::span<const std::size_t> trees(fabric::SwitchIndex to) const { return trees_[to]; }
  const Turns& turns() const { return turns_; }
  const Targets& targets() const { return targets_; }
  const Ways& ways() const { return ways_; }
  const fabric::CompactGraph& graph() const { return graph_; }

 private:
  const fabric::CompactGraph& graph_;
  const Targets& targets_;
  const Ways& ways_;
  const Turns& turns_;
  std::vector<std::vector<std::size_t>> trees_;  // by switch
};

/// Every unordered pair of switches that have CAs, with the turns of both directions.
class PairTurns {
 public:
  explicit PairTurns(const Walker& walker);

  struct Pair {
    fabric::SwitchIndex a, b;
    std::span<const Turn> turns;
  };
  std::size_t size() const { return pairs_; }
  Pair pair(std::size_t i) const;
  std::uint32_t index(fabric::SwitchIndex a, fabric::SwitchIndex b) const;
  /// Trees changed: these are the turns of pair i now.
  void replace(std::uint32_t i, std::vector<Turn> turns) { replaced_[i] = std::move(turns); }

 private:
  struct Row {  // of one switch, with all later ones
    std::vector<std::uint32_t> first;
    std::vector<Turn> turns;
  };
  std::vector<fabric::SwitchIndex> leaves_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> row_of_;    // by pair
  std::vector<std::size_t> first_pair_;  // by row
  std::unordered_map<std::size_t, std::vector<Turn>> replaced_;
  std::size_t pairs_{};
};

/// The turns of all trees at once, from the switches that have CAs to all that have, or with the
/// others as one of the two ends.
enum class Ends { Hosts, All };
Dependencies all_dependencies(const Walker& walker, Ends ends);

template <class Function>
void Walker::walk(fabric::SwitchIndex from, fabric::SwitchIndex to, Function function) const {
  const Channels& channels = turns_.channels();
  for (const std::size_t t : trees_[to]) {
    const auto tree = ways_.tree(t);
    Channel before = kNoChannel;
    for (fabric::SwitchIndex s = from; s != to && tree[s] != kNoExit;) {
      const Channel c = channels.of_arc(graph_.arc_index(s, tree[s]));
      if (before != kNoChannel) function(turns_.number(before, c));
      before = c;
      s = channels.to(c);
    }
  }
}

}  // namespace ib::route
