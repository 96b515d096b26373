// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/deadlock/order_exits.h"

#include <algorithm>
#include <vector>

#include "libdiag/base/parallel.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// The LID whose entries tree t of target i stands for.
Lid lid_of(const Targets& targets, const Target& target, std::size_t tree) {
  if (target.columns() != 0) return targets.columns(target)[tree].lid;
  const auto own = targets.switch_lids(target.leaf);
  return own.empty() ? kNoLid : own.front().lid;
}

}  // namespace

void take_exits_by_order(const Request& request, const Targets& targets, const UpDownOrder& order,
                         std::span<const std::size_t> which,
                         const std::function<bool(SwitchIndex from, SwitchIndex to)>& stays,
                         Ways& ways) {
  const auto& graph = *request.graph;
  const auto* previous = request.options.honour_previous ? request.previous : nullptr;
  const std::size_t batches =
      (which.size() + tables::kTargetsPerBatch - 1) / tables::kTargetsPerBatch;
  parallel_for(std::size_t{0}, batches, [&](std::size_t batch) {
    const auto numbers = which.subspan(
        batch * tables::kTargetsPerBatch,
        std::min(tables::kTargetsPerBatch, which.size() - batch * tables::kTargetsPerBatch));
    std::vector<SwitchIndex> leaves;
    for (const std::size_t i : numbers) leaves.push_back(targets.all()[i].leaf);
    const auto hops = up_down_hops(graph, order, leaves);
    std::vector<bool> met(graph.switch_count());
    std::vector<std::uint8_t> exits;
    for (std::size_t b = 0; b < numbers.size(); ++b) {
      const Target& target = targets.all()[numbers[b]];
      for (std::size_t t = ways.first[numbers[b]]; t < ways.first[numbers[b] + 1]; ++t) {
        const auto tree = ways.tree(t);
        const Lid lid = lid_of(targets, target, t - ways.first[numbers[b]]);
        met.assign(graph.switch_count(), false);
        met[target.leaf] = true;
        for (SwitchIndex from = 0; from < graph.switch_count(); ++from) {
          if (!stays(from, target.leaf)) continue;
          for (SwitchIndex s = from; !met[s] && tree[s] != kNoExit; s = graph.arcs(s)[tree[s]].to)
            met[s] = true;
        }
        for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
          if (met[s]) continue;
          // Better those by which the order is kept to from there on as well.
          exits.clear();
          for (const bool all : {false, true}) {
            if (!exits.empty()) break;
            for (std::size_t i = 0; i < graph.arcs(s).size(); ++i)
              if (((hops.arcs[graph.arc_index(s, i)] >> b) & 1) != 0 &&
                  (all || !met[graph.arcs(s)[i].to]))
                exits.push_back(static_cast<std::uint8_t>(i));
          }
          if (exits.empty()) continue;
          tree[s] = exits[(s + t) % exits.size()];
          for (const std::uint8_t exit : exits)
            if (previous != nullptr && previous->at(s, lid) == graph.arcs(s)[exit].out_port)
              tree[s] = exit;
        }
      }
    }
  });
}

}  // namespace ib::route
