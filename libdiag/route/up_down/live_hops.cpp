// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Least hops that follow links (Ramalingam and Reps): what leant on a lost link only is taken off,
// then everything that got nearer or farther is settled from near to far.
#include <algorithm>
#include <bit>
#include <functional>
#include <queue>
#include <utility>

#include "libdiag/route/up_down/live_ways.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

constexpr std::uint32_t kFar = LiveWays::kFar;

/// One target of a batch.
class OneTarget {
 public:
  OneTarget(const LiveLinks& links, const std::vector<std::uint8_t>& lengths,
            std::vector<std::uint64_t>& arcs)
      : links_(links), lengths_(lengths), arcs_(arcs), touched_(links.graph.switch_count(), 0) {}

  /// Arcs that were lost are no candidates any more; `hops` are still those of before.
  void follow(std::size_t target, std::span<std::uint32_t> hops,
              std::vector<LiveWays::Change>& changes) {
    hops_ = hops;
    bit_ = std::uint64_t{1} << target;
    ++round_;
    for (const std::uint32_t a : links_.lost)
      if (hops_[links_.from[a]] != kFar) take_off(links_.from[a]);
    for (std::size_t i = 0; i < cut_off_.size(); ++i)
      each_arc(cut_off_[i], [&](std::uint32_t a) {
        const std::uint32_t in = links_.reverse[a];
        if ((arcs_[in] & bit_) == 0) return;
        arcs_[in] &= ~bit_;
        touched(links_.arc(a).to).lost = true;
        take_off(links_.arc(a).to);
      });
    settle();
    for (Touched& at : list_) {
      const bool way = choose(at);
      if (at.lost || (!at.had && way))
        changes.push_back({at.s, static_cast<std::uint16_t>(target), way, hops_[at.s]});
    }
    list_.clear();
    cut_off_.clear();
  }

 private:
  struct Touched {
    SwitchIndex s{};
    bool had{};   // a way
    bool lost{};  // a candidate
  };

  template <class Function>
  void each_arc(SwitchIndex s, Function function) const {
    const std::uint32_t first = links_.first(s);
    const auto end = first + static_cast<std::uint32_t>(links_.graph.arcs(s).size());
    for (std::uint32_t a = first; a < end; ++a)
      if (links_.alive[a] != 0) function(a);
  }
  std::uint32_t length(std::uint32_t a) const {
    return lengths_.empty() ? 1 : std::max<std::uint32_t>(lengths_[a], 1);
  }
  std::uint32_t over(std::uint32_t a) const {
    const std::uint32_t there = hops_[links_.arc(a).to];
    return there == kFar ? kFar : there + length(a);
  }

  Touched& touched(SwitchIndex s) {
    if (touched_[s] / kRound != round_) {
      touched_[s] = round_ * kRound + list_.size();
      list_.push_back({s, hops_[s] != kFar, false});
    }
    return list_[touched_[s] % kRound];
  }

  /// Takes a switch off when it has no candidate left.
  void take_off(SwitchIndex s) {
    if (hops_[s] == 0 || hops_[s] == kFar) return;
    const auto words = std::span(arcs_).subspan(links_.first(s), links_.graph.arcs(s).size());
    if (std::any_of(words.begin(), words.end(), [&](auto word) { return (word & bit_) != 0; }))
      return;
    touched(s).lost = true;
    hops_[s] = kFar;
    cut_off_.push_back(s);
  }

  void settle() {
    for (const SwitchIndex s : cut_off_) {
      std::uint32_t least = kFar;
      each_arc(s, [&](std::uint32_t a) { least = std::min(least, over(a)); });
      if (least != kFar) queue_.emplace(least, s);
    }
    for (const std::uint32_t a : links_.found) offer(a);
    while (!queue_.empty()) {
      const auto [hops, s] = queue_.top();
      queue_.pop();
      if (hops >= hops_[s]) continue;
      touched(s);
      hops_[s] = hops;
      each_arc(s, [&](std::uint32_t a) { offer(links_.reverse[a]); });
    }
  }

  /// A way over this arc got shorter, or is there again.
  void offer(std::uint32_t a) {
    const SwitchIndex s = links_.from[a];
    if (over(a) < hops_[s]) queue_.emplace(over(a), s);
    if (over(a) == hops_[s] && hops_[s] != kFar) arcs_[a] |= bit_;
  }

  /// Candidates of a switch from its hops and those of its neighbours.
  bool choose(Touched& at) {
    bool way = false;
    each_arc(at.s, [&](std::uint32_t a) {
      const bool is = hops_[at.s] != kFar && over(a) == hops_[at.s];
      if (!is && (arcs_[a] & bit_) != 0) at.lost = true;
      arcs_[a] = is ? arcs_[a] | bit_ : arcs_[a] & ~bit_;
      way = way || is;
    });
    return way;
  }

  static constexpr std::uint64_t kRound = std::uint64_t{1} << 32;

