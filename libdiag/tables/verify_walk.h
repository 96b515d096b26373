// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Follows all sources to one LID at a time. As every switch has one exit for a LID, walks that meet
// stay together: each switch is visited once, and what flows is added up from the far end: end
// ports as numbers, their SLs as bits. Inside libdiag/tables only.
#pragma once

#include <array>

#include "libdiag/tables/tables.h"
#include "libdiag/tables/verify_turns.h"
#include "libdiag/tables/verify_vls.h"

namespace ib::tables::check {

/// Turns of some kind of traffic, as the walks collect them.
struct Turns {
  Dependencies graph;
  std::vector<std::uint16_t> sls;  // kind ByOutput: by channel and next port, until expanded

  Turns() = default;
  Turns(const SwitchGraph& switch_graph, const VlView& virtual_lanes);
  void merge(const Turns& other);
  /// Kind ByOutput: SLs become VLs.
  void expand(const SwitchGraph& switch_graph, const VlView& virtual_lanes);
};

struct WalkOptions {
  bool loads{true};
  bool switches_too{false};  // LIDs of switches count as CA LIDs do
};

/// Sums that threads make apart; adding them up gives the same in any order.
struct Tally {
  std::uint64_t unreachable{}, loops{}, must_failures{};
  std::uint64_t bystanders_unreachable{};  // from switches that no CA traffic starts at
  std::vector<std::uint64_t> load;         // by channel; empty: not asked for
  std::vector<std::uint16_t> carried;      // by channel: SLs of must traffic; Exact: VLs
  Turns must, should;                      // of CAs, routers and the SM; of LIDs of switches
  std::vector<Lid> bad_lids;

  Tally() = default;
  Tally(const SwitchGraph& switch_graph, const VlView& virtual_lanes, WalkOptions options);
  void add(const Tally& other);
};

class LidWalker {
 public:
  LidWalker(const SwitchGraph& switch_graph, const VlView& virtual_lanes, Lid sm_lid,
            WalkOptions options);

  /// `column[s]` is the port of switch s for the LID.
  void walk(const fabric::Destination& destination, const std::uint8_t* column);

 private:
  enum class State : std::uint8_t { Walking, Arrives, Lost };
  /// SLs (bits) on each VL.
  using Flow = std::array<std::uint16_t, 16>;

  bool resolve(const fabric::Destination& destination, const std::uint8_t* column);
  std::uint64_t loops_apart(const fabric::Destination& destination, const std::uint8_t* column);
  void resolve_bystanders(const fabric::Destination& destination, const std::uint8_t* column);
  /// One step of a walk at s: out_[s], or where it ends.
  bool step(const fabric::Destination& destination, const std::uint8_t* column, SwitchIndex s,
            State& end);
  void accumulate(const fabric::Destination& destination);
  void accumulate_exactly(const fabric::Destination& destination);
  std::uint64_t walk_each(const fabric::Destination& destination, const std::uint8_t* column);

  void turn(Turns& turns, Channel before, Channel after, std::uint16_t bits);
  Flow injected(Channel c, std::uint16_t sls) const;
  /// What is left of `flow` on c once it went on by `port`, with its turns.
  Flow forward(Turns* turns, Channel c, const Flow& flow, std::uint8_t port, bool carries);
  static void add(Flow& to, const Flow& from) {
    for (std::size_t v = 0; v < to.size(); ++v) to[v] |= from[v];
  }

  const SwitchGraph& switch_graph_;
  const VlView& virtual_lanes_;
  Lid sm_lid_;
  WalkOptions options_;
  bool exact_;
  bool must_{false};  // the LID being walked counts
  bool bystanders_send_{false};
  std::uint32_t stamp_{0};
  std::vector<std::uint32_t> visit_;
  std::vector<State> state_;
  std::vector<std::uint32_t> depth_, weight_;
  std::vector<Channel> out_;
  std::vector<std::uint16_t> must_bits_, all_bits_;  // what passes each switch; not Exact
  std::vector<Flow> must_flow_, all_flow_;           // the same on out_; Exact
  std::vector<SwitchIndex> path_, order_;  // order_: each switch after the one it leads to
  std::vector<std::uint16_t> sls_;         // by switch, to the leaf below
  SwitchIndex sls_leaf_{fabric::kNoSwitch};
  bool sls_to_sm_{false};

 public:
  Tally tally;
};

/// Walks to all LIDs, or to those of switches; blocks of LIDs in parallel. Turns are expanded, bad
/// LIDs ascend.
enum class Lids { All, Switches };
Tally walk_lids(const SwitchGraph& switch_graph, const VlView& virtual_lanes,
                const LinearTables& tables, Lid sm_lid, WalkOptions options, Lids which);

}  // namespace ib::tables::check
