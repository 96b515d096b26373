// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Up*/down* ways that follow links. Under an order of switches nothing depends on itself: what a
// switch reaches by descending follows from those below it, what it reaches at all from that and
// from those above it. So two walks over what changed are enough, one upwards and one downwards.
#include <algorithm>
#include <bit>
#include <functional>
#include <queue>
#include <utility>

#include "libdiag/route/up_down/live_ways.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

constexpr std::uint8_t kFar = UpDownHops::kFar;

/// Switches that are to be looked at, by their places in the order, each once.
template <class Before>
class Agenda {
 public:
  explicit Agenda(std::size_t switches) : listed_(switches, 0) {}
  void add(std::uint32_t place) {
    if (std::exchange(listed_[place], std::uint8_t{1}) == 0) queue_.push(place);
  }
  bool empty() const { return queue_.empty(); }
  std::uint32_t take() {
    const std::uint32_t place = queue_.top();
    queue_.pop();
    listed_[place] = 0;
    return place;
  }

 private:
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, Before> queue_;
  std::vector<std::uint8_t> listed_;
};

/// One target of a batch after the other.
class OneTarget {
 public:
  OneTarget(const LiveLinks& links, const UpDownOrder& order, std::vector<std::uint64_t>& arcs)
      : links_(links),
        order_(order),
        arcs_(arcs),
        upwards_(links.graph.switch_count()),
        downwards_(links.graph.switch_count()),
        straightened_(links.graph.switch_count(), 0) {}

  void begin(std::size_t target, SwitchIndex leaf, std::span<UpDownHops> rows) {
    target_ = static_cast<std::uint16_t>(target);
    bit_ = std::uint64_t{1} << target;
    leaf_ = leaf;
    rows_ = rows;
  }

  /// Notes who has to be looked at because an arc went or came.
  void touch(std::uint32_t a, bool came) {
    const SwitchIndex s = links_.from[a], to = links_.arc(a).to;
    const bool used = (arcs_[a] & bit_) != 0;
    if (order_.is_up(s, to)) {
      if (came ? climbing(s, to) <= rows_[s].hops : used) downwards_.add(place(s));
      return;
    }
    if (const std::uint8_t hops = descending(s, to); hops != kFar && hops <= rows_[s].straight)
      upwards_.add(place(s));
    if (used) downwards_.add(place(to));  // nothing descends to it over this any more
  }

  bool is_touched() const { return !upwards_.empty() || !downwards_.empty(); }

  /// False: neighbours are not enough to tell. Candidates have not changed then.
  bool follow(std::vector<LiveWays::Change>& changes) {
    const std::size_t known = changes.size();
    while (!upwards_.empty()) descend(order_.from_top()[upwards_.take()]);
    bool simple = true;
    while (!downwards_.empty()) {
      const SwitchIndex s = order_.from_top()[downwards_.take()];
      simple = simple && climb(s, changes);
      straightened_[s] = 0;
    }
    if (simple)
      for (const std::uint32_t a : toggled_) arcs_[a] ^= bit_;
    else
      changes.resize(known);
    toggled_.clear();
    return simple;
  }

 private:
  std::uint32_t place(SwitchIndex s) const { return order_.positions()[s]; }
  /// Hops of s over a switch below it, or above it.
  std::uint8_t descending(SwitchIndex s, SwitchIndex to) const {
    return over(s, to, rows_[to].down);
  }
  std::uint8_t climbing(SwitchIndex s, SwitchIndex to) const { return over(s, to, rows_[to].hops); }
  std::uint8_t over(SwitchIndex s, SwitchIndex to, std::uint8_t hops) const {
    if (order_.turns_at(s, to)) return UpDownOrder::over_valley(hops, rows_[to].straight);
    return static_cast<std::uint8_t>(hops == kFar ? kFar : hops + 1);
  }
  bool descends(SwitchIndex s) const {
    return rows_[s].hops != kFar && rows_[s].hops == rows_[s].down;
  }

