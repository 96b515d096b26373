// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/reroute.h"

#include <algorithm>
#include <cstring>

#include "libdiag/route/option_use.h"
#include "libdiag/route/reroute/reroute_origin.h"
#include "libdiag/route/reroute/reroute_state.h"
#include "libdiag/route/reroute/tree_claim.h"
#include "libdiag/route/spread/compute_nodes.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// How much more than after a fresh computation the most loaded link may carry.
constexpr double kDriftMax = 1.1;

/// Where more than this part of all entries changes anyhow, fresh routes are taken.
constexpr std::size_t kMuch = 4;

std::size_t entries_of(const fabric::CompactGraph& graph) {
  return graph.switch_count() * graph.destinations().size();
}

/// Whether a link carries at most that much more than it would by fresh routes.
bool is_near(std::uint64_t load, double fresh) {
  return static_cast<double>(load) <= kDriftMax * fresh;
}
bool is_near(std::uint64_t load, std::uint64_t fresh) {
  return is_near(load, static_cast<double>(fresh));
}

std::uint64_t load_of(const Request& request, const Routes& routes) {
  return tables::verify(*request.fabric, *request.graph, routes.lfts).load_max;
}

/// Whether a switch is to have an entry for what hangs on another one: a request of a host to a
/// switch is answered. `all`: those between switches without hosts count as well.
bool is_owed(const fabric::CompactGraph& graph, SwitchIndex from, SwitchIndex to, bool all) {
  return all || graph.end_ports()[from] != 0 || graph.end_ports()[to] != 0;
}

/// Entries that switches lack, of LIDs that somebody has.
std::size_t unreached(const tables::LinearTables& lfts, const fabric::CompactGraph& graph,
                      bool all) {
  const auto parts = fabric::pieces_of(graph).of;
  std::size_t count = 0;
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
    for (const auto& to : graph.destinations())
      count += is_owed(graph, s, to.leaf, all) && parts[s] == parts[to.leaf] &&
                       lfts.at(s, to.lid) == tables::kNoPort
                   ? 1
                   : 0;
  return count;
}

/// Whether an update left a switch without a way to a LID to which cables lead.
bool leaves_out_of_reach(const Difference& difference, const fabric::CompactGraph& graph,
                         bool all) {
  if (std::ranges::none_of(difference.entries,
                           [&](const auto& e) { return e.after == tables::kNoPort; }))
    return false;
  const auto parts = fabric::pieces_of(graph).of;
  std::vector<SwitchIndex> leaf_of(graph.max_lid().value + std::size_t{1}, fabric::kNoSwitch);
  for (const auto& to : graph.destinations()) leaf_of[to.lid.value] = to.leaf;
  return std::ranges::any_of(difference.entries, [&](const auto& e) {
    const SwitchIndex leaf = leaf_of[e.lid.value];
    return e.after == tables::kNoPort && leaf != fabric::kNoSwitch &&
           is_owed(graph, e.at, leaf, all) && parts[e.at] == parts[leaf];
  });
}

/// The most that is near.
std::uint64_t most_near(std::uint64_t fresh) {
  auto load = static_cast<std::uint64_t>(kDriftMax * static_cast<double>(fresh));
  while (is_near(load + 1, fresh)) ++load;
  while (load > 0 && !is_near(load, fresh)) --load;
  return load;
}

}  // namespace

Difference difference(const tables::LinearTables& before, const tables::LinearTables& after) {
  constexpr std::size_t kBlock = 64;
  Difference result;
  const std::size_t lids = std::max(before.lid_count(), after.lid_count());
  const std::size_t both = std::min(before.lid_count(), after.lid_count());
  for (SwitchIndex s = 0; s < after.switch_count(); ++s)
    for (std::size_t first = 0; first < lids; first += kBlock) {
      const std::size_t end = std::min(lids, first + kBlock);
      if (s < before.switch_count() && end <= both &&
          std::memcmp(before.row(s).data() + first, after.row(s).data() + first, end - first) == 0)
        continue;
      bool differs = false;
      for (std::size_t lid = first; lid < end; ++lid) {
        const Lid of{static_cast<std::uint16_t>(lid)};
        const std::uint8_t was = s < before.switch_count() ? before.at(s, of) : tables::kNoPort;
        if (was == after.at(s, of)) continue;
        result.entries.push_back({s, of, was, after.at(s, of)});
        differs = true;
      }
      if (differs) result.blocks.push_back({s, static_cast<std::uint16_t>(first / kBlock)});
    }
  return result;
}

