// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/transition.h"

#include <algorithm>
#include <map>

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// An entry that changes, and the first round in which it may.
struct Change {
  SwitchIndex at{};
  std::uint32_t round{};
  bool broken{};  // leads nowhere now
  bool bound{};   // to that round
};

/// One LID: the old and the new entry of every switch that a packet may meet while they mix.
///
/// As long as the arcs of both kinds together form no cycle, every mixture is free of loops. In a
/// part where they do (a strongly connected component), a switch waits until all those behind it on
/// its new way, as far as that lies in the part, have changed. A loop would stay in one part and
/// use a new arc of some switch; but from there everything follows the new way, out of the part.
class OneLid {
 public:
  OneLid(const fabric::CompactGraph& graph, const std::vector<SwitchIndex>& far, std::size_t ports,
         const routes::LinearTables& before, const routes::LinearTables& after)
      : far_(far),
        ports_(ports),
        before_(before),
        after_(after),
        visit_(graph.switch_count()),
        round_(graph.switch_count(), 0) {}

  void order(Lid lid, std::vector<Change>& changes) {
    lid_ = lid;
    counter_ = parts_ = 0;
    for (const Change& change : changes) visit(change.at);
    for (Change& change : changes) {
      change.broken = next(before_, change.at) == fabric::kNoSwitch &&
                      next(after_, change.at) != fabric::kNoSwitch;
      change.bound = visit_[change.at].cyclic;
      change.round = change.bound ? round_of(change.at) : 0;
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

  SwitchIndex next(const routes::LinearTables& tables, SwitchIndex s) const {
    const std::uint8_t port = tables.at(s, lid_);
    return port < ports_ ? far_[s * ports_ + port] : fabric::kNoSwitch;
  }

  /// Tarjan's strongly connected components.
  void visit(SwitchIndex s) {
    if (visit_[s].index != 0) return;
    visit_[s].index = visit_[s].low = ++counter_;
    seen_.push_back(s);
    stack_.push_back(s);
    for (const SwitchIndex to : {next(before_, s), next(after_, s)}) {
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
    std::uint32_t round = 0;
    const SwitchIndex to = next(after_, s);
    if (to != fabric::kNoSwitch && visit_[to].part == visit_[s].part) {
      round = round_of(to);
      if (before_.at(to, lid_) != after_.at(to, lid_)) ++round;
    }
    round_[s] = round + 1;
    return round;
  }

  const std::vector<SwitchIndex>& far_;
  std::size_t ports_;
  const routes::LinearTables& before_;
  const routes::LinearTables& after_;
  Lid lid_{};
  std::vector<Visit> visit_;
  std::vector<SwitchIndex> seen_, stack_;
  std::vector<std::uint32_t> round_;
  std::uint32_t counter_{0}, parts_{0};
};

}  // namespace

Transition plan_transition(const fabric::CompactGraph& graph, const routes::LinearTables& before,
                           const routes::LinearTables& after) {
  const std::size_t ports = graph.max_ports() + std::size_t{1};
  std::vector<SwitchIndex> far(graph.switch_count() * ports, fabric::kNoSwitch);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s)) far[s * ports + arc.out_port] = arc.to;
  const std::size_t lids = std::max(before.lid_count(), after.lid_count());
  std::vector<std::vector<Change>> by_lid(lids);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (std::size_t lid = 0; lid < lids; ++lid) {
      const Lid of{static_cast<std::uint16_t>(lid)};
      if (before.at(s, of) != after.at(s, of)) by_lid[lid].push_back({s, 0, false, false});
    }

  struct Block {
    std::vector<std::pair<std::uint8_t, Change>> entries;  // by place in the block
  };
  std::map<std::pair<SwitchIndex, std::uint16_t>, Block> blocks;
  OneLid orderer(graph, far, ports, before, after);
  for (std::size_t lid = 0; lid < lids; ++lid) {
    if (by_lid[lid].empty()) continue;
    orderer.order(Lid{static_cast<std::uint16_t>(lid)}, by_lid[lid]);
    for (const Change& change : by_lid[lid])
      blocks[{change.at, static_cast<std::uint16_t>(lid / kBlockSize)}].entries.emplace_back(
          static_cast<std::uint8_t>(lid % kBlockSize), change);
  }

  Transition result;
  std::vector<std::vector<Transition::Write>> urgent;
  for (const auto& [where, block] : blocks) {
    // Entries that may change at any time go along with the first that may not.
    std::map<std::uint32_t, bool> rounds;  // and whether something broken is repaired then
    for (const auto& [place, change] : block.entries)
      if (change.bound || change.broken) rounds[change.round] |= change.broken;
    if (rounds.empty()) rounds[0] = false;
    result.extra += rounds.size() - 1;
    for (const auto& [round, repairs] : rounds) {
      Transition::Write write{where.first, where.second, {}};
      for (std::size_t place = 0; place < kBlockSize; ++place) {
        const Lid lid{static_cast<std::uint16_t>(where.second * kBlockSize + place)};
        write.ports[place] = after.at(where.first, lid);
      }
      for (const auto& [place, change] : block.entries)
        if ((change.bound || change.broken) && change.round > round) {
          const Lid lid{static_cast<std::uint16_t>(where.second * kBlockSize + place)};
          write.ports[place] = before.at(where.first, lid);
        }
      if (result.rounds.size() <= round) result.rounds.resize(round + 1), urgent.resize(round + 1);
      (repairs ? urgent : result.rounds)[round].push_back(write);
    }
  }
  for (std::size_t round = 0; round < urgent.size(); ++round)
    result.rounds[round].insert(result.rounds[round].begin(), urgent[round].begin(),
                                urgent[round].end());
  std::erase_if(result.rounds, [](const auto& round) { return round.empty(); });
  return result;
}

}  // namespace ib::route
