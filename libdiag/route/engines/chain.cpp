// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Engine `chain`: parts of a fabric by engines of their own (routing chains of opensm's makers).
// Steps are taken in the order of their IDs; each writes the entries of its hosts and switches in
// its switches, and the last one that writes an entry has it. Tables of several engines without
// credit loops may close some together, so the whole is proved here, and a refusal names the step.
#include "libdiag/route/chain/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "libdiag/route/chain/part.h"
#include "libdiag/route/deadlock/turn_vls.h"
#include "libdiag/route/engines/engines.h"
#include "libdiag/tables/verify.h"

namespace ib::route {
namespace {

using fabric::SwitchIndex;

std::string name_of(const ChainStep& step) {
  return step.topology == 0
             ? fmt::format("step {} ({})", step.id, step.engine)
             : fmt::format("step {} ({} on topology {})", step.id, step.engine, step.topology);
}

/// The first thing that is wrong and must hold.
std::string why_it_fails(const tables::Verdict& verdict) {
  for (const auto& finding : verdict.findings)
    if (finding.must) return finding.message;
  return std::to_string(verdict.must_failures) + " checks that must hold fail";
}

/// What a step that was taken has made.
struct Made {
  const ChainStep* step{};
  std::optional<ChainPart> part;  // nothing: all of the fabric
  Routes routes;                  // by the switches of the part
};

class Chaining {
 public:
  Chaining(const Request& request, const Chain& chain)
      : request_(request), graph_(*request.graph), chain_(chain) {
    checks_.loads = false;
    checks_.credit_loops_are_must = !chain.allow_credit_loops;
  }

  Result<Routes> run() {
    while (true) {
      if (auto done = take_steps(); !done) return tl::unexpected<Error>(std::move(done.error()));
      auto routes = proved();
      if (routes) return routes;
      const ChainStep& failing = *made_[first_bad()].step;
      failed_.emplace(failing.id, "with it, " + routes.error().message);
      if (fallbacks_of(failing.fallback_to.value_or(failing.id)).empty())
        return fail(ErrorKind::NotFound, why_not(failing));
    }
  }

 private:
  /// Those that have not failed.
  std::vector<const ChainStep*> fallbacks_of(std::uint64_t id) const {
    std::vector<const ChainStep*> all;
    for (const ChainStep& other : chain_.steps)
      if (other.fallback_to == id && !failed_.contains(other.id)) all.push_back(&other);
    return all;
  }

  std::string why_not(const ChainStep& step) const {
    return fmt::format("{}: {}", name_of(step), failed_.at(step.id));
  }

  /// Every step, or what takes its place. An error names the first for which there is none.
  Result<void> take_steps() {
    made_.clear();
    notes_.clear();
    for (const ChainStep& step : chain_.steps) {
      if (step.fallback_to) continue;
      std::vector<const ChainStep*> tries = fallbacks_of(step.id);
      if (!failed_.contains(step.id)) tries.insert(tries.begin(), &step);
      if (!take_first(tries)) {
        std::string why = why_not(step);
        for (const ChainStep& other : chain_.steps)
          if (other.fallback_to == step.id) why += "; in its place " + why_not(other);
        return fail(ErrorKind::NotFound, std::move(why));
      }
      if (made_.back().step != &step)
        notes_.push_back(
            fmt::format("chain: {} in place of {}", name_of(*made_.back().step), why_not(step)));
    }
    return {};
  }

  /// The first that its engine can do. False: none.
  bool take_first(const std::vector<const ChainStep*>& steps) {
    for (const ChainStep* step : steps) {
      auto made = compute(*step);
      if (made) {
        made_.push_back(*std::move(made));
        return true;
      }
      failed_.emplace(step->id, std::move(made.error().message));
    }
    return false;
  }

  Result<Made> compute(const ChainStep& step) const {
    Made made{&step, {}, {}};
    Request request = request_;
    request.previous_sls = nullptr;  // they are of the whole
    request.previous_sl_to_vl = nullptr;
    request.unfit = {};
    if (step.options != nullptr) {
      request.options = *step.options;
      request.options.honour_previous = request_.options.honour_previous;
    }
    tables::LinearTables previous;
    if (const ChainTopology* topology = chain_.topology_of(step)) {
      made.part = chain_part(*request_.fabric, graph_, chain_.groups, *topology);
      if (made.part->whole.empty())
        return fail(ErrorKind::NotFound,
                    fmt::format("topology {} has no switch: none is in port group {}", topology->id,
                                topology->switches));
      if (request.previous != nullptr) {
        previous = made.part->part_of(*request.previous);
        request.previous = &previous;
      }
      request.fabric = &made.part->fabric;
      request.graph = &made.part->graph;
    }
    const EngineEntry* engine = find_engine(step.engine);
    if (engine == nullptr || engine->compute == &route::chain)
      return fail(ErrorKind::NotFound, "there is no such engine for a step");
    auto routes = engine->compute(request);
    if (!routes) return tl::unexpected<Error>(std::move(routes.error()));
    made.routes = *std::move(routes);
    return made;
  }

