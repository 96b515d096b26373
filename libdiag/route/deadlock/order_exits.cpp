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

/// The trees to up to tables::kTargetsPerBatch targets.
class BatchByOrder {
 public:
  using Stays = std::function<bool(SwitchIndex from, SwitchIndex to)>;

  BatchByOrder(const Request& request, const Targets& targets, const UpDownOrder& order,
               std::span<const std::size_t> which, const Stays& stays, Ways& ways)
      : graph_(*request.graph),
        previous_(request.options.honour_previous ? request.previous : nullptr),
        targets_(targets),
        which_(which),
        stays_(stays),
        ways_(ways) {
    std::vector<SwitchIndex> leaves;
    for (const std::size_t i : which_) leaves.push_back(targets_.all()[i].leaf);
    hops_ = up_down_hops(graph_, order, leaves);
  }

  void run() {
    for (std::size_t b = 0; b < which_.size(); ++b) {
      const std::size_t first = ways_.first[which_[b]], end = ways_.first[which_[b] + 1];
      const Target& target = targets_.all()[which_[b]];
      for (std::size_t t = first; t < end; ++t) {
        const auto tree = ways_.tree(t);
        meet(target.leaf, tree);
        for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
          if (!met_[s]) take_exit(s, b, t, lid_of(targets_, target, t - first), tree);
      }
    }
  }

 private:
  /// Marks the switches by which a route that stays comes.
  void meet(SwitchIndex leaf, std::span<const std::uint8_t> tree) {
    met_.assign(graph_.switch_count(), false);
    met_[leaf] = true;
    for (SwitchIndex from = 0; from < graph_.switch_count(); ++from) {
      if (!stays_(from, leaf)) continue;
      for (SwitchIndex s = from; !met_[s] && tree[s] != kNoExit; s = graph_.arcs(s)[tree[s]].to)
        met_[s] = true;
    }
  }

  void take_exit(SwitchIndex s, std::size_t b, std::size_t t, Lid lid,
                 std::span<std::uint8_t> tree) {
    const auto arcs = graph_.arcs(s);
    // Better those by which the order is kept to from there on as well.
    find_exits(s, b, [&](const fabric::Arc& arc) { return !met_[arc.to]; });
    if (exits_.empty()) find_exits(s, b, [](const fabric::Arc&) { return true; });
    if (exits_.empty()) return;
    tree[s] = exits_[(s + t) % exits_.size()];
    if (previous_ == nullptr) return;
    for (const std::uint8_t exit : exits_)
      if (previous_->at(s, lid) == arcs[exit].out_port) tree[s] = exit;
  }

  template <class Suits>
  void find_exits(SwitchIndex s, std::size_t b, Suits suits) {
    const auto arcs = graph_.arcs(s);
    exits_.clear();
    for (std::size_t i = 0; i < arcs.size(); ++i)
      if (((hops_.arcs[graph_.arc_index(s, i)] >> b) & 1) != 0 && suits(arcs[i]))
        exits_.push_back(static_cast<std::uint8_t>(i));
  }

  const fabric::CompactGraph& graph_;
  const tables::LinearTables* previous_;
  const Targets& targets_;
  std::span<const std::size_t> which_;  // of targets_.all()
  const Stays& stays_;
  Ways& ways_;
  tables::LeastHops hops_;           // by the order
  std::vector<bool> met_;            // of the tree at hand
  std::vector<std::uint8_t> exits_;  // of the switch at hand
};

}  // namespace

void take_exits_by_order(const Request& request, const Targets& targets, const UpDownOrder& order,
                         std::span<const std::size_t> which,
                         const std::function<bool(SwitchIndex from, SwitchIndex to)>& stays,
                         Ways& ways) {
  constexpr std::size_t kAtOnce = tables::kTargetsPerBatch;
  parallel_for(std::size_t{0}, (which.size() + kAtOnce - 1) / kAtOnce, [&](std::size_t i) {
    const auto some = which.subspan(i * kAtOnce, std::min(kAtOnce, which.size() - i * kAtOnce));
    BatchByOrder(request, targets, order, some, stays, ways).run();
  });
}

}  // namespace ib::route
