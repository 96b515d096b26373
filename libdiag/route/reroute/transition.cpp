// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/transition.h"

#include <algorithm>

namespace ib::route {
namespace {

using fabric::SwitchIndex;
using Write = Transition::Write;

/// An entry that changes, and the first round in which it may.
struct Change {
  std::uint32_t block{};  // of those that are held
  std::uint32_t round{};
  std::uint8_t place{};  // in the block
  bool broken{};         // leads nowhere now
  bool bound{};          // to that round
};

/// One LID after the other: the old and the new entry of every switch that a packet may
/// meet while they mix.
///
/// As long as the arcs of both kinds together form no cycle, every mixture is free of loops. In a
/// part where they do (a strongly connected component), a switch waits until all those behind it on
/// its new way, as far as that lies in the part, have changed. A loop would stay in one part and
/// use a new arc of some switch; but from there everything follows the new way, out of the part.
class OneLid {
 public:
  OneLid(const fabric::CompactGraph& graph, std::span<const Write> held,
         const tables::LinearTables& after)
      : held_(held),
        after_(after),
        ports_(graph.max_ports() + std::size_t{1}),
        far_(graph.switch_count() * ports_, fabric::kNoSwitch),
        held_at_(graph.switch_count(), nullptr),
        visit_(graph.switch_count()),
        round_(graph.switch_count(), 0) {
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& arc : graph.arcs(s)) far_[s * ports_ + arc.out_port] = arc.to;
  }

  /// Begins with LIDs of another block; `blocks`: all of that number that are held.
  void begin(std::span<const std::uint32_t> blocks) {
    for (const SwitchIndex s : holders_) held_at_[s] = nullptr;
    holders_.clear();
    for (const std::uint32_t block : blocks) {
      held_at_[held_[block].at] = &held_[block];
      holders_.push_back(held_[block].at);
    }
  }

  /// `indexes`: the changes of a LID.
  void order(Lid lid, std::span<const std::uint32_t> indexes, std::vector<Change>& changes) {
    lid_ = lid;
    counter_ = parts_ = 0;
    for (const std::uint32_t i : indexes) visit(held_[changes[i].block].at);
    for (const std::uint32_t i : indexes) {
      Change& change = changes[i];
      const SwitchIndex at = held_[change.block].at;
      change.broken =
          far(at, before(at)) == fabric::kNoSwitch && far(at, after(at)) != fabric::kNoSwitch;
      change.bound = visit_[at].cyclic;
      change.round = change.bound ? round_of(at) : 0;
    }
    for (const SwitchIndex s : seen_) visit_[s] = {}, round_[s] = 0;
    seen_.clear();
  }

 private:
  struct Visit {
    std::uint32_t index{}, low{};  // 0: not seen
    std::uint32_t part{};          // 0: still on the stack
    bool cyclic{};                 // one of several in its part
  };

  std::uint8_t after(SwitchIndex s) const { return after_.at(s, lid_); }
  std::uint8_t before(SwitchIndex s) const {
    return held_at_[s] == nullptr ? after(s) : held_at_[s]->ports[lid_.value % kBlockSize];
  }
  SwitchIndex far(SwitchIndex s, std::uint8_t port) const {
    return port < ports_ ? far_[s * ports_ + port] : fabric::kNoSwitch;
  }

  /// Tarjan's strongly connected components.
  void visit(SwitchIndex s) {
    if (visit_[s].index != 0) return;
    visit_[s].index = visit_[s].low = ++counter_;
    seen_.push_back(s);
    stack_.push_back(s);
    for (const SwitchIndex to : {far(s, before(s)), far(s, after(s))}) {
      if (to == fabric::kNoSwitch) continue;
      visit(to);
      if (visit_[to].part == 0) visit_[s].low = std::min(visit_[s].low, visit_[to].low);
    }
    if (visit_[s].low != visit_[s].index) return;
    ++parts_;
    const bool cyclic = stack_.back() != s;
    for (SwitchIndex member = fabric::kNoSwitch; member != s;) {
      member = stack_.back();
      stack_.pop_back();
      visit_[member].part = parts_;
      visit_[member].cyclic = cyclic;
    }
  }

  /// One more than the latest of those that change behind s; kept plus one in round_.
  std::uint32_t round_of(SwitchIndex s) {
    if (round_[s] != 0) return round_[s] - 1;
    round_[s] = 1;  // where `after` has a loop all the same, it ends
    std::uint32_t round = 0;
    const SwitchIndex to = far(s, after(s));
    if (to != fabric::kNoSwitch && visit_[to].part == visit_[s].part) {
      round = round_of(to);
      if (before(to) != after(to)) ++round;
    }
    round_[s] = round + 1;
    return round;
  }

