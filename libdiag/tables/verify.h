// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Verification of routes: reachability, loops, VLs, credit loops per VL, multicast trees, load.
// Independent of any engine.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/tables/tables.h"
#include "libdiag/tables/virtual_lanes.h"

namespace ib::tables {

/// One finding, in words and as places. `switches` name the walk or the cycle.
struct Finding {
  enum class Kind { Unreachable, Loop, CreditLoop, AsymmetricSl, Vl, Multicast } kind;
  bool must;  // graded as design says: a must blocks programming, a should is reported
  Lid lid{};
  std::vector<std::pair<fabric::SwitchIndex, std::uint8_t>>
      hops;  // switch and the port it leaves by
  std::string message;
};

/// What is known of the multicast trees.
enum class MulticastVerdict {
  None,       // there are none
  NotProved,  // they are trees, and nobody claims that they close no credit loop
  Proved,     // they are trees, and close none together with the unicast routes
  Failed,     // not trees, or a credit loop in spite of the claim
};

/// Figures as an independent judge defines them: pairs (CA-attached switch -> LID); credit-loop
/// channels are directed switch-to-switch links, times VL, in the part of the dependency graph that
/// Kahn's order does not reach; load counts CA-to-CA routes. A walk that has not arrived after 64
/// hops is a loop, and loops are counted in `unreachable` too. Pairs that no cabling joins are
/// none: of those only loops are looked for, and counted in `loops` alone.
struct Verdict {
  std::uint64_t pairs{}, unreachable{}, loops{}, load_max{};
  std::uint64_t pairs_apart{};  // those that no cabling joins
  /// Of paths between CAs, routers and the SM; and of multicast trees whose engine claims them.
  std::uint64_t credit_loop_channels{};
  double load_mean{};

  unsigned vls{1};                   // in the dependency graph
  std::uint64_t asymmetric_pairs{};  // of switches with hosts, whose SL differs by direction
  std::uint64_t vl_faults{};         // ports that drop traffic, or have not the VLs for it
  MulticastVerdict multicast{MulticastVerdict::None};
  std::uint64_t multicast_faults{};  // trees that are none, members that are not reached

  // LIDs of switches, as destination of CAs or source to them: never a must, but for the SM's.
  // Between two switches nothing flows but SMPs, which have a VL of their own.
  std::uint64_t switch_sources_unreachable{};  // pairs (switch without CAs -> LID)
  std::uint64_t switch_turns_refused{};        // dependencies that would close a credit loop

  std::uint64_t must_failures{};  // all of the above that must hold; credit loops if promised
  std::vector<Finding> findings;  // at most VerifyOptions::findings_max
  bool must_ok() const { return must_failures == 0; }
};

struct VerifyOptions {
  bool credit_loops_are_must{false};
  bool loads{true};
  Lid sm_lid{};                      // graded must even when a switch holds it
  std::optional<Sl> master_sm_sl{};  // between everyone and the SM; none: as the paths have it
  /// SLs that connections of before use besides: the proof is of both together. kNoSl: none.
  const PathSls* earlier_sls{};
  /// LIDs of switches are destinations like any other: how judges without grades count.
  bool switch_lids_as_cas{false};
  std::size_t findings_max{16};
};

/// Multicast forwarding, as far as it is to be looked at. All trees are checked for being such.
struct MulticastCheck {
  const MulticastTables* trees{};  // nullptr: no multicast
  Sl sl{};
  bool claimed{false};  // the engine says that no credit loop closes
  /// Switches that members hang from, by MLID; nullptr: those whose masks have a port to a host.
  const std::map<Lid, std::vector<fabric::SwitchIndex>>* members{};
  std::span<const Lid> unclaimed{};  // groups that the claim is not for, ascending
  /// SLs of groups that do not use `sl` alone, a bit each, by MLID; nullptr: there are none.
  const std::map<Lid, std::uint16_t>* sls{};

  std::uint16_t sls_of(Lid mlid) const;
  /// Of all groups that the claim is for; 0 where none is made.
  std::uint16_t claimed_sls() const;
};

Verdict verify(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
               const LinearTables& tables, const VirtualLanes& virtual_lanes,
               const MulticastCheck& multicast = {}, const VerifyOptions& options = {});
/// Multicast trees alone, and nothing of credit loops.
Verdict verify_trees(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                     const MulticastCheck& multicast, const VerifyOptions& options = {});
/// One SL on one VL, no multicast.
Verdict verify(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
               const LinearTables& tables, const VerifyOptions& options = {});

}  // namespace ib::tables
