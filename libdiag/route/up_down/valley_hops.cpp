// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/up_down/valley_hops.h"

#include <algorithm>
#include <array>
#include <vector>

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// A rule for the first step of a path: where it leads, and which shapes may follow.
struct Step {
  PathShape gives;  // at most
  bool up;
  std::array<bool, 6> onto;  // by PathShape of the rest
};

/// From the best to the worst. What a switch keeps is all that the first of them allows which
/// allows anything.
//                                           Empty Down  Up    UpDown DownUp DownUpDown
constexpr Step kSteps[] = {
    {PathShape::Down, false, {true, true, false, false, false, false}},
    {PathShape::Up, true, {true, false, true, false, false, false}},
    {PathShape::UpDown, true, {true, true, true, true, false, false}},
    {PathShape::DownUp, false, {true, true, true, false, true, false}},
    {PathShape::DownUpDown, false, {true, true, true, true, true, true}},
};
constexpr std::size_t kStepCount = std::size(kSteps);

/// Targets of a batch, a bit each.
struct Special {
  std::uint64_t free{};   // all least hops will do where a valley is needed
  std::uint64_t alike{};  // all who need a valley turn in the same one
};

/// To switches at the bottom valleys are needed only where something is missing, and then one way
/// back is of no shape that a layer is for. Switches without hosts carry no load.
Special special(const fabric::CompactGraph& graph, const UpDownOrder& order,
                std::span<const SwitchIndex> targets, Valleys valleys) {
  Special found;
  for (std::size_t b = 0; b < targets.size(); ++b) {
    const SwitchIndex t = targets[b];
    const std::uint64_t bit = std::uint64_t{1} << b;
    const bool bottom = std::ranges::all_of(
        graph.arcs(t), [&](const fabric::Arc& arc) { return order.is_up(t, arc.to); });
    if (graph.attached()[t] == 0 || (bottom && valleys == Valleys::Few))
      found.alike |= bit;
    else if (bottom)
      found.free |= bit;
  }
  return found;
}

/// Of one switch: the targets of a batch, a bit each, that each of kSteps onto it allows.
using Admitted = std::array<std::uint64_t, kStepCount>;

void admit(Admitted& by, PathShape shape, std::uint64_t targets) {
  for (std::size_t i = 0; i < kStepCount; ++i)
    if (kSteps[i].onto[static_cast<std::size_t>(shape)]) by[i] |= targets;
}

/// The arcs of one switch.
class Chooser {
 public:
  Chooser(const TreeOrders& orders, SwitchIndex s, std::span<const fabric::Arc> arcs,
          std::span<std::uint64_t> words)
      : orders_(orders), self_(s), arcs_(arcs), words_(words) {}

  /// Of `targets` those to which some arc is such a step; for them no other arc stays.
  template <class Allows>
  std::uint64_t keep(bool up, std::uint64_t targets, Allows allows) {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < arcs_.size(); ++i)
      if (goes(i, up)) found |= words_[i] & targets & allows(arcs_[i].to);
    for (std::size_t i = 0; found != 0 && i < arcs_.size(); ++i)
      words_[i] &= ~found | (goes(i, up) ? allows(arcs_[i].to) : 0);
    return found;
  }

  /// Of the arcs that are left for these targets those to one neighbour, the highest by single
  /// tops.
  void keep_highest(std::uint64_t targets) {
    SwitchIndex last = fabric::kNoSwitch;  // looked at, with all above it
    const auto position = orders_.single_tops.positions();
    while (targets != 0) {
      SwitchIndex next = fabric::kNoSwitch;
      for (const auto& arc : arcs_)
        if ((last == fabric::kNoSwitch || position[arc.to] > position[last]) &&
            (next == fabric::kNoSwitch || position[arc.to] < position[next]))
          next = arc.to;
      if (next == fabric::kNoSwitch) return;
      std::uint64_t found = 0;
      for (std::size_t i = 0; i < arcs_.size(); ++i)
        if (arcs_[i].to == next) found |= words_[i] & targets;
      for (std::size_t i = 0; found != 0 && i < arcs_.size(); ++i)
        if (arcs_[i].to != next) words_[i] &= ~found;
      targets &= ~found;
      last = next;
    }
  }

 private:
  bool goes(std::size_t i, bool up) const { return orders_.levels.is_up(self_, arcs_[i].to) == up; }

  const TreeOrders& orders_;
  SwitchIndex self_;
  std::span<const fabric::Arc> arcs_;
  std::span<std::uint64_t> words_;
};

}  // namespace

PathShape after_step(bool up, PathShape rest) {
  using enum PathShape;
  static constexpr PathShape kUp[] = {Up, UpDown, Up, UpDown, Other, Other, Other};
  static constexpr PathShape kDown[] = {Down, Down, DownUp, DownUpDown, DownUp, DownUpDown, Other};
  return (up ? kUp : kDown)[static_cast<std::size_t>(rest)];
}

tables::LeastHops valley_hops(const fabric::CompactGraph& graph, const TreeOrders& orders,
                              std::span<const SwitchIndex> targets, Valleys valleys) {
  tables::LeastHops hops = tables::least_hops(graph, targets);
  const auto [free, alike] = special(graph, orders.levels, targets, valleys);
  std::vector<Admitted> admitted(graph.switch_count(), Admitted{});
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    admit(admitted[s], PathShape::Empty, hops.at[0][s]);
  for (std::size_t level = 1; level < hops.at.size(); ++level)
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
      std::uint64_t open = hops.at[level][s];
      const auto arcs = graph.arcs(s);
      Chooser chooser(orders, s, arcs, {hops.arcs.data() + graph.arc_index(s, 0), arcs.size()});
      for (std::size_t i = 0; i < kStepCount && open != 0; ++i) {
        const Step& step = kSteps[i];
        const bool valley = step.gives > PathShape::UpDown;
        if (valley) open &= ~free;
        const std::uint64_t found =
            chooser.keep(step.up, open, [&](SwitchIndex next) { return admitted[next][i]; });
        admit(admitted[s], step.gives, found);
        if (valley && (found & alike) != 0) chooser.keep_highest(found & alike);
        open &= ~found;
      }
      if (open != 0) chooser.keep(false, open, [](SwitchIndex) { return ~std::uint64_t{0}; });
    }
  return hops;
}

}  // namespace ib::route