Rerouter::Rerouter(const EngineEntry& engine, Options options, unsigned vls)
    : engine_(&engine), options_(std::move(options)), vls_(vls) {}
Rerouter::~Rerouter() = default;
Rerouter::Rerouter(Rerouter&&) noexcept = default;
Rerouter& Rerouter::operator=(Rerouter&&) noexcept = default;

void Rerouter::adopt(const fabric::Fabric& fabric, fabric::CompactGraph graph, Routes routes) {
  origin_.reset();
  state_ = begun({&fabric, nullptr, options_, nullptr, vls_}, std::move(graph), std::move(routes));
  state_->lay_own_ways(state_->links.graph);
}

/// Where the engine uses the file of compute nodes, only routes between these count as load.
std::unique_ptr<Rerouter::State> Rerouter::state_of(const Request& request,
                                                    fabric::CompactGraph graph,
                                                    Routes routes) const {
  Request own = request;
  own.graph = &graph;
  const auto file =
      std::ranges::find(option_uses(), std::string_view("--cn_guid_file"), &OptionUse::name);
  const auto alone = file != option_uses().end() && file->used_by(engine_->name)
                         ? graph_of_compute_nodes(own)
                         : std::nullopt;
  if (alone) own.graph = &*alone;
  Targets targets(own);
  return std::make_unique<State>(request, std::move(graph), std::move(routes), std::move(targets));
}

std::unique_ptr<Rerouter::State> Rerouter::begun(Request request, fabric::CompactGraph graph,
                                                 Routes routes) const {
  auto state = state_of(request, std::move(graph), std::move(routes));
  if (engine_->candidates == nullptr) return state;
  request.graph = &state->links.graph;
  // Entries that are no candidates (an operator's, an older rule's) cannot be followed one by one.
  if (auto rule = engine_->candidates(request)) state->take_stock(std::move(*rule));
  return state;
}

Result<Difference> Rerouter::update(const fabric::Fabric& fabric, const fabric::CompactGraph& now) {
  const auto before = state_->own_ways(now);
  state_->lift_own_ways();
  auto result = follow(fabric, now);
  if (!result) {
    state_->restore_own_ways();
    return result;
  }
  state_->lay_own_ways(now);
  const auto after = state_->own_ways(now);
  if (before.empty() && after.empty()) return result;
  std::vector<Difference::Entry> changes;
  changes.reserve(before.size() + result->entries.size() + after.size());
  for (const OwnWay& way : before) changes.push_back({way.at, way.lid, way.port, tables::kNoPort});
  changes.insert(changes.end(), result->entries.begin(), result->entries.end());
  for (const OwnWay& way : after) changes.push_back({way.at, way.lid, tables::kNoPort, way.port});
  Difference all = with_blocks(net_changes(std::move(changes)));
  all.recomputed = std::move(result->recomputed);
  return all;
}