  const LiveLinks& links_;
  const std::vector<std::uint8_t>& lengths_;
  std::vector<std::uint64_t>& arcs_;
  std::span<std::uint32_t> hops_;
  std::uint64_t bit_{};
  std::uint64_t round_{0};
  std::vector<std::uint64_t> touched_;  // by switch: when last, and its place in list_
  std::vector<Touched> list_;
  std::vector<SwitchIndex> cut_off_;
  using Queue = std::pair<std::uint32_t, SwitchIndex>;
  std::priority_queue<Queue, std::vector<Queue>, std::greater<>> queue_;
};

class LiveHops : public LiveWays {
 public:
  LiveHops(const fabric::CompactGraph& graph, std::vector<std::uint8_t> lengths,
           std::span<const SwitchIndex> targets)
      : graph_(graph),
        lengths_(std::move(lengths)),
        targets_(targets.begin(), targets.end()),
        hops_(targets.size() * graph.switch_count(), kFar) {}

  tables::LeastHops begin(std::size_t batch) override {
    const auto targets = of_batch(batch);
    tables::LeastHops found = lengths_.empty() ? tables::least_hops(graph_, targets)
                                               : tables::least_hops(graph_, targets, lengths_);
    for (std::size_t level = 0; level < found.at.size(); ++level)
      for (SwitchIndex s = 0; s < graph_.switch_count(); ++s)
        for (std::uint64_t bits = found.at[level][s]; bits != 0; bits &= bits - 1) {
          const auto b = static_cast<std::size_t>(std::countr_zero(bits));
          row(batch, b)[s] =
              lengths_.empty() ? static_cast<std::uint32_t>(level) : length_of(found, s, batch, b);
        }
    return found;
  }

  Followed follow(std::size_t batch, const LiveLinks& links, std::vector<std::uint64_t>& arcs,
                  std::vector<Change>& changes) override {
    const std::size_t count = of_batch(batch).size();
    std::uint64_t farther = 0;  // targets for which distances change
    for (std::size_t k = 0; k < links.lost.size();) {
      const SwitchIndex s = links.from[links.lost[k]];
      std::uint64_t used = 0, left = 0;
      for (; k < links.lost.size() && links.from[links.lost[k]] == s; ++k)
        used |= std::exchange(arcs[links.lost[k]], 0);
      if (used == 0) continue;
      for (std::size_t i = 0; i < graph_.arcs(s).size(); ++i) left |= arcs[links.first(s) + i];
      farther |= used & ~left;
      for (std::uint64_t bits = used; bits != 0; bits &= bits - 1) {
        const auto b = static_cast<std::uint16_t>(std::countr_zero(bits));
        if (((left >> b) & 1) != 0) changes.push_back({s, b, true, row(batch, b)[s]});
      }
    }
    OneTarget one(links, lengths_, arcs);
    std::uint64_t redrawn = 0;
    for (std::size_t b = 0; b < count; ++b)
      if (((farther >> b) & 1) != 0 || gains(links, row(batch, b))) {
        one.follow(b, row(batch, b), changes);
        redrawn |= std::uint64_t{1} << b;
      }
    for (Change& change : changes) {
      change.level = level(batch, change.target, change.at);
      change.way = change.level != kFar;
    }
    return {0, redrawn};
  }

  std::uint32_t level(std::size_t batch, std::size_t target, SwitchIndex at) const override {
    return hops_[(batch * tables::kTargetsPerBatch + target) * graph_.switch_count() + at];
  }

 private:
  std::span<const SwitchIndex> of_batch(std::size_t batch) const {
    const std::size_t first = batch * tables::kTargetsPerBatch;
    return std::span(targets_).subspan(first,
                                       std::min(tables::kTargetsPerBatch, targets_.size() - first));
  }
  std::span<std::uint32_t> row(std::size_t batch, std::size_t b) {
    const std::size_t switches = graph_.switch_count();
    return std::span(hops_).subspan((batch * tables::kTargetsPerBatch + b) * switches, switches);
  }
  /// From the first arc of the way; what that leads to is known.
  std::uint32_t length_of(const tables::LeastHops& found, SwitchIndex s, std::size_t batch,
                          std::size_t b) {
    if (targets_[batch * tables::kTargetsPerBatch + b] == s) return 0;
    std::size_t a = graph_.arc_index(s, 0);
    while (((found.arcs[a] >> b) & 1) == 0) ++a;
    const SwitchIndex to = graph_.arcs(0).data()[a].to;
    return row(batch, b)[to] + std::max<std::uint32_t>(lengths_[a], 1);
  }
  bool gains(const LiveLinks& links, std::span<const std::uint32_t> hops) const {
    return std::any_of(links.found.begin(), links.found.end(), [&](std::uint32_t a) {
      return hops[links.arc(a).to] < hops[links.from[a]];
    });
  }

  const fabric::CompactGraph& graph_;
  std::vector<std::uint8_t> lengths_;
  std::vector<SwitchIndex> targets_;
  std::vector<std::uint32_t> hops_;  // by target, then by switch
};

}  // namespace

std::unique_ptr<LiveWays> follow_least_hops(const fabric::CompactGraph& graph,
                                            std::vector<std::uint8_t> lengths,
                                            std::span<const SwitchIndex> targets) {
  return std::make_unique<LiveHops>(graph, std::move(lengths), targets);
}

}  // namespace ib::route
