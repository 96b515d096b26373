// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reroute by difference: routes that follow a fabric whose links come and go, changing only what
// must change. The state between two updates is candidates, tables and the load of every link, so
// that after a failure the entries that used it move to the least loaded way that is left. When
// links are again what they were at some time before, the tables are what they were then. It
// neither programs nor orders anything: that is transition.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/route/engine.h"

namespace ib::route {

/// What one update changed, by the switch indexes of the new graph.
struct Difference {
  struct Entry {
    fabric::SwitchIndex at{};
    Lid lid{};
    std::uint8_t before{}, after{};  // ports
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  /// 64 entries, what one Set writes.
  struct Block {
    fabric::SwitchIndex at{};
    std::uint16_t number{};
    friend bool operator==(const Block&, const Block&) = default;
  };
  std::vector<Entry> entries;  // by switch, then LID
  std::vector<Block> blocks;   // likewise, each once
  std::string recomputed;      // not empty: why links were not followed entry by entry
};

/// Routes that switches hold already, by the switch indexes of the graph at hand.
struct FoundRoutes {
  tables::LinearTables lfts;
  /// What the tables do not show, as it was when they were made: SLs, VLs, how multicast trees keep
  /// clear of them. Its `lfts` are not looked at. Empty: that is not known.
  std::optional<Routes> as_made;
  std::shared_ptr<const PlacedSwitches> order;  // CandidateRule's; nullptr: not known, or none
};

/// Entries that differ, by the switches of the tables.
Difference difference(const tables::LinearTables& before, const tables::LinearTables& after);

class Rerouter {
 public:
  Rerouter(const EngineEntry& engine, Options options, unsigned vls = 1);
  ~Rerouter();
  Rerouter(Rerouter&&) noexcept;
  Rerouter& operator=(Rerouter&&) noexcept;

  /// Begins with routes that the engine made for this graph.
  void adopt(const fabric::Fabric& fabric, fabric::CompactGraph graph, Routes routes);

  /// Goes on with what switches hold, in place of fresh routes of the same engine that it was given
  /// for the same fabric: a restart changes nothing. Engines with a rule keep every entry that is a
  /// candidate, by the order there was if that is known, and mend the others; those that give pairs
  /// SLs keep all, if it can be proved; the rest keep what fits. Where the most loaded link carries
  /// a tenth more than by the fresh routes, entries move until it does not. Where a quarter of all
  /// entries would change, the fresh routes stay, and there is nothing to return. The difference
  /// is to what is held. Precondition: adopt().
  std::optional<Difference> take_up(const fabric::Fabric& fabric, const FoundRoutes& found);

  /// Follows the fabric to `now`. Links between the same switches are followed entry by entry, and
  /// so are switches that go, with what hangs on them, or come back; when switches cannot be
  /// followed so, when LIDs came, went or moved, when cables were moved, or when the engine has no
  /// candidates, or leaves hosts without a way that cables would give them, it computes everything,
  /// keeping what still fits, and says so. When all is again as it was when routes were adopted, so
  /// are the routes. The most loaded link carries at most a tenth more than
  /// it would by fresh routes, which are computed where nothing simpler tells; where that takes
  /// another order of switches, or where by the order that was kept hosts would not reach a switch,
  /// or a switch no host, it says so too. Switches without hosts that the rule of an order leaves
  /// without a way to one get one of their own if it can be proved (own_ways.h), which follows from
  /// the other entries alone. An error leaves the routes as they were. Precondition: adopt().
  Result<Difference> update(const fabric::Fabric& fabric, const fabric::CompactGraph& now);

  /// `routes`, made of candidates of `rule`, with the most loaded links relieved by moving single
  /// entries.
  static Routes relieved(const Request& request, CandidateRule rule, Routes routes);

  std::string_view engine() const { return engine_->name; }
  /// That the engine's rule keeps to; nullptr: none.
  std::shared_ptr<const PlacedSwitches> order() const;
  const Routes& routes() const;
  /// The most loaded link: CA-to-CA routes, more on slower links (Options::link_capacity). 0 for
  /// engines without candidates.
  std::uint64_t load_max() const;
  /// The same, whatever links are able to carry.
  std::uint64_t most_routes() const;

 private:
  class State;
  struct Origin;
  std::unique_ptr<State> state_of(const Request& request, fabric::CompactGraph graph,
                                  Routes routes) const;
  std::unique_ptr<State> begun(Request request, fabric::CompactGraph graph, Routes routes) const;
  std::unique_ptr<State> better(State& kept, const Request& request) const;
  std::unique_ptr<State> taken_over(const Request& request, CandidateRule made,
                                    const tables::LinearTables& before) const;
  Result<Difference> follow(const fabric::Fabric& fabric, const fabric::CompactGraph& now);
  Result<Difference> route_again(const Request& request);
  void leave(const fabric::CompactGraph& now);
  Difference return_to_origin(const Request& request);
  std::unique_ptr<State> reaching_more(const Request& request) const;
  std::unique_ptr<State> taken_up(const Request& request, const FoundRoutes& found) const;
  std::optional<Routes> kept_as_made(const Request& request, const FoundRoutes& found) const;
  std::optional<Routes> kept_by_engine(Request request, const tables::LinearTables& before,
                                       const Routes& fresh) const;
  const EngineEntry* engine_;
  Options options_;
  unsigned vls_;
  std::unique_ptr<State> state_;
  std::unique_ptr<Origin> origin_;  // null while the state has not been given up for another
};

}  // namespace ib::route