/// update(), own ways apart.
Result<Difference> Rerouter::follow(const fabric::Fabric& fabric, const fabric::CompactGraph& now) {
  Request request{&fabric, &now, options_, nullptr, vls_};
  // SLs are kept by pairs of switches, many in a large fabric, and following links takes none.
  const fabric::CompactGraph was = state_->here();
  tables::PathSls sls;
  tables::SlToVl rows;
  const auto with_sls = [&]() -> const Request& {
    if (request.previous_sls != nullptr) return request;
    sls = tables::carried_over(state_->routes.virtual_lanes.sls, was, now);
    rows = tables::carried_over(state_->routes.virtual_lanes.sl_to_vl, was, now);
    request.previous_sls = &sls;
    request.previous_sl_to_vl = &rows;
    return request;
  };
  if (origin_ != nullptr && origin_->is_made_for(request) && origin_->mixes_with(with_sls()))
    return return_to_origin(request);
  if (!state_->follow(request)) return route_again(with_sls());
  std::unique_ptr<State> fresh;
  // What was near when the links were the same is so again.
  const bool is_new = state_->has_moved() && !state_->has_returned();
  if (is_new && state_->has_lost_switches()) state_->level_out(State::Moving::All);
  if (is_new && !is_near(state_->load_max(), state_->load_floor())) {
    state_->level_out(State::Moving::Mended);
    fresh = better(*state_, with_sls());
  }
  Difference result = state_->take_changes();
  const bool loaded = fresh != nullptr;
  if (!loaded && leaves_out_of_reach(result, now, state_->has_lost_switches()))
    fresh = reaching_more(with_sls());
  if (fresh == nullptr) return result;
  leave(now);
  tables::LinearTables before = std::move(state_->routes.lfts);
  for (const auto& entry : result.entries) before.set(entry.at, entry.lid, entry.before);
  state_ = std::move(fresh);
  result = difference(before, state_->routes.lfts);
  result.recomputed =
      loaded ? "by the order that was kept the most loaded link carries a tenth too much"
             : "by the order that was kept hosts do not reach all switches";
  return result;
}

/// Where links cannot be followed.
Result<Difference> Rerouter::route_again(const Request& request) {
  const fabric::CompactGraph& now = *request.graph;
  Difference result;
  leave(now);
  const tables::LinearTables before = carried_over(state_->routes.lfts, state_->here(), now);
  if (engine_->candidates != nullptr) {
    auto rule = engine_->candidates(request);
    if (!rule) return tl::unexpected(rule.error());
    if (auto kept = taken_over(request, *std::move(rule), before)) {
      auto fresh = better(*kept, request);
      state_ = fresh != nullptr ? std::move(fresh) : std::move(kept);
      state_->take_changes();
    } else {
      auto fresh = engine_->compute(request);
      if (!fresh) return tl::unexpected(fresh.error());
      state_ = begun(request, now, *std::move(fresh));
    }
    result.recomputed = "switches, LIDs or cables are not the ones they were";
  } else {
    auto fresh = engine_->compute(request);
    if (!fresh) return tl::unexpected(fresh.error());
    auto kept = kept_by_engine(request, before, *fresh);
    state_ = begun(request, now, kept ? *std::move(kept) : *std::move(fresh));
    result.recomputed = std::string(engine_->name) + " routes as a whole";
  }
  std::string why = std::move(result.recomputed);
  result = difference(before, state_->routes.lfts);
  result.recomputed = std::move(why);
  return result;
}

/// Of an engine without a rule: its routes with what fits of `before`, where they are near to fresh
/// ones.
std::optional<Routes> Rerouter::kept_by_engine(Request request, const tables::LinearTables& before,
                                               const Routes& fresh) const {
  request.previous = &before;
  request.options.honour_previous = true;
  auto kept = engine_->compute(request);
  if (!kept || !is_near(load_of(request, *kept), load_of(request, fresh))) return std::nullopt;
  return *std::move(kept);
}

std::optional<Difference> Rerouter::take_up(const fabric::Fabric& fabric,
                                            const FoundRoutes& found) {
  const fabric::CompactGraph graph = state_->here();
  Request request{&fabric, &graph, options_, nullptr, vls_};
  if (found.as_made) request.previous_sls = &found.as_made->virtual_lanes.sls;
  origin_.reset();
  if (state_->is_short_of_switches()) {
    state_ = begun(request, graph, state_->routes);
    state_->lay_own_ways(graph);
  }
  state_->lift_own_ways();
  std::unique_ptr<State> kept;
  if (engine_->candidates != nullptr) {
    kept = taken_up(request, found);
  } else if (auto as_made = kept_as_made(request, found)) {
    kept = begun(request, graph, *std::move(as_made));
  } else if (auto routes = kept_by_engine(request, found.lfts, state_->routes)) {
    kept = begun(request, graph, *std::move(routes));
  }
  state_->restore_own_ways();
  if (kept == nullptr) return std::nullopt;
  kept->lay_own_ways(graph);
  auto change = difference(found.lfts, kept->routes.lfts);
  if (change.entries.size() > entries_of(graph) / kMuch) return std::nullopt;
  state_ = std::move(kept);
  return change;
}

