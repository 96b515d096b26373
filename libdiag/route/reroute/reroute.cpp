// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/reroute/reroute.h"

#include <algorithm>
#include <cstring>

#include "libdiag/route/reroute/reroute_origin.h"
#include "libdiag/route/reroute/reroute_state.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

/// How much more than after a fresh computation the most loaded link may carry.
constexpr double kDriftMax = 1.1;

/// Whether a link carries at most that much more than it would by fresh routes.
bool is_near(std::uint64_t load, double fresh) {
  return static_cast<double>(load) <= kDriftMax * fresh;
}
bool is_near(std::uint64_t load, std::uint64_t fresh) {
  return is_near(load, static_cast<double>(fresh));
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
}

std::unique_ptr<Rerouter::State> Rerouter::begun(Request request, fabric::CompactGraph graph,
                                                 Routes routes) const {
  auto state = std::make_unique<State>(request, std::move(graph), std::move(routes));
  if (engine_->candidates == nullptr) return state;
  request.graph = &state->links.graph;
  // Entries that are no candidates (an operator's, an older rule's) cannot be followed one by one.
  if (auto rule = engine_->candidates(request)) state->take_stock(std::move(*rule));
  return state;
}

Result<Difference> Rerouter::update(const fabric::Fabric& fabric, const fabric::CompactGraph& now) {
  Difference result;
  Request request{&fabric, &now, options_, nullptr, vls_};
  const auto sls = tables::carried_over(state_->routes.virtual_lanes.sls, state_->links.graph, now);
  request.previous_sls = &sls;
  if (origin_ != nullptr && origin_->is_made_for(request) && origin_->mixes_with(request))
    return return_to_origin(request);
  if (state_->follow(request)) {
    std::unique_ptr<State> fresh;
    // What was near when the links were the same is so again.
    const bool is_new = state_->has_moved() && !state_->has_returned();
    if (is_new && !is_near(state_->load_max(), state_->load_floor())) {
      state_->level_out(State::Moving::Mended);
      fresh = better(*state_, request);
    }
    result = state_->take_changes();
    if (fresh == nullptr) return result;
    leave(now);
    tables::LinearTables before = std::move(state_->routes.lfts);
    for (const auto& entry : result.entries) before.set(entry.at, entry.lid, entry.before);
    state_ = std::move(fresh);
    result = difference(before, state_->routes.lfts);
    result.recomputed = "by the order that was kept the most loaded link carries a tenth too much";
    return result;
  }

  leave(now);
  const tables::LinearTables before = carried_over(state_->routes.lfts, state_->links.graph, now);
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
    Request keeping = request;
    keeping.previous = &before;
    keeping.options.honour_previous = true;
    auto kept = engine_->compute(keeping);
    const auto load = [&](const Routes& of) {
      return tables::verify(fabric, now, of.lfts).load_max;
    };
    const bool near = kept && is_near(load(*kept), load(*fresh));
    state_ = begun(request, now, near ? *std::move(kept) : *std::move(fresh));
    result.recomputed = std::string(engine_->name) + " routes as a whole";
  }
  std::string why = std::move(result.recomputed);
  result = difference(before, state_->routes.lfts);
  result.recomputed = std::move(why);
  return result;
}

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
      carried_over(state_->routes.lfts, state_->links.graph, *request.graph);
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
  auto state = std::make_unique<State>(request, *request.graph, std::move(mixed));
  if (state->take_over(fresh->rule(), kept.links) &&
      state->approach(*fresh, most_near(state->load_max_of(*fresh))))
    return state;
  return fresh;
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
    auto state = std::make_unique<State>(request, now, std::move(own));
    const auto left = state->take_over(*std::move(rule), state_->links);
    if (!left || (best != nullptr && *left >= apart)) continue;
    best = std::move(state);
    apart = *left;
    if (apart == 0) break;
  }
  return best;
}

Routes Rerouter::relieved(const Request& request, CandidateRule rule, Routes routes) {
  State state(request, *request.graph, routes);
  if (!state.take_stock(std::move(rule))) return routes;
  state.relieve_all();
  return std::move(state.routes);
}

const Routes& Rerouter::routes() const { return state_->routes; }
std::uint64_t Rerouter::load_max() const { return state_->load_max(); }

}  // namespace ib::route
