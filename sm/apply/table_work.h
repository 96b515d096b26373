// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Forwarding tables of all switches: what each is known to hold, what it should hold, and which
// LFT block may be written when. Sends nothing. Inside sm/apply only.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <span>

#include "libdiag/route/reroute/unknown_ways.h"
#include "sm/apply/known.h"
#include "sm/plan/desired.h"

namespace sm::apply {

inline constexpr std::size_t kLftBlock = device::kLidsInBlock, kMftBlock = device::kMlidsInBlock,
                             kMftPorts = device::kPortsInPosition;

class TableWork {
 public:
  using Ports = std::array<std::uint8_t, kLftBlock>;

  struct Options {
    bool after_sweep{true};
    bool read_back{false};  // as ApplyOptions has them
  };
  /// Forgets what is `known` of switches that were rebooted, or may have been; of all, where it is
  /// to be read back.
  TableWork(const plan::Desired& desired, const ib::discover::Observed& seen, Known& known,
            Options options);

  /// kNoSwitch for hosts, and for switches that no routes are for.
  ib::fabric::SwitchIndex switch_of(ib::fabric::NodeIndex n) const;
  /// Whether the tables of a switch may hold something good; not of who is no managed switch.
  bool was_warm(ib::fabric::NodeIndex n) const { return states_[n].was_warm; }
  /// And may have lost it; true once.
  bool take_doubt(ib::fabric::NodeIndex n) { return std::exchange(states_[n].doubtful, false); }

  /// Switches without tables among others that have some, and none of those sends packets there
  /// yet: they can be told first. False as well when there are none of either kind.
  bool new_ones_can_be_first() const;
  /// A switch without tables has all of its own now.
  void became_warm(ib::fabric::NodeIndex n);

  /// Precondition, here and below: n is a managed switch.
  const device::Forwarding& held(ib::fabric::NodeIndex n) const {
    return *known_.inventory.forwarding(seen_.fabric.node(n).guid);
  }
  /// To take an answer in.
  device::Forwarding& own(ib::fabric::NodeIndex n) {
    return known_.inventory.own_forwarding(seen_.fabric.node(n).guid);
  }
  std::size_t lft_blocks() const;
  /// Of these, the first ones, which it may hold something in.
  std::size_t lft_blocks_held(ib::fabric::NodeIndex n) const;
  std::size_t mft_positions(ib::fabric::NodeIndex n) const;
  /// MFT blocks that are to hold something, or that this switch or another one may hold something
  /// in.
  std::span<const std::uint16_t> mft_blocks(ib::fabric::NodeIndex n) const {
    return states_[n].mft_blocks;
  }
  /// Whether the switch must be told this part of one.
  bool mft_differs(ib::fabric::NodeIndex n, std::uint16_t block, std::uint8_t position);
  std::uint16_t wanted_multicast_top(ib::fabric::NodeIndex n) const;
  std::array<std::uint16_t, kMftBlock> wanted_mft(ib::fabric::SwitchIndex s, std::uint16_t block,
                                                  unsigned position) const;

  /// Some block of some switch is not known to be as it is to.
  bool any_lft_is_due() const;
  /// All switches are known to send packets where they are to, and are to go on so.
  bool lfts_stand() const;
  /// From the tables that stand to the wanted ones without a loop at any moment: in rounds. Nodes
  /// that are `silent` keep what they have.
  void stage(const std::vector<bool>& silent);
  /// What is to be written in this round at the latest; nothing: the block waits for a later one.
  std::optional<Ports> due_lft(ib::fabric::SwitchIndex s, std::uint32_t block) const;
  bool last_round() const { return round_ + 1 >= rounds_; }
  /// False when there is none, or a Set of this one was not acknowledged.
  bool next_round();
  /// What a switch holds after an LFT Set without an answer is not known, and rounds behind it do
  /// not begin.
  void lft_failed(ib::fabric::NodeIndex n, std::uint32_t block);
  /// A switch that is asked nothing keeps its LFT. Where packets could go round in circles between
  /// that and what the others are to hold, rounds do not go on.
  void lft_stays(ib::fabric::NodeIndex n);

 private:
  struct State {
    bool was_warm{false}, doubtful{false};
    bool above_top{false};  // it may hold entries above its LinearFDBTop
    std::vector<std::uint16_t> mft_blocks;
  };
  void prepare(Options options);
  void make_room(ib::fabric::NodeIndex n, bool forgotten);
  void collect_mft_blocks();
  std::vector<std::uint16_t> mft_blocks_of(ib::fabric::NodeIndex n) const;
  bool is_kept(std::size_t lid) const { return lid < kept_lids_.size() && kept_lids_[lid]; }
  bool is_known(ib::fabric::SwitchIndex s, std::size_t lid) const;
  /// The entry that a switch has; `port` where that is not known.
  std::uint8_t kept_or(ib::fabric::SwitchIndex s, std::size_t lid, std::uint8_t port) const;
  std::uint8_t kept_or_safe(ib::fabric::SwitchIndex s, std::size_t lid, std::uint8_t port) const;
  void keep_lids();
  ib::tables::LinearTables tables_to_be() const;
  /// Ports of switches whose links are up, and nobody answered behind them.
  ib::route::UnknownWays unknown_ways() const;
  std::optional<ib::fabric::SwitchIndex> next_switch(ib::fabric::SwitchIndex s, ib::Lid lid) const;
  bool leads_to_unknown(ib::fabric::SwitchIndex s, ib::Lid lid) const;
  bool comes_back(ib::fabric::SwitchIndex s, ib::Lid lid) const;
  Ports wanted_lft(ib::fabric::SwitchIndex s, std::uint32_t block) const;

  const plan::Desired& desired_;
  const ib::discover::Observed& seen_;
  Known& known_;
  std::vector<State> states_;              // by node
  std::vector<bool> is_ours_;              // by node: a managed switch
  std::vector<std::uint16_t> mft_blocks_;  // in use, or held by some switch
  // Blocks that must not be written all at once, of each switch: what each round writes. Empty
  // where one round is all.
  std::vector<std::map<std::uint32_t, std::map<std::uint32_t, Ports>>> staged_;
  std::uint32_t round_{0}, rounds_{1};
  bool failed_{false};
  std::set<ib::fabric::SwitchIndex> stay_;  // with the LFT that they hold
  std::vector<bool> kept_lids_;             // by LID: nobody's entries change; empty: all may
};

}  // namespace sm::apply
