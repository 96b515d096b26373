// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Up*/down* paths under a total order of the switches: every path climbs to smaller positions, then
// descends to larger ones, and never climbs again. Whatever the order and the graph, such paths
// close no cycle of channels: number the channels by the position of the switch they climb to, the
// highest last, then those that descend, by the switch they descend to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/route/spread/spread.h"
#include "libdiag/tables/least_hops.h"

namespace ib::route {

/// Switches from top to bottom.
class UpDownOrder {
 public:
  UpDownOrder() = default;
  /// `from_top` holds every switch once.
  explicit UpDownOrder(std::vector<fabric::SwitchIndex> from_top);
  std::span<const fabric::SwitchIndex> from_top() const { return from_top_; }
  /// By switch; 0 is the top.
  std::span<const std::uint32_t> positions() const { return position_; }
  bool is_up(fabric::SwitchIndex from, fabric::SwitchIndex to) const {
    return position_[to] < position_[from];
  }
  /// What with_single_tops() did: `valley` was put above switches that were above it. `former` is
  /// the order before it.
  void set_valleys(std::vector<bool> valley, std::vector<std::uint32_t> former) {
    valley_ = std::move(valley), former_ = std::move(former);
  }
  bool is_valley(fabric::SwitchIndex s) const { return !valley_.empty() && valley_[s]; }
  /// Whether a packet that comes over this link and leaves the way it must turns in a valley.
  bool turns_at(fabric::SwitchIndex from, fabric::SwitchIndex to) const {
    return is_valley(to) && !was_up(from, to);
  }
  /// Hops by way of a valley, of which `straight` follow links that were below it all along.
  static std::uint8_t over_valley(std::uint8_t hops, std::uint8_t straight) {
    return static_cast<std::uint8_t>(std::min(hops + (straight == hops ? 1 : 3), 255));
  }
  std::uint32_t former_position(fabric::SwitchIndex s) const {
    return former_.empty() ? position_[s] : former_[s];
  }
  /// Before the valleys were put where they are.
  bool was_up(fabric::SwitchIndex from, fabric::SwitchIndex to) const {
    return former_.empty() ? is_up(from, to) : former_[to] < former_[from];
  }

 private:
  std::vector<fabric::SwitchIndex> from_top_;
  std::vector<std::uint32_t> position_;
  std::vector<bool> valley_;
  std::vector<std::uint32_t> former_;
};

/// The same order with as few links turned round as it takes for every component to have a single
/// top, so that every switch reaches every other. Two tops reach each other only through something
/// below both, a valley; that is put above one of them, with what lies between:
///
///      A   B            A
///      |\ /|            |\.
///      | X |    ->      | L      paths between leaves over B stay what they were: M climbs to B
///      |/ \|            |/|\.    and L as well, and A reaches B through L
///      M   L            M  B
UpDownOrder with_single_tops(const fabric::CompactGraph& graph, const UpDownOrder& order);

/// The arcs on the shortest up*/down* paths towards each target of a batch, such that tables made
/// of any choice among them never descend and then climb. A switch that a packet may enter
/// descending goes on descending, even where its own way would be shorter over a climb; but only
/// packets of CAs may ask that of a switch with CAs. What is no way for CAs' packets may then have
/// none. A way that turns in a valley, which often is a leaf, counts as two hops longer: CAs'
/// packets stay clear of it where they can.
tables::LeastHops up_down_hops(const fabric::CompactGraph& graph, const UpDownOrder& order,
                               std::span<const fabric::SwitchIndex> targets);

/// How far a switch is from one target; kFar: there is no such way.
struct UpDownHops {
  static constexpr std::uint8_t kFar = 255;
  std::uint8_t down{kFar};      // by steps down alone
  std::uint8_t straight{kFar};  // the same; out of a valley by links that were below it all along
  std::uint8_t hops{kFar};      // by what is allowed
  friend bool operator==(const UpDownHops&, const UpDownHops&) = default;
};

/// The same, with what it found on the way: `rows` by target, then by switch. Returns the targets
/// for which some switch with CAs must take a worse way than it could, whose `hops` follow from
/// more than those of the neighbours.
std::uint64_t up_down_hops(const fabric::CompactGraph& graph, const UpDownOrder& order,
                           std::span<const fabric::SwitchIndex> targets, std::span<UpDownHops> rows,
                           tables::LeastHops& candidates);

/// up_down_hops() of every batch, in parallel.
std::vector<tables::LeastHops> up_down_candidates(const fabric::CompactGraph& graph,
                                                  const UpDownOrder& order, const Targets& targets);

/// The rule of EngineEntry::candidates: the order stays, whatever becomes of the links. Switches
/// that went keep their place for when they come back. `detours`: as add_detours() has them.
CandidateRule candidates_by(const fabric::CompactGraph& graph, UpDownOrder order,
                            bool detours = false);

}  // namespace ib::route