  /// Of the first `count` steps together.
  tables::LinearTables tables_of(std::size_t count) const {
    tables::LinearTables lfts = made_.front().routes.lfts;
    for (std::size_t i = 1; i < count; ++i) write(made_[i], lfts);
    return lfts;
  }

  void write(const Made& made, tables::LinearTables& to) const {
    const auto& fabric = made.part ? made.part->fabric : *request_.fabric;
    const auto& graph = made.part ? made.part->graph : graph_;
    for (const auto& d : graph.destinations()) {
      if (d.lid.value - fabric.port(d.end_port).lid.value != made.step->path_bit) continue;
      for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        if (const auto port = made.routes.lfts.at(s, d.lid); port != tables::kNoPort)
          to.set(made.part ? made.part->whole[s] : s, d.lid, port);
    }
  }

  /// The first step with which something is wrong that no later one mends.
  std::size_t first_bad() const {
    for (std::size_t count = made_.size() - 1; count > 0; --count) {
      const auto lfts = tables_of(count);
      const auto vls = count == 1 ? made_.front().routes.virtual_lanes : tables::VirtualLanes{};
      if (verdict_of(lfts, vls).must_ok() || apart_by_turn(lfts)) return count;
    }
    return 0;
  }

  tables::Verdict verdict_of(const tables::LinearTables& lfts,
                             const tables::VirtualLanes& vls) const {
    return tables::verify(*request_.fabric, graph_, lfts, vls, {}, checks_);
  }

  /// An error says what is wrong with the whole.
  Result<Routes> proved() {
    const Routes& first = made_.front().routes;
    Routes out;
    out.lfts = tables_of(made_.size());
    const bool is_first = out.lfts == first.lfts;
    if (is_first) out = first;  // with its VLs and its rule for multicast trees
    out.engine = "chain";
    auto verdict = verdict_of(out.lfts, out.virtual_lanes);
    if (!is_first && verdict.credit_loop_channels != 0) {
      if (auto vls = apart_by_turn(out.lfts)) {
        out.virtual_lanes = std::move(vls->virtual_lanes);
        out.vls_used = static_cast<std::uint8_t>(vls->vls);
        verdict = verdict_of(out.lfts, out.virtual_lanes);
      }
    }
    if (!verdict.must_ok()) return fail(ErrorKind::NotFound, why_it_fails(verdict));
    out.promises_deadlock_freedom = verdict.credit_loop_channels == 0;
    say(out);
    return out;
  }

  /// VLs with which the tables close no credit loop; nothing: none are found, or the tables lead in
  /// circles.
  std::optional<TurnVls> apart_by_turn(const tables::LinearTables& lfts) const {
    auto without_loops = checks_;
    without_loops.credit_loops_are_must = false;
    if (request_.vls < 2 ||
        !tables::verify(*request_.fabric, graph_, lfts, tables::VirtualLanes{}, {}, without_loops)
             .must_ok())
      return std::nullopt;
    auto found = vls_by_turn(graph_, lfts, request_.vls,
                             {request_.previous_sls, request_.previous_sl_to_vl, nullptr});
    auto* vls = std::get_if<TurnVls>(&found);
    if (vls == nullptr) return std::nullopt;
    const auto verdict = verdict_of(lfts, vls->virtual_lanes);
    return verdict.must_ok() && verdict.credit_loop_channels == 0 ? std::optional(std::move(*vls))
                                                                  : std::nullopt;
  }

  void say(Routes& out) const {
    out.notes = notes_;
    for (const Made& made : made_)
      for (const std::string& note : made.routes.notes)
        out.notes.push_back(fmt::format("chain: {}: {}", name_of(*made.step), note));
  }

  const Request& request_;
  const fabric::CompactGraph& graph_;
  const Chain& chain_;
  tables::VerifyOptions checks_;
  std::map<std::uint64_t, std::string> failed_;  // steps, and why
  std::vector<Made> made_;                       // by the steps that were taken
  std::vector<std::string> notes_;
};

}  // namespace

Result<Routes> chain(const Request& request) {
  const Chain* steps = request.options.chain.get();
  if (steps == nullptr || steps->steps.empty())
    return fail(ErrorKind::NotFound, "it has no steps: rch_policy_file names no file of them");
  return Chaining(request, *steps).run();
}

}  // namespace ib::route
