// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A topological order of the channel dependency graph that is kept while turns are added (Pearce
// and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006). Inside
// libdiag/tables only.
#pragma once

#include "libdiag/tables/verify_turns.h"

namespace ib::tables::check {

class GrowingOrder {
 public:
  /// Turns that switches alone take may be left out; looking for a place for each of tens of
  /// thousands would take minutes.
  static constexpr std::size_t kStepsForOptional = 10'000'000;

  /// Precondition: `position` is an order of `turns`, which has no cycle.
  GrowingOrder(const SwitchGraph& switch_graph, Dependencies& turns,
               std::vector<std::uint32_t> position, std::size_t steps_max = ~std::size_t{0});

  /// Adds `turn`; false, and nothing changes, when it would close a cycle, or when it needs the
  /// order to change after steps_max.
  bool add(Turn turn);
  std::vector<std::uint32_t> take_position() { return std::move(position_); }
  /// Nodes looked at so far: the price.
  std::size_t steps() const { return steps_; }

 private:
  /// Of a switch that a search backwards has come to: what leads to each node out of it, as bits in
  /// the order of SwitchGraph::into() and VLs.
  struct Before {
    std::size_t words{0};
    std::vector<std::uint64_t> bits;  // by node
    std::vector<std::uint64_t> met;   // by the search under way
    bool has_met{false};
  };
  void prepare();
  Before& before(SwitchIndex s);
  void note(Turn turn);
  bool search_ahead(Turn turn);
  void search_behind(Turn turn);
  void mend();
  void places_of(const std::vector<Node>& nodes, std::vector<std::uint32_t>& places) const;

  const SwitchGraph& switch_graph_;
  Dependencies& turns_;
  std::vector<std::uint32_t> position_;  // by node
  std::size_t steps_{0}, steps_max_;

  // Made when a turn first goes against the order.
  std::vector<Node> node_at_;       // by position
  std::vector<std::uint64_t> met_;  // by switch: bits of the nodes out of it that were met ahead
  std::vector<std::size_t> met_words_;  // those that are not 0
  std::vector<Before> before_;          // by switch
  std::vector<SwitchIndex> met_at_;     // switches that the search backwards has met
  std::vector<Node> ahead_, behind_, nodes_;
  std::vector<std::uint32_t> ahead_places_, behind_places_, places_;
};

}  // namespace ib::tables::check