  std::span<const Write> held_;
  const tables::LinearTables& after_;
  std::size_t ports_;
  std::vector<SwitchIndex> far_;       // [s * ports_ + port]
  std::vector<const Write*> held_at_;  // by switch: what has the LID
  std::vector<SwitchIndex> holders_;
  Lid lid_{};
  std::vector<Visit> visit_;
  std::vector<SwitchIndex> seen_, stack_;
  std::vector<std::uint32_t> round_;
  std::uint32_t counter_{0}, parts_{0};
};

/// The numbers from 0 to `count` in order of a key, and where each key begins.
struct Sorted {
  std::vector<std::uint32_t> numbers, first;
  std::span<const std::uint32_t> of(std::size_t key) const {
    return std::span(numbers).subspan(first[key], first[key + 1] - first[key]);
  }
};

template <class Key>
Sorted sorted(std::size_t count, std::size_t keys, Key key) {
  Sorted result{std::vector<std::uint32_t>(count), std::vector<std::uint32_t>(keys + 2, 0)};
  for (std::uint32_t i = 0; i < count; ++i) ++result.first[key(i) + 2];
  for (std::size_t k = 2; k < result.first.size(); ++k) result.first[k] += result.first[k - 1];
  for (std::uint32_t i = 0; i < count; ++i) result.numbers[result.first[key(i) + 1]++] = i;
  return result;
}

/// Puts what must be written of one block into rounds. Entries that may change at any time go along
/// with the first that may not.
class Rounds {
 public:
  void add(const Write& held, const Write& wanted, std::span<const Change> changes) {
    when_.clear();
    for (const Change& change : changes)
      if (change.bound || change.broken) when_.push_back(change.round);
    if (when_.empty()) when_.push_back(0);
    std::sort(when_.begin(), when_.end());
    when_.erase(std::unique(when_.begin(), when_.end()), when_.end());
    extra_ += when_.size() - 1;
    for (const std::uint32_t round : when_) {
      Write write = wanted;
      bool repairs = false;
      for (const Change& change : changes) {
        if (!change.bound && !change.broken) continue;
        if (change.round > round) write.ports[change.place] = held.ports[change.place];
        repairs = repairs || (change.broken && change.round == round);
      }
      if (rounds_.size() <= round) rounds_.resize(round + 1), urgent_.resize(round + 1);
      (repairs ? urgent_ : rounds_)[round].push_back(write);
    }
  }

  Transition take() {
    for (std::size_t round = 0; round < urgent_.size(); ++round)
      rounds_[round].insert(rounds_[round].begin(), urgent_[round].begin(), urgent_[round].end());
    std::erase_if(rounds_, [](const auto& round) { return round.empty(); });
    return {std::move(rounds_), extra_};
  }

 private:
  std::vector<std::vector<Write>> rounds_, urgent_;
  std::size_t extra_{0};
  std::vector<std::uint32_t> when_;
};

}  // namespace

Write block_of(const tables::LinearTables& tables, SwitchIndex at, std::uint16_t block) {
  Write write{at, block, {}};
  write.ports.fill(tables::kNoPort);
  const std::size_t first = block * kBlockSize;
  if (at >= tables.switch_count() || first >= tables.lid_count()) return write;
  const auto row = tables.row(at).subspan(first);
  std::copy_n(row.begin(), std::min(kBlockSize, row.size()), write.ports.begin());
  return write;
}

Transition plan_transition(const fabric::CompactGraph& graph, std::span<const Write> held,
                           const tables::LinearTables& after) {
  std::vector<Change> changes;
  std::vector<std::size_t> first;  // change of each block
  std::size_t blocks = 0;
  for (std::uint32_t i = 0; i < held.size(); ++i) {
    first.push_back(changes.size());
    blocks = std::max(blocks, held[i].block + std::size_t{1});
    const Write wanted = block_of(after, held[i].at, held[i].block);
    for (std::uint8_t place = 0; place < kBlockSize; ++place)
      if (wanted.ports[place] != held[i].ports[place])
        changes.push_back({i, 0, place, false, false});
  }
  first.push_back(changes.size());

  const Sorted by_number =
      sorted(held.size(), blocks, [&](std::uint32_t i) { return held[i].block; });
  const Sorted by_lid = sorted(changes.size(), blocks * kBlockSize, [&](std::uint32_t i) {
    return held[changes[i].block].block * kBlockSize + changes[i].place;
  });
  OneLid orderer(graph, held, after);
  for (std::size_t block = 0; block < blocks; ++block) {
    if (by_number.of(block).empty()) continue;
    orderer.begin(by_number.of(block));
    for (std::size_t lid = block * kBlockSize; lid < (block + 1) * kBlockSize; ++lid)
      if (const auto those = by_lid.of(lid); !those.empty())
        orderer.order(Lid{static_cast<std::uint16_t>(lid)}, those, changes);
  }

  Rounds rounds;
  for (std::uint32_t i = 0; i < held.size(); ++i)
    if (first[i] != first[i + 1])
      rounds.add(held[i], block_of(after, held[i].at, held[i].block),
                 std::span(changes).subspan(first[i], first[i + 1] - first[i]));
  return rounds.take();
}

}  // namespace ib::route
