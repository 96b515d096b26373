// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_sweep.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "libdiag/base/parallel.h"
#include "libdiag/tables/least_hops.h"

namespace ib::tables::check {
namespace {

/// CA and router LIDs behind one switch.
struct Leaf {
  SwitchIndex at{};
  std::vector<std::uint16_t> lids;
  std::vector<std::uint8_t> ports;  // of the leaf, by LID above
};

/// Up to 64 leaves at a time: one bit a leaf tells for each arc whether it leads nearer.
class BatchSweeper {
 public:
  BatchSweeper(const SwitchGraph& switch_graph, const LinearTables& tables)
      : turns(switch_graph, 1),
        switch_graph_(switch_graph),
        words_((switch_graph.stride + 63) / 64),
        rows_(switch_graph.graph.switch_count()),
        links_(rows_.size() * words_, 0),
        seen_(256 * words_) {
    for (SwitchIndex s = 0; s < rows_.size(); ++s) {
      rows_[s] = tables.row(s).data();
      for (const auto& arc : switch_graph.graph.arcs(s))
        links_[s * words_ + arc.out_port / 64] |= std::uint64_t{1} << (arc.out_port % 64);
    }
  }

  bool run(std::span<const Leaf> leaves) {
    std::vector<SwitchIndex> targets;
    for (const Leaf& leaf : leaves) targets.push_back(leaf.at);
    const LeastHops hops = least_hops(switch_graph_.graph, targets);
    for (SwitchIndex s = 0; s < rows_.size(); ++s)
      if (!sweep_switch(s, leaves, hops)) return false;
    return true;
  }

  Dependencies turns;

 private:
  bool sweep_switch(SwitchIndex s, std::span<const Leaf> leaves, const LeastHops& hops) {
    // By port, whatever a table may hold: the row of the switch behind it, and the leaves it leads
    // nearer to. Where nothing is behind, no leaf is, and the row is any.
    nearer_.fill(0);
    next_row_.fill(rows_[s]);
    const auto arcs = switch_graph_.graph.arcs(s);
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      nearer_[arcs[i].out_port] = hops.arcs[switch_graph_.graph.arc_index(s, i)];
      next_row_[arcs[i].out_port] = rows_[arcs[i].to];
    }
    std::fill(seen_.begin(), seen_.end(), 0);
    for (std::size_t b = 0; b < leaves.size(); ++b) {
      const Leaf& leaf = leaves[b];
      if (leaf.at == s) {
        for (std::size_t i = 0; i < leaf.lids.size(); ++i)
          if (rows_[s][leaf.lids[i]] != leaf.ports[i]) return false;
      } else if (!entries(s, leaf, b)) {
        return false;
      }
    }
    for (const auto& arc : arcs)
      for (std::size_t word = 0; word < words_; ++word)
        turns.add_word(switch_graph_.channel(s, arc.out_port), word,
                       seen_[arc.out_port * words_ + word] & links_[arc.to * words_ + word]);
    return true;
  }

  bool entries(SwitchIndex s, const Leaf& leaf, std::size_t b) {
    const std::uint8_t* row = rows_[s];
    std::uint64_t all = ~std::uint64_t{0};
    // An entry that names no link fails here or at its own switch, so its bit may go anywhere.
    if (words_ == 1) {
      for (const std::uint16_t lid : leaf.lids) {
        const std::uint8_t port = row[lid];
        all &= nearer_[port] >> b;
        seen_[port] |= std::uint64_t{1} << (next_row_[port][lid] & 63U);
      }
    } else {
      for (const std::uint16_t lid : leaf.lids) {
        const std::uint8_t port = row[lid];
        const std::uint8_t next = next_row_[port][lid];
        all &= nearer_[port] >> b;
        if (next < switch_graph_.stride)
          seen_[port * words_ + next / 64] |= std::uint64_t{1} << (next % 64);
      }
    }
    if ((all & 1U) != 0) return true;
    for (std::size_t i = 0; i < leaf.lids.size(); ++i)
      if (((nearer_[row[leaf.lids[i]]] >> b) & 1U) == 0 && !walk(s, leaf, i)) return false;
    return true;
  }

  /// An entry that does not lead nearer may arrive all the same.
  bool walk(SwitchIndex s, const Leaf& leaf, std::size_t i) const {
    if (switch_graph_.apart(s, leaf.at)) return rows_[s][leaf.lids[i]] == kNoPort;
    for (unsigned hop = 0; hop <= kHopsMax; ++hop) {
      const std::uint8_t port = rows_[s][leaf.lids[i]];
      if (s == leaf.at) return port == leaf.ports[i];
      const Channel c = switch_graph_.link(s, port);
      if (c == kNoChannel) return false;
      s = switch_graph_.to[c];
    }
    return false;
  }

  const SwitchGraph& switch_graph_;
  std::size_t words_;
  std::vector<const std::uint8_t*> rows_;
  std::vector<std::uint64_t> links_;  // by switch: ports that lead to switches
  std::vector<std::uint64_t> seen_;   // by port: the ports taken next
  std::array<std::uint64_t, 256> nearer_{};
  std::array<const std::uint8_t*, 256> next_row_{};
};

std::vector<Leaf> leaves_of(const SwitchGraph& switch_graph) {
  std::vector<Leaf> leaves;
  std::vector<std::size_t> index(switch_graph.graph.switch_count(), ~std::size_t{0});
  for (const auto& d : switch_graph.destinations) {
    if (d.is_switch()) continue;
    if (index[d.leaf] == ~std::size_t{0}) {
      index[d.leaf] = leaves.size();
      leaves.push_back({d.leaf, {}, {}});
    }
    leaves[index[d.leaf]].lids.push_back(d.lid.value);
    leaves[index[d.leaf]].ports.push_back(d.port);
  }
  return leaves;
}

}  // namespace

Sweep sweep(const SwitchGraph& switch_graph, const LinearTables& tables) {
  Sweep result;
  result.turns = Dependencies(switch_graph, 1);
  if (switch_graph.destinations.empty()) return result;
  if (tables.lid_count() <= switch_graph.graph.max_lid().value ||
      tables.switch_count() != switch_graph.graph.switch_count()) {
    result.all_arrive = false;
    return result;
  }
  const std::vector<Leaf> leaves = leaves_of(switch_graph);
  PerWorker<BatchSweeper> sweepers([&] { return BatchSweeper(switch_graph, tables); });
  std::atomic<bool> good{true};
  const std::size_t batches = (leaves.size() + kTargetsPerBatch - 1) / kTargetsPerBatch;
  parallel_for(std::size_t{0}, batches, [&](std::size_t i) {
    const std::size_t first = i * kTargetsPerBatch;
    const auto batch =
        std::span(leaves).subspan(first, std::min(kTargetsPerBatch, leaves.size() - first));
    if (good && !sweepers.local().run(batch)) good = false;
  });
  result.all_arrive = good;
  sweepers.each([&](const BatchSweeper& one) { result.turns.merge(one.turns); });
  return result;
}

}  // namespace ib::tables::check
