// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Pairs of switches that fit no layer are routed again: a switch on the way takes another exit, and
// with it all that comes through it, as long as each of those pairs still fits some layer.
#pragma once

#include <optional>

#include "libdiag/route/deadlock/layer.h"

namespace ib::route {

class PairMender {
 public:
  static constexpr std::uint8_t kNoLayer = 255;

  /// `layer_of` by pair; kNoLayer where it fits none.
  PairMender(const Walker& walker, Ways& ways, PairTurns& pairs, std::vector<Layer>& layers,
             std::vector<std::uint8_t>& layer_of);

  /// Another way for a pair that has no layer, in one direction. False, and nothing changes: none
  /// was found.
  bool mend(std::uint32_t pair);
  /// The same in both directions at once, which takes longer.
  bool mend_both_ways(std::uint32_t pair);
  /// Leads routes around the most loaded links as long as that lowers the greatest load. Pairs stay
  /// in their layers if told so.
  void relieve(bool keep_layers);

 private:
  /// Switches that follow each other, each with its new exit; from the last one the way goes on as
  /// before.
  struct Detour {
    fabric::SwitchIndex from{}, to{};
    std::vector<std::pair<fabric::SwitchIndex, std::uint8_t>> exits;
    std::size_t senders{};  // switches with CAs whose way changes, about
    std::int64_t load{};    // of the most loaded link on the way
  };
  /// What a detour changed.
  struct Change {
    struct Exit {
      std::size_t tree;
      fabric::SwitchIndex at;
      std::uint8_t former;
    };
    struct Pair {
      std::uint32_t pair;
      std::uint8_t former_layer, layer;
      std::vector<Turn> former_turns, added;
    };
    fabric::SwitchIndex to{};
    std::vector<fabric::SwitchIndex> from;  // whose ways changed
    std::vector<Exit> exits;
    std::vector<Pair> pairs;
  };

  std::vector<Detour> detours_of(fabric::SwitchIndex from, fabric::SwitchIndex to,
                                 std::size_t longest);
  static void sort(std::vector<Detour>& detours, std::size_t most);
  static bool leaves(const Detour& detour, fabric::SwitchIndex s);
  fabric::SwitchIndex end_of(const Detour& detour) const;
  bool reaches_without(const Detour& detour) const;
  bool is_met(const Detour& detour, fabric::SwitchIndex from) const;
  void weigh(Detour& detour) const;
  void count_loads();
  void load(fabric::SwitchIndex to, std::span<const fabric::SwitchIndex> from, std::int64_t sign);
  bool relieve(fabric::SwitchIndex s, std::uint8_t exit, fabric::SwitchIndex to, std::int64_t most,
               std::size_t& tries);
  bool passes(const Detour& detour, fabric::SwitchIndex s, std::uint8_t exit) const;
  std::int64_t moved_by(const Detour& detour) const;
  void count_senders(fabric::SwitchIndex to);

  /// Leads everybody whose way meets it over a detour. Nothing, and nothing changes: some pair fits
  /// no layer any more. Whether the pair it is for must fit, `itself` says.
  std::optional<Change> take(const Detour& detour, bool itself);
  bool place(fabric::SwitchIndex source, fabric::SwitchIndex to, Change& change);
  void move(std::uint32_t pair, std::uint8_t from, std::uint8_t to);
  void undo(Change change);

  const Walker& walker_;
  const fabric::CompactGraph& graph_;
  Ways& ways_;
  PairTurns& pairs_;
  std::vector<Layer>& layers_;
  std::vector<std::uint8_t>& layer_of_;
  bool keep_layers_{false};
  std::vector<std::int64_t> load_;    // by arc
  std::vector<std::int64_t> weight_;  // by tree: LIDs that follow it
  // By switch, to the target at hand: switches with CAs that send through it, and end ports.
  std::vector<std::size_t> senders_;
  std::vector<std::int64_t> senders_load_;
};

}  // namespace ib::route