/// By the order there was, else by that of the fresh routes. Null: too much would have to move.
std::unique_ptr<Rerouter::State> Rerouter::taken_up(const Request& request,
                                                    const FoundRoutes& found) const {
  if (!state_->follows()) return nullptr;
  std::vector<CandidateRule> rules;
  if (found.order != nullptr && state_->rule().by_order)
    if (auto rule = state_->rule().by_order(*request.graph, found.order))
      rules.push_back(*std::move(rule));
  rules.push_back(state_->rule());
  const std::uint64_t limit_of_fresh = state_->load_max();
  for (CandidateRule& rule : rules) {
    Routes routes = state_->routes;
    routes.lfts = found.lfts;
    routes.multicast.up_order = rule.up_order;
    auto state = state_of(request, *request.graph, std::move(routes));
    // An order that leaves a switch without a way is kept to where the fresh one does no better.
    const auto apart = state->take_up(std::move(rule));
    if (!apart || (*apart != 0 && unreached(state->routes.lfts, *request.graph, false) >
                                      unreached(state_->routes.lfts, *request.graph, false)))
      continue;
    const std::uint64_t limit = most_near(limit_of_fresh);
    if (state->load_max() <= limit ||
        (state->keeps_order_of(*state_) ? state->approach(*state_, limit) : state->lower_to(limit)))
      return state;
  }
  return nullptr;
}

/// Which switches the entries of one LID lead to it from.
class Reaching {
 public:
  Reaching(const fabric::CompactGraph& graph, const tables::LinearTables& lfts)
      : lfts_(lfts), next_(graph.switch_count()), ways_(graph.switch_count()) {
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
      next_[s].assign(std::size_t{graph.num_ports(s)} + 1, fabric::kNoSwitch);
      for (const auto& arc : graph.arcs(s)) next_[s][arc.out_port] = arc.to;
    }
  }
  void begin(const fabric::Destination& to) {
    to_ = to;
    std::ranges::fill(ways_, Way::Unknown);
  }
  bool from(SwitchIndex s) {
    passed_.clear();
    SwitchIndex at = s;
    while (at != fabric::kNoSwitch && ways_[at] == Way::Unknown) {
      ways_[at] = Way::None;  // if it comes here again
      passed_.push_back(at);
      const std::uint8_t port = lfts_.at(at, to_.lid);
      if (at == to_.leaf && port == to_.port) {
        ways_[at] = Way::Leads;
        break;
      }
      at = port < next_[at].size() ? next_[at][port] : fabric::kNoSwitch;
    }
    const Way way = at == fabric::kNoSwitch ? Way::None : ways_[at];
    for (const SwitchIndex p : passed_) ways_[p] = way;
    return way == Way::Leads;
  }

 private:
  enum class Way : std::uint8_t { Unknown, Leads, None };
  const tables::LinearTables& lfts_;
  std::vector<std::vector<SwitchIndex>> next_;  // by port
  std::vector<Way> ways_;
  std::vector<SwitchIndex> passed_;
  fabric::Destination to_;
};

/// A switch on nobody's way may hold nothing, since it lost its tables, or what led somewhere once:
/// nobody would miss its entries. Those of others stay.
void mend_dead_ends(tables::LinearTables& kept, const Routes& fresh,
                    const fabric::CompactGraph& graph) {
  const tables::LinearTables held = kept;
  Reaching reaching(graph, held);
  for (const auto& to : graph.destinations()) {
    reaching.begin(to);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
      if (const std::uint8_t port = fresh.lfts.at(s, to.lid);
          port != tables::kNoPort && !reaching.from(s))
        kept.set(s, to.lid, port);
  }
}

