// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A routing engine is a function from a request to complete routes. It reads nothing else, keeps
// nothing, logs nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/fabric/graph.h"
#include "libdiag/route/options.h"
#include "libdiag/tables/least_hops.h"
#include "libdiag/tables/tables.h"
#include "libdiag/tables/virtual_lanes.h"

namespace ib::route {

struct Request {
  const fabric::Fabric* fabric{};  // for GUIDs, speeds, names in messages
  const fabric::CompactGraph* graph{};
  Options options;
  const tables::LinearTables* previous{};  // by the switch indexes of `graph`
  unsigned vls{1};                         // data VLs that may be used, 1..15 (tables::data_vls)
  /// SLs that connections got, by the switch indexes of `graph`; engines that give pairs SLs keep
  /// those they can. Null: there are none.
  const tables::PathSls* previous_sls{};
  /// The rows that these SLs are for, for engines that make such. Null: they are not known.
  const tables::SlToVl* previous_sl_to_vl{};
  /// Engines that were asked with these VLs and do not fit: nue need not ask them again.
  std::span<const std::string> unfit{};
};

/// How multicast trees keep clear of credit loops with the unicast routes of an engine.
struct MulticastRule {
  /// A number for each switch, no two alike; empty: the engine makes no claim. A tree on `sl` in
  /// which every switch but one has exactly one neighbour with a smaller number closes no cycle
  /// together with the unicast routes: packets climb to smaller numbers, then descend.
  std::vector<std::uint32_t> up_order;
  /// Not empty: trees must also be part of this spanning tree (parent by switch, kNoSwitch at a
  /// root).
  std::vector<fabric::SwitchIndex> parent;
  Sl sl{};
  /// SLs for which the same is so, a bit each: `sl` and those on whose VLs nothing else flows.
  /// 0: `sl` alone.
  std::uint16_t sls{0};
};

/// Complete routes: what every switch and path record needs to hold.
struct Routes {
  std::string engine;
  tables::LinearTables lfts;
  tables::VirtualLanes virtual_lanes;
  std::uint8_t vls_used{1};
  bool promises_deadlock_freedom{false};  // paths of all CA pairs, on the VLs above
  MulticastRule multicast;
  std::vector<std::string> notes;  // what an operator should know, a sentence each
};

/// An error says why the engine does not fit, in one sentence that names a switch.
using Engine = Result<Routes> (*)(const Request&);

/// Which arcs may be used to up to tables::kTargetsPerBatch targets. It remembers what was decided
/// once (ranks, an order, weights), so it may be asked again when links of the same switches come
/// and go, and what it says then mixes with what it said before without a credit loop, if the
/// engine promises none.
using CandidatesOf = std::function<tables::LeastHops(const fabric::CompactGraph&,
                                                     std::span<const fabric::SwitchIndex>)>;

class LiveWays;

class Targets;

/// A switch in an order of up*/down* routes (spread/up_down.h).
struct PlacedSwitch {
  Guid guid{};
  std::uint32_t position{};  // 0 is the top
  std::uint32_t former{};    // before single tops were made
  bool valley{false};        // it was put above switches that were above it
  friend auto operator<=>(const PlacedSwitch&, const PlacedSwitch&) = default;
};
using PlacedSwitches = std::vector<PlacedSwitch>;  // from the top

struct CandidateRule {
  CandidatesOf of;
  /// The same for many targets, one link after the other (live_ways.h).
  std::function<std::unique_ptr<LiveWays>(const fabric::CompactGraph&,
                                          std::span<const fabric::SwitchIndex>)>
      follow;
  /// Tables of the engine may hold longer ways besides. Adds to the candidates of a batch those
  /// that mix with all of them, and with each other. Empty: there are none.
  std::function<void(const fabric::CompactGraph&, const Targets&, tables::LeastHops&)> detours;
  /// The same rule when switches went or came back; nothing when one is new to it. Empty: what it
  /// remembers does not hang on switches, so the engine makes the same one again.
  std::function<std::optional<CandidateRule>(const fabric::CompactGraph&)> among;
  /// The order of switches that it keeps to, those that went included; nullptr: it has none.
  std::shared_ptr<const PlacedSwitches> order;
  /// The same rule by another order; nothing where the graph has switches without a place in it.
  /// Empty: there is no order.
  std::function<std::optional<CandidateRule>(const fabric::CompactGraph&,
                                             std::shared_ptr<const PlacedSwitches>)>
      by_order;
  std::vector<std::uint32_t> up_order;  // MulticastRule::up_order, which comes with it
  std::vector<std::string> notes;       // Routes::notes, likewise
};

struct EngineEntry {
  const char* name;
  const char* summary;
  Engine compute;
  /// Of engines that spread LIDs over candidates, so that reroute.h can change single entries. It
  /// fails where compute does, and says the same.
  Result<CandidateRule> (*candidates)(const Request&){nullptr};
  /// Whether the operator's files say what it routes by. Null: it needs no file.
  bool (*given)(const Options&){nullptr};
};
/// Every engine, by name as opensm spells it.
std::span<const EngineEntry> engines();
/// nullptr when there is none of that name.
const EngineEntry* find_engine(std::string_view name);

}  // namespace ib::route
