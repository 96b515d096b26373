// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Engine `dfp`: least hops, loads even, and VLs by turn. For Dragonfly+ and other networks whose
// paths are short: where links have a natural order (up, across, down) one VL or two do.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "libdiag/route/deadlock/part_ways.h"
#include "libdiag/route/deadlock/turn_vls.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/route/engines/layered.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/tables/names.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// Weight of a link between groups, a link within one being 1: no path takes two of the former
/// where one and two of the latter do.
constexpr std::uint8_t kGlobalWeight = 4;

/// The groups of a dragonfly: its local links lie in triangles, as all routers of a group are
/// joined; its global ones do not. Empty when this is no such network: fewer than three groups, or
/// a group that is not close to complete.
std::vector<std::uint32_t> groups_of(const fabric::CompactGraph& graph) {
  const std::size_t switches = graph.switch_count();
  std::vector<std::vector<SwitchIndex>> near(switches);
  for (SwitchIndex s = 0; s < switches; ++s) {
    for (const auto& arc : graph.arcs(s)) near[s].push_back(arc.to);
    std::sort(near[s].begin(), near[s].end());
    near[s].erase(std::unique(near[s].begin(), near[s].end()), near[s].end());
  }
  const auto in_triangle = [&](SwitchIndex a, SwitchIndex b) {
    return std::any_of(near[a].begin(), near[a].end(), [&](SwitchIndex c) {
      return std::binary_search(near[b].begin(), near[b].end(), c);
    });
  };
  constexpr std::uint32_t kNoGroup = 0xFFFFFFFF;
  std::vector<std::uint32_t> group(switches, kNoGroup);
  std::uint32_t count = 0;
  for (SwitchIndex start = 0; start < switches; ++start) {
    if (group[start] != kNoGroup || near[start].empty()) continue;
    std::vector<SwitchIndex> members{start};
    group[start] = count;
    std::size_t links = 0;
    for (std::size_t i = 0; i < members.size(); ++i)
      for (const SwitchIndex n : near[members[i]]) {
        if (!in_triangle(members[i], n)) continue;
        ++links;
        if (group[n] != kNoGroup) continue;
        group[n] = count;
        members.push_back(n);
      }
    if (4 * links < 3 * members.size() * (members.size() - 1)) return {};
    ++count;
  }
  if (count < 3 || std::size_t{count} * 2 > switches) return {};
  return group;
}

/// The request with links between groups made longer.
Request between_groups_longer(const Request& request, const std::vector<std::uint32_t>& groups) {
  const auto& graph = *request.graph;
  Request longer = request;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& arc : graph.arcs(s))
      if (groups[s] != groups[arc.to])
        longer.options.hop_weights[{graph.guid(s), arc.out_port}] = kGlobalWeight;
  return longer;
}

/// LIDs of a switch with CAs by the way of a CA, which has VLs.
void follow_cas(const fabric::CompactGraph& graph, tables::LinearTables& lfts) {
  std::vector<Lid> ca(graph.switch_count(), kNoLid);
  for (const auto& d : graph.destinations())
    if (!d.is_switch() && ca[d.leaf] == kNoLid) ca[d.leaf] = d.lid;
  for (const auto& d : graph.destinations()) {
    if (!d.is_switch() || ca[d.leaf] == kNoLid) continue;
    for (fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
      if (s != d.leaf) lfts.set(s, d.lid, lfts.at(s, ca[d.leaf]));
  }
}

/// Entries for LIDs of hosts by the exits of ways.
void follow_ways(const fabric::CompactGraph& graph, const Targets& targets, const Ways& ways,
                 tables::LinearTables& lfts) {
  for (std::size_t c = 0; c < targets.columns().size(); ++c) {
    const auto exits = ways.tree(ways.of_column[c]);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      if (exits[s] != kNoExit)
        lfts.set(s, targets.columns()[c].lid, graph.arcs(s)[exits[s]].out_port);
  }
}

using Found = std::variant<TurnVls, NoVl>;

/// VLs for tables, and where LIDs of a port share links as far as VLs allow other ways: `ways` are
/// those of the tables. Without such LIDs null.
Found find_vls(const Request& request, const Targets& targets, tables::LinearTables& lfts,
               Ways* ways) {
  const auto& graph = *request.graph;
  std::optional<PartByTurns> part;
  if (ways != nullptr) part.emplace(PartByTurns{request, targets, *ways});
  Found found = vls_by_turn(graph, lfts, request.vls,
                            {request.previous_sls, request.previous_sl_to_vl, request.previous},
                            part ? &*part : nullptr);
  if (const auto* vls = std::get_if<TurnVls>(&found); vls != nullptr && vls->ways_parted != 0) {
    follow_ways(graph, targets, *ways, lfts);
    follow_cas(graph, lfts);
  }
  return found;
}

/// Ways that were parted before are tried first.
Found find_vls(const Request& request, const Targets& targets, tables::LinearTables& lfts) {
  if (targets.lids_of_a_port() < 2) return find_vls(request, targets, lfts, nullptr);
  Ways ways = ways_along(*request.graph, targets, lfts);
  if (Ways kept = ways; keep_parted_ways(request, targets, kept)) {
    auto tables = lfts;
    follow_ways(*request.graph, targets, kept, tables);
    follow_cas(*request.graph, tables);
    Found found = find_vls(request, targets, tables, &kept);
    if (std::holds_alternative<TurnVls>(found)) {
      lfts = std::move(tables);
      return found;
    }
  }
  return find_vls(request, targets, lfts, &ways);
}

Result<Routes> on_vls(const Request& request) {
  auto routes = minhop(request);
  if (!routes) return routes;
  if (request.options.honour_previous && request.previous != nullptr)
    routes = Rerouter::relieved(request, minhop_candidates(request).value(), *std::move(routes));
  follow_cas(*request.graph, routes->lfts);
  Found found = find_vls(request, Targets(request), routes->lfts);
  if (const auto* none = std::get_if<NoVl>(&found))
    return fail(ErrorKind::NotFound,
                none->too_long
                    ? fmt::format("not a network of short paths: {} is more than 6 links between "
                                  "switches from another switch with hosts",
                                  tables::switch_name(*request.fabric, *request.graph, none->at))
                    : fmt::format("paths of least hops from {} close a credit loop on {}",
                                  tables::switch_name(*request.fabric, *request.graph, none->at),
                                  tables::counted(request.vls, "VL", "VLs")));
  auto& on_turns = std::get<TurnVls>(found);
  routes->engine = "dfp";
  routes->virtual_lanes = std::move(on_turns.virtual_lanes);
  routes->vls_used = static_cast<std::uint8_t>(on_turns.vls);
  routes->promises_deadlock_freedom = true;
  if (on_turns.ways_parted != 0) routes->notes.push_back(parted_note("dfp", on_turns.ways_parted));
  if (on_turns.left_out != 0)
    routes->notes.push_back(
        fmt::format("dfp: {} pairs of switches of which one has no CA fit no SL and use the first",
                    on_turns.left_out));
  return routes;
}

}  // namespace

Result<Routes> dfp(const Request& request) {
  // One link between groups and one on either side of it: two VLs do, and no path loads a second
  // of the few links between groups.
  const auto groups = groups_of(*request.graph);
  if (groups.empty() || !request.options.hop_weights.empty()) return on_vls(request);
  auto across = on_vls(between_groups_longer(request, groups));
  if (across && across->vls_used <= 2) return across;
  auto least = on_vls(request);
  return !least || (across && across->vls_used <= least->vls_used) ? across : least;
}

}  // namespace ib::route
