// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// VLs as verification sees them: which SLs flow from a switch to a LID, and the VL they become on
// a channel. Inside libdiag/tables only.
#pragma once

#include <array>
#include <optional>

#include "libdiag/tables/verify.h"
#include "libdiag/tables/verify_switch_graph.h"
#include "libdiag/tables/virtual_lanes.h"

namespace ib::tables::check {

inline constexpr unsigned kVlDrop = 15;

class VlView {
 public:
  /// One: a single SL, so every channel has one VL. ByOutput: the VL of an SL on a channel does not
  /// depend on the input port. Exact: it does.
  enum class Kind { One, ByOutput, Exact };

  /// `also` are SLs besides those of paths (bits).
  VlView(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
         const VirtualLanes& virtual_lanes, const VerifyOptions& options, std::uint16_t also);

  /// Precondition: `VLs` are one SL and the same row everywhere.
  VlView(const SwitchGraph& switch_graph, const VirtualLanes& virtual_lanes)
      : switch_graph_(switch_graph),
        virtual_lanes_(virtual_lanes),
        uniform_(virtual_lanes.sl_to_vl.injection()) {
    one_ = virtual_lanes.sls.at(0, 0).value & 15U;
    sets_[one_] = static_cast<std::uint16_t>(1U << one_);
  }

  Kind kind() const { return kind_; }
  /// VLs in the dependency graph: 1 for kind One.
  unsigned vls() const { return vls_; }
  bool trivial() const { return virtual_lanes_.trivial() && kind_ == Kind::One; }

  /// SLs from each switch to the LIDs of `leaf` (bits; kind One: bit 0), `to_sm` for the SM's.
  void sls_to(SwitchIndex leaf, bool to_sm, std::vector<std::uint16_t>& by_switch) const;
  /// SLs that end ports of switch s send with.
  std::uint16_t sls_from(SwitchIndex s) const;
  /// Bits as the walks carry them: of a set of SLs, and back.
  std::uint16_t bits_of(std::uint16_t sls) const {
    return kind_ == Kind::One ? std::uint16_t{1} : sls;
  }
  unsigned sl_of(unsigned bit) const { return kind_ == Kind::One ? one_ : bit; }

  /// Precondition: not Exact. `bit` as the walks carry it.
  unsigned vl(Channel c, unsigned bit) const {
    return by_channel_.empty() ? uniform_.vl[sl_of(bit)] : by_channel_[c * 16 + sl_of(bit)];
  }
  unsigned vl(SwitchIndex s, std::uint8_t in, std::uint8_t out, unsigned sl) const {
    return virtual_lanes_.sl_to_vl.vl(s, in, out, Sl{static_cast<std::uint8_t>(sl)});
  }
  /// VLs (bits) of what the end ports on the switch of `c` send on c with `sl`. Precondition:
  /// Exact.
  std::uint16_t injected(Channel c, unsigned sl) const { return injected_[c * 16 + sl]; }

 private:
  bool independent_of_input(const fabric::Fabric& fabric) const;
  /// Of pairs that the routes have this SL for.
  std::uint16_t set_of(Sl sl) const { return sets_[sl.value & 15U]; }

  const SwitchGraph& switch_graph_;
  const VirtualLanes& virtual_lanes_;
  /// SLs (bits) that flow from s to t.
  std::uint16_t sls_between(SwitchIndex s, SwitchIndex t) const;

  std::optional<Sl> sm_sl_;
  const PathSls* earlier_{nullptr};
  Kind kind_{Kind::One};
  unsigned vls_{1};
  unsigned one_{0};
  std::array<std::uint16_t, 16> sets_{};  // SLs of all levels of service, by SL of the routes
  SlToVlRow uniform_;
  std::vector<std::uint8_t> by_channel_;  // channel * 16 + SL; empty: uniform_
  std::vector<std::uint16_t> injected_;
};

/// Faults of VLs alone, and of what is carried: `carried` has by channel the VLs used (bit 15:
/// dropped), `injecting` by switch the SLs its end ports send with.
void check_vls(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
               const VirtualLanes& virtual_lanes, const VlView& view,
               const std::vector<std::uint16_t>& carried, const VerifyOptions& options,
               Verdict& verdict);

}  // namespace ib::tables::check