  template <class Function>
  void each_arc(SwitchIndex s, Function function) const {
    const std::uint32_t first = links_.first(s);
    const auto end = first + static_cast<std::uint32_t>(links_.graph.arcs(s).size());
    for (std::uint32_t a = first; a < end; ++a) function(a, links_.arc(a).to);
  }

  void descend(SwitchIndex s) {
    std::uint8_t down = s == leaf_ ? 0 : kFar;
    std::uint8_t straight = down;
    each_arc(s, [&](std::uint32_t a, SwitchIndex to) {
      if (links_.alive[a] == 0 || order_.is_up(s, to)) return;
      const std::uint8_t hops = descending(s, to);
      down = std::min(down, hops);
      if (!order_.was_up(s, to)) straight = std::min(straight, hops);
    });
    downwards_.add(place(s));
    if (down == rows_[s].down && straight == rows_[s].straight) return;
    if (straight != rows_[s].straight && order_.is_valley(s)) straightened_[s] = 1;
    rows_[s].down = down;
    rows_[s].straight = straight;
    each_arc(s, [&](std::uint32_t a, SwitchIndex to) {
      if (links_.alive[a] != 0 && order_.is_up(s, to)) upwards_.add(place(to));
    });
  }

  bool climb(SwitchIndex s, std::vector<LiveWays::Change>& changes) {
    UpDownHops& own = rows_[s];
    std::uint8_t least = kFar;
    bool entered = false;  // descending: it goes on so, even where a climb would be shorter
    each_arc(s, [&](std::uint32_t a, SwitchIndex to) {
      if (links_.alive[a] == 0 || !order_.is_up(s, to)) return;
      least = std::min(least, climbing(s, to));
      entered = entered || (descends(to) && descending(to, s) == rows_[to].hops);
    });
    if (entered) {
      if (least <= own.down && links_.graph.attached()[s] != 0) return false;
      least = kFar;
    }
    least = std::min(least, own.down);
    const bool moved = std::exchange(own.hops, least) != least || straightened_[s] != 0;
    const bool goes_down = descends(s);
    bool had = false, ways = false, lost = false;
    each_arc(s, [&](std::uint32_t a, SwitchIndex to) {
      const bool up = order_.is_up(s, to);
      const bool was = (arcs_[a] & bit_) != 0;
      const bool is =
          links_.alive[a] != 0 && least != kFar &&
          (up ? !entered && climbing(s, to) == least : goes_down && descending(s, to) == least);
      had = had || was, ways = ways || is, lost = lost || (was && !is);
      if (was != is) toggled_.push_back(a);
      if (!up && links_.alive[a] != 0 && (moved || was != is)) downwards_.add(place(to));
    });
    if (lost || (!had && ways)) changes.push_back({s, target_, ways, least});
    return true;
  }

  const LiveLinks& links_;
  const UpDownOrder& order_;
  std::vector<std::uint64_t>& arcs_;
  std::uint16_t target_{};
  std::uint64_t bit_{};
  SwitchIndex leaf_{};
  std::span<UpDownHops> rows_;              // by switch
  Agenda<std::less<>> upwards_;             // the lowest first
  Agenda<std::greater<>> downwards_;        // the highest first
  std::vector<std::uint8_t> straightened_;  // by switch: a valley with another `straight`
  std::vector<std::uint32_t> toggled_;      // arcs
};

class LiveUpDown : public LiveWays {
 public:
  LiveUpDown(const fabric::CompactGraph& graph, UpDownOrder order,
             std::span<const SwitchIndex> targets)
      : graph_(graph),
        order_(std::move(order)),
        targets_(targets.begin(), targets.end()),
        rows_(targets.size() * graph.switch_count()),
        whole_(targets.size() / tables::kTargetsPerBatch + 1, 0) {}

  tables::LeastHops begin(std::size_t batch) override {
    const auto targets = of_batch(batch);
    tables::LeastHops found;
    whole_[batch] = up_down_hops(graph_, order_, targets, rows(batch, 0, targets.size()), found);
    return found;
  }