/// Whether all switches with CAs that cables join climb to one by the rule, so that trees reach all
/// of them.
bool joins_all(const MulticastRule& rule, const fabric::CompactGraph& graph) {
  const auto climbs = [&](SwitchIndex s, SwitchIndex to) {
    return (rule.up_order.empty() || rule.up_order[to] < rule.up_order[s]) &&
           (rule.parent.empty() || rule.parent[s] == to);
  };
  if (rule.up_order.empty() && rule.parent.empty()) return true;
  const auto pieces = fabric::pieces_of(graph);
  const auto has_cas = graph.end_ports();
  std::vector<std::size_t> with_cas(pieces.count, 0), joined(pieces.count, 0);
  for (SwitchIndex s = 0; s < graph.switch_count(); ++s) with_cas[pieces.of[s]] += has_cas[s] != 0;
  for (SwitchIndex top = 0; top < graph.switch_count(); ++top) {
    if (!rule.parent.empty() && rule.parent[top] != fabric::kNoSwitch) continue;
    if (std::ranges::any_of(graph.arcs(top), [&](const auto& a) { return climbs(top, a.to); }))
      continue;
    std::vector<bool> below(graph.switch_count(), false);
    below[top] = true;
    std::vector<SwitchIndex> order{top};
    std::size_t found = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      found += has_cas[order[i]] != 0;
      for (const auto& arc : graph.arcs(order[i]))
        if (!below[arc.to] && climbs(arc.to, order[i])) {
          below[arc.to] = true;
          order.push_back(arc.to);
        }
    }
    joined[pieces.of[top]] = std::max(joined[pieces.of[top]], found);
  }
  return joined == with_cas;
}

/// Of an engine that gives pairs SLs, each a VL of its own: all that is held, if that is proved.
std::optional<Routes> Rerouter::kept_as_made(const Request& request,
                                             const FoundRoutes& found) const {
  const Routes& fresh = state_->routes;
  if (!found.as_made || fresh.virtual_lanes.trivial() || !fresh.virtual_lanes.sl_to_vl.uniform() ||
      found.as_made->vls_used > vls_)
    return std::nullopt;
  // What is remembered may be older than what switches hold.
  if (!joins_all(found.as_made->multicast, *request.graph)) return std::nullopt;
  Routes kept = *found.as_made;
  kept.engine = fresh.engine;
  kept.lfts = found.lfts;
  mend_dead_ends(kept.lfts, fresh, *request.graph);
  kept.virtual_lanes.sl_to_vl = fresh.virtual_lanes.sl_to_vl;
  kept.promises_deadlock_freedom = fresh.promises_deadlock_freedom;
  if (!is_near(load_of(request, kept), load_of(request, fresh))) return std::nullopt;
  tables::VerifyOptions checks;
  checks.loads = false;
  checks.credit_loops_are_must = kept.promises_deadlock_freedom;
  const auto is_proved = [&](const tables::MulticastCheck& trees) {
    return tables::verify(*request.fabric, *request.graph, kept.lfts, kept.virtual_lanes, trees,
                          checks)
        .must_ok();
  };
  // Where some entries had to be mended the trees that were claimed may close a loop with them.
  if (is_proved(TreeClaim(*request.graph, kept.multicast).check())) return kept;
  kept.multicast = {};
  if (!is_proved({})) return std::nullopt;
  return kept;
}

std::shared_ptr<const PlacedSwitches> Rerouter::order() const { return state_->rule().order; }

/// Before the state is given up: its routes are those to return to, unless the fabric has grown
/// beyond what was known, so that there is hardly a way back.
void Rerouter::leave(const fabric::CompactGraph& now) {
  const auto& known = origin_ != nullptr ? origin_->graph : state_->links.graph;
  if (now.switch_count() > known.switch_count() || now.arc_count() > known.arc_count() ||
      now.destinations().size() > known.destinations().size()) {
    origin_.reset();
  } else if (origin_ == nullptr) {
    origin_ = std::make_unique<Origin>(
        Origin{state_->links.graph, state_->kinds(), state_->first_routes()});
  }
}

