// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routes that stand in switches before this process has a plan: what a subnet manager before it
// programmed, itself before a restart or the master that it takes over from. A plan goes on with
// them where they can be proved, so that neither changes an entry.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libdiag/route/reroute/reroute.h"
#include "sm/device/snapshot.h"

namespace sm::plan {

/// How routes were made, for who has to go on with their tables: what switches do not tell.
struct RouteMemory {
  std::string engine;
  std::uint64_t options{};         // sum_of() what the operator told the engine
  std::vector<ib::Guid> switches;  // of the indexes below
  ib::route::MulticastRule multicast;
  std::uint8_t vls_used{1};
  ib::tables::PathSls sls;                                 // as the engine has them
  std::shared_ptr<const ib::route::PlacedSwitches> order;  // nullptr: the engine keeps to none
};

RouteMemory remember(const ib::route::Rerouter& rerouter, const ib::fabric::CompactGraph& graph,
                     const ib::route::Options& options);

/// A number that is another one where options differ that routes hang on.
std::uint64_t sum_of(const ib::route::Options& options);

/// As bytes for the store. What is cut or wrong reads as nothing.
std::vector<std::byte> encode(const RouteMemory& memory);
std::optional<RouteMemory> decode(std::span<const std::byte> bytes);

struct FoundRoutes {
  /// What switches answered that they hold, by LID. A switch that is missing holds nothing good.
  std::unordered_map<ib::Guid, std::vector<std::uint8_t>> lfts;
  std::optional<RouteMemory> made;  // by whom they were programmed; empty: not known

  /// Whether routes of this engine with these options may go on with them.
  bool suits(std::string_view engine, const ib::route::Options& options) const {
    return !made || (made->engine == engine && made->options == sum_of(options));
  }
};

/// By the switch indexes of `graph`. What was made for other switches than these is left out.
ib::route::FoundRoutes found_routes(const FoundRoutes& found,
                                    const ib::fabric::CompactGraph& graph);
/// Whether all that is known of switches is what these tables say.
bool is_held(const FoundRoutes& found, const ib::fabric::CompactGraph& graph,
             const ib::tables::LinearTables& lfts);
/// What these tables change.
Changed changed_from(const FoundRoutes& found, const ib::fabric::CompactGraph& graph,
                     const ib::tables::LinearTables& lfts);
/// SLs that connections got, likewise; kNoSl where that is not known.
std::optional<ib::tables::PathSls> found_sls(const FoundRoutes& found,
                                             const ib::fabric::CompactGraph& graph);

}  // namespace sm::plan