  Followed follow(std::size_t batch, const LiveLinks& links, std::vector<std::uint64_t>& arcs,
                  std::vector<Change>& changes) override {
    const auto targets = of_batch(batch);
    const std::uint64_t known = whole_[batch];
    std::uint64_t redrawn = 0;
    const auto spared = lose_spare_climbs(batch, links, arcs, changes);
    OneTarget one(links, order_, arcs);
    for (std::size_t b = 0; b < targets.size(); ++b) {
      if (((known >> b) & 1) != 0) continue;
      one.begin(b, targets[b], rows(batch, b, 1));
      for (const std::uint32_t a : links.lost) one.touch(a, false);
      for (const std::uint32_t a : links.found) one.touch(a, true);
      if (!one.is_touched()) continue;
      (one.follow(changes) ? redrawn : whole_[batch]) |= std::uint64_t{1} << b;
    }
    for (const auto& [a, bits] : spared) arcs[a] |= bits & whole_[batch];
    std::erase_if(
        changes, [&](const Change& change) { return ((whole_[batch] >> change.target) & 1) != 0; });
    for (Change& change : changes) {
      change.level = level(batch, change.target, change.at);
      change.way = change.level != LiveWays::kFar;
    }
    return {whole_[batch], redrawn};
  }

  std::uint32_t level(std::size_t batch, std::size_t target, SwitchIndex at) const override {
    const std::size_t row = batch * tables::kTargetsPerBatch + target;
    const std::uint8_t hops = rows_[row * graph_.switch_count() + at].hops;
    return hops == UpDownHops::kFar ? LiveWays::kFar : hops;
  }

 private:
  std::span<const SwitchIndex> of_batch(std::size_t batch) const {
    const std::size_t first = batch * tables::kTargetsPerBatch;
    return std::span(targets_).subspan(first,
                                       std::min(tables::kTargetsPerBatch, targets_.size() - first));
  }
  std::span<UpDownHops> rows(std::size_t batch, std::size_t b, std::size_t count) {
    const std::size_t switches = graph_.switch_count();
    return std::span(rows_).subspan((batch * tables::kTargetsPerBatch + b) * switches,
                                    count * switches);
  }

  /// Where one of several candidates of a switch led up, nothing else changes. Returns what was
  /// lost, by arc.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> lose_spare_climbs(
      std::size_t batch, const LiveLinks& links, std::vector<std::uint64_t>& arcs,
      std::vector<Change>& changes) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> lost;
    for (std::size_t k = 0; k < links.lost.size();) {
      const SwitchIndex s = links.from[links.lost[k]];
      const std::size_t first = k;
      std::uint64_t used = 0, left = 0;
      for (; k < links.lost.size() && links.from[links.lost[k]] == s; ++k)
        if (order_.is_up(s, links.arc(links.lost[k]).to)) used |= arcs[links.lost[k]];
      if ((used & ~whole_[batch]) == 0) continue;
      for (std::size_t i = 0; i < graph_.arcs(s).size(); ++i)
        if (links.alive[links.first(s) + i] != 0) left |= arcs[links.first(s) + i];
      const std::uint64_t spare = used & left & ~whole_[batch];
      for (std::size_t j = first; j < k; ++j)
        if (const std::uint32_t a = links.lost[j]; order_.is_up(s, links.arc(a).to)) {
          lost.emplace_back(a, arcs[a] & spare);
          arcs[a] &= ~spare;
        }
      for (std::uint64_t bits = spare; bits != 0; bits &= bits - 1) {
        const auto b = static_cast<std::uint16_t>(std::countr_zero(bits));
        changes.push_back({s, b, true, rows(batch, b, 1)[s].hops});
      }
    }
    return lost;
  }

  const fabric::CompactGraph& graph_;
  UpDownOrder order_;
  std::vector<SwitchIndex> targets_;
  std::vector<UpDownHops> rows_;      // by target, then by switch
  std::vector<std::uint64_t> whole_;  // by batch: targets that are looked at as a whole
};

}  // namespace

std::unique_ptr<LiveWays> follow_up_down(const fabric::CompactGraph& graph, UpDownOrder order,
                                         std::span<const SwitchIndex> targets) {
  return std::make_unique<LiveUpDown>(graph, std::move(order), targets);
}

}  // namespace ib::route