Difference Rerouter::return_to_origin(const Request& request) {
  const tables::LinearTables before =
      carried_over(state_->routes.lfts, state_->here(), *request.graph);
  const auto origin = std::exchange(origin_, nullptr);
  state_ = begun(request, std::move(origin->graph), std::move(origin->routes));
  Difference result = difference(before, state_->routes.lfts);
  result.recomputed = "switches, LIDs and cables are again the ones they were";
  return result;
}

/// Other routes, if `kept` cannot be brought within a tenth of the load of fresh ones; else null.
/// Fresh ones are computed only where they could be better by a tenth. An engine that does not fit
/// any more has none.
std::unique_ptr<Rerouter::State> Rerouter::better(State& kept, const Request& request) const {
  if (!kept.follows() || is_near(kept.load_max(), kept.load_floor())) return nullptr;
  auto routes = engine_->compute(request);
  if (!routes) return nullptr;
  auto fresh = begun(request, *request.graph, *std::move(routes));
  if (!fresh->follows()) return fresh;
  const std::uint64_t limit = most_near(kept.load_max_of(*fresh));
  if (kept.load_max() <= limit) return nullptr;
  if (fresh->keeps_order_of(kept) ? kept.approach(*fresh, limit) : kept.lower_to(limit))
    return nullptr;
  // What is kept and would be a candidate by the fresh order stays.
  Routes mixed = fresh->routes;
  mixed.lfts = kept.routes.lfts;
  auto state = state_of(request, *request.graph, std::move(mixed));
  if (state->take_over(fresh->rule(), kept.links) &&
      state->approach(*fresh, most_near(state->load_max_of(*fresh))))
    return state;
  return fresh;
}

/// Routes by a fresh order, if hosts reach more switches by that than by the one that is kept, or,
/// where switches are gone, switches each other; else null. What is a candidate stays.
std::unique_ptr<Rerouter::State> Rerouter::reaching_more(const Request& request) const {
  auto rule = engine_->candidates(request);
  if (!rule || state_->keeps(rule->up_order)) return nullptr;
  Routes routes = state_->routes;
  routes.multicast.up_order = rule->up_order;
  auto state = state_of(request, *request.graph, std::move(routes));
  const bool all = state_->has_lost_switches();
  if (!state->take_over(*std::move(rule), state_->links) ||
      unreached(state->routes.lfts, *request.graph, all) >=
          unreached(state_->routes.lfts, *request.graph, all))
    return nullptr;
  if (auto fresh = better(*state, request)) return fresh;
  return state;
}

/// The routes of before in a fabric that cannot be followed: by the rule there was if that knows
/// all switches and leaves nobody without a way, else by `made` if that is better. Null: there are
/// hosts that neither joins.
std::unique_ptr<Rerouter::State> Rerouter::taken_over(const Request& request, CandidateRule made,
                                                      const tables::LinearTables& before) const {
  const fabric::CompactGraph& now = *request.graph;
  std::vector<std::optional<CandidateRule>> rules;
  rules.push_back(state_->rule_among(now));
  Routes routes;
  routes.engine = engine_->name;
  routes.promises_deadlock_freedom = state_->routes.promises_deadlock_freedom;
  routes.notes = made.notes;
  rules.emplace_back(std::move(made));
  std::unique_ptr<State> best;
  std::size_t apart = 0;
  for (auto& rule : rules) {
    if (!rule) continue;
    Routes own = routes;
    own.lfts = before;
    own.multicast.up_order = rule->up_order;
    auto state = state_of(request, now, std::move(own));
    const auto left = state->take_over(*std::move(rule), state_->links);
    if (!left || (best != nullptr && *left >= apart)) continue;
    best = std::move(state);
    apart = *left;
    if (apart == 0) break;
  }
  return best;
}

Routes Rerouter::relieved(const Request& request, CandidateRule rule, Routes routes) {
  State state(request, *request.graph, std::move(routes), Targets(request));
  if (state.take_stock(std::move(rule))) state.relieve_all();
  return std::move(state.routes);
}

const Routes& Rerouter::routes() const { return state_->routes; }
std::uint64_t Rerouter::load_max() const { return state_->load_max(); }
std::uint64_t Rerouter::most_routes() const { return state_->most_routes(); }

}  // namespace ib::route
