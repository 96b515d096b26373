// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/route_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "libdiag/tables/names.h"
#include "sm/plan/kept_rows.h"

namespace sm::plan {
namespace {

using ib::Guid;
using ib::fabric::Fabric;

constexpr unsigned kVls = 15;  // data VLs that there are

/// As far as what was proved under one holds under the other.
bool same_checks(const ib::tables::VerifyOptions& a, const ib::tables::VerifyOptions& b) {
  return a.sm_lid == b.sm_lid && a.master_sm_sl == b.master_sm_sl &&
         a.credit_loops_are_must == b.credit_loops_are_must;
}

std::vector<Guid> guids_of(const ib::fabric::CompactGraph& graph) {
  std::vector<Guid> guids;
  for (ib::fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s) guids.push_back(graph.guid(s));
  std::ranges::sort(guids);
  return guids;
}

class Chooser {
 public:
  Chooser(const RouteRequest& request, RerouteState& reroute)
      : request_(request),
        f_(request.fabric),
        graph_(request.graph),
        checks_(request.checks),
        reroute_(reroute) {}

  /// Routes, with VLs for each class of the operator's levels of service: for all classes with the
  /// engine that is tried first, else for as many as there are VLs with the engine that all VLs
  /// would bring.
  ib::route::Choice run() {
    const auto& options = *request_.options;
    if (request_.between == nullptr) return follow_or_choose(options);
    const policy::VlSettings& between = *request_.between;
    operable_ = ib::tables::data_vls(
        f_, graph_,
        std::min({between.vls, ib::wire::data_vls(request_.operational_vls_max),
                  request_.weighable_vls}));
    classes_ = service_classes(request_.used_sls, between.sl_to_vl, kVls);
    const std::size_t classes_wanted = classes_.size();
    const auto attempt = [&](std::size_t count, ib::route::ChoiceOptions with) {
      // Routes need one VL at least; verification names the link that has none.
      const auto each = static_cast<unsigned>(std::max<std::size_t>(1, operable_ / count));
      with.vls_max = count == 1 ? with.vls_max : std::min(with.vls_max, each);
      auto choice = follow_or_choose(with);
      give_classes(count, choice);
      return choice;
    };
    const bool follows = reroute_.rerouter && reroute_.classes_wanted == classes_wanted;
    auto choice = attempt(follows ? reroute_.classes : classes_wanted, options);
    const bool best = choice.passed && (is_following_ || options.engines.empty() ||
                                        choice.routes.engine == options.engines.front());
    if (!(best && fits_) && classes_wanted > 1) {
      choice = attempt(1, options);
      const auto failed = reroute_.failed;
      ib::route::ChoiceOptions same = options;
      same.engines = {choice.routes.engine};
      same.no_fallback = true;
      std::size_t count = class_mapping_ && choice.passed ? classes_wanted : 1;
      for (; count > 1; --count)
        if (auto fewer = attempt(count, same); fewer.passed && fits_) {
          fewer.tried = std::move(choice.tried);
          choice = std::move(fewer);
          break;
        }
      if (count == 1 && classes_given_ != 1) choice = attempt(1, options);
      reroute_.failed = failed;
    }
    reroute_.classes = class_mapping_ ? class_mapping_->classes : classes_given_;
    reroute_.classes_wanted = classes_wanted;
    return choice;
  }

  ChosenRoutes result(ib::route::Choice choice) && {
    auto merged = merged_levels(choice.routes.engine);
    return {std::move(choice),
            std::move(verifier_),
            std::move(class_mapping_),
            std::move(mapped_classes_),
            std::move(merged),
            is_following_ && !is_balanced_,
            {},
            false,
            taken_up_};
  }

 private:
  /// The VLs of `count` classes for the routes, verified; `fits_`: they can be had.
  void give_classes(std::size_t count, ib::route::Choice& choice) {
    class_mapping_.reset();
    classes_given_ = count;
    fits_ = true;
    if (choice.routes.engine.empty() || choice.routes.virtual_lanes.trivial()) return;
    const auto& map = request_.between->sl_to_vl;
    mapped_classes_ = merged(classes_, count);
    class_mapping_ = map_classes(choice.routes, graph_.switch_count(), mapped_classes_, map, kVls);
    fits_ = class_mapping_ && (count == 1 || class_mapping_->vls() <= operable_);
    if (!fits_ || count == 1) return;
    choice.verdict =
        verifier_->verify(f_, graph_, choice.routes.lfts, class_mapping_->virtual_lanes);
    fits_ = choice.verdict.must_ok();
  }

  ib::route::Choice follow_or_choose(const ib::route::ChoiceOptions& options) {
    if (request_.balance && !is_balanced_)
      if (auto fresh = balance(options)) {
        is_following_ = is_balanced_ = true;
        return *std::move(fresh);
      }
    auto followed = request_.found != nullptr && !is_taken_up_ ? take_up(options) : follow(options);
    is_following_ = followed.has_value();
    return is_following_ ? *std::move(followed) : choose(options);
  }

  /// The routes of before, less what links that went and came make wrong. Only while the engine
  /// that made them is the one to ask, and the result passes and loads no link too much.
  std::optional<ib::route::Choice> follow(const ib::route::ChoiceOptions& options) {
    if (!is_followed(options)) return std::nullopt;
    ib::route::Rerouter& rerouter = *reroute_.rerouter;
    if (!is_next(options, rerouter.engine())) return std::nullopt;
    const auto difference = rerouter.update(f_, graph_);
    if (!difference) return std::nullopt;
    ib::route::Choice choice;
    choice.routes = rerouter.routes();
    if (!same_checks(reroute_.checks, checks_) || !difference->recomputed.empty()) {
      reroute_.verifier = std::make_shared<ib::tables::Verifier>(checks_);
      reroute_.checks = checks_;
      choice.verdict =
          reroute_.verifier->verify(f_, graph_, choice.routes.lfts, choice.routes.virtual_lanes);
    } else {
      std::vector<ib::tables::EntryChange> changes;
      for (const auto& entry : difference->entries) changes.push_back({entry.at, entry.lid});
      choice.verdict = reroute_.verifier->verify_changes(f_, graph_, choice.routes.lfts, changes,
                                                         choice.routes.virtual_lanes);
    }
    verifier_ = reroute_.verifier;
    choice.passed = choice.verdict.must_ok();
    if (!choice.passed) {
      reroute_.rerouter.reset();
      return std::nullopt;
    }
    if (options.engines.empty() && is_overloaded(choice.routes, options)) return std::nullopt;
    choice.tried.push_back(row_of(choice, options));
    return choice;
  }

  /// The routes that stand in switches, as the engine would follow them; none, where they cannot be
  /// proved.
  std::optional<ib::route::Choice> take_up(const ib::route::ChoiceOptions& options) {
    is_taken_up_ = true;
    ib::route::Choice choice;
    if (!is_followed(options)) choice = choose(options);
    if (!reroute_.rerouter) return std::nullopt;
    if (choice.passed && is_held(*request_.found, graph_, choice.routes.lfts)) return choice;
    stay_with_engine(options);
    if (!request_.found->suits(reroute_.rerouter->engine(), options.engine)) return std::nullopt;
    ib::route::Rerouter& rerouter = *reroute_.rerouter;
    const ib::route::Routes fresh = rerouter.routes();
    const auto difference = rerouter.take_up(f_, found_routes(*request_.found, graph_));
    if (!difference) return std::nullopt;
    auto verifier = std::make_shared<ib::tables::Verifier>(checks_);
    const auto& routes = rerouter.routes();
    const auto verdict = verifier->verify(f_, graph_, routes.lfts, routes.virtual_lanes);
    if (!verdict.must_ok()) {
      rerouter.adopt(f_, graph_, fresh);
      return std::nullopt;
    }
    taken_up_ = difference->entries.size();
    verifier_ = reroute_.verifier = std::move(verifier);
    reroute_.checks = checks_;
    choice.routes = routes;
    choice.verdict = verdict;
    choice.passed = true;
    if (choice.tried.empty()) choice.tried.push_back(row_of(choice, options));
    return choice;
  }

  /// Fresh routes of the engine in use, where the most loaded link carries less by them, or as much
  /// and shifts meet less.
  std::optional<ib::route::Choice> balance(const ib::route::ChoiceOptions& options) {
    if (!is_followed(options)) return std::nullopt;
    ib::route::ChoiceOptions same = options;
    same.engines = {std::string(reroute_.rerouter->engine())};
    same.no_fallback = true;
    RerouteState kept = std::exchange(reroute_, {});
    auto fresh = choose(same);
    if (!fresh.passed || !is_better(fresh.routes.lfts, kept.rerouter->routes().lfts, options)) {
      reroute_ = std::move(kept);
      return std::nullopt;
    }
    reroute_.failed = std::move(kept.failed);
    reroute_.load_to_least = kept.load_to_least;
    reroute_.left = std::move(kept.left);
    reroute_.classes = kept.classes;
    reroute_.classes_wanted = kept.classes_wanted;
    return fresh;
  }

  bool is_better(const ib::tables::LinearTables& a, const ib::tables::LinearTables& b,
                 const ib::route::ChoiceOptions& options) const {
    const ib::route::Request request{&f_, &graph_, options.engine, nullptr, reroute_.vls};
    const double load_a = greatest_load(request, a), load_b = greatest_load(request, b);
    if (load_a * ib::route::kEqualLoad < load_b) return true;
    return load_a <= load_b &&
           ib::route::sampled_contention(graph_, a) * ib::route::kEqualContention <
               ib::route::sampled_contention(graph_, b);
  }

  /// By default the engine that made the routes found goes on, while no other loads links less
  /// by more than a tenth.
  void stay_with_engine(const ib::route::ChoiceOptions& options) {
    const auto& made = request_.found->made;
    const std::string chosen(reroute_.rerouter->engine());
    if (!made || !options.engines.empty() || made->engine == chosen) return;
    ib::route::ChoiceOptions same = options;
    same.engines = {made->engine};
    same.no_fallback = true;
    const ib::route::Request request{&f_, &graph_, options.engine, nullptr, reroute_.vls};
    const double best = greatest_load(request, reroute_.rerouter->routes().lfts);
    RerouteState kept = std::move(reroute_);
    const auto choice = choose(same);
    if (choice.passed && greatest_load(request, choice.routes.lfts) <= ib::route::kStays * best) {
      reroute_.failed = kept.failed;
      reroute_.load_to_least = kept.load_to_least;
      reroute_.left = kept.left;
    } else {
      reroute_ = std::move(kept);
    }
  }

  static ib::route::Tried row_of(const ib::route::Choice& choice,
                                 const ib::route::ChoiceOptions& options) {
    ib::route::Tried row;
    row.engine = choice.routes.engine;
    row.named = !options.engines.empty();
    row.passed = true;
    row.verdict = choice.verdict;
    row.vls_used = choice.routes.vls_used;
    return row;
  }

  /// Whether the engine in use is to be asked before all others: by default always, and of a list
  /// while those before it cannot be used with these switches.
  bool is_next(const ib::route::ChoiceOptions& options, std::string_view engine) const {
    if (options.engines.empty()) return true;
    const auto failed = failed_before();
    const auto next = std::ranges::find_if(options.engines, [&](const std::string& name) {
      return std::ranges::find(failed, name, &ib::route::Tried::engine) == failed.end();
    });
    return next != options.engines.end() && *next == engine;
  }

  std::vector<Guid> switches() const { return guids_of(graph_); }

  /// Engines that did not pass, as long as the switches are the same.
  std::span<const ib::route::Tried> failed_before() const {
    if (reroute_.failed.empty() || reroute_.switches != switches()) return {};
    return reroute_.failed;
  }

  /// Whether the most loaded link carries more than ib::route::kStays times what it would if the
  /// engine did as well as when it was chosen.
  bool is_overloaded(const ib::route::Routes& routes,
                     const ib::route::ChoiceOptions& options) const {
    const ib::route::Request request{&f_, &graph_, options.engine, nullptr, reroute_.vls};
    return reroute_.load_to_least > 0 &&
           greatest_load(request, routes.lfts) >
               ib::route::kStays * reroute_.load_to_least * least_load(request);
  }

  /// Whether the routes of before were made with the options of now.
  bool is_followed(const ib::route::ChoiceOptions& options) const {
    return reroute_.rerouter && !request_.options_changed &&
           reroute_.vls == ib::tables::data_vls(f_, graph_, options.vls_max);
  }

  ib::route::Choice choose(const ib::route::ChoiceOptions& options) {
    verifier_ = std::make_shared<ib::tables::Verifier>(checks_);
    auto* rerouter = is_followed(options) ? &*reroute_.rerouter : nullptr;
    ib::tables::PathSls sls;
    ib::route::Before before{
        rerouter, rerouter != nullptr ? failed_before() : std::span<const ib::route::Tried>{}};
    if (request_.routes_before != nullptr) {
      const Routing& previous = *request_.routes_before;
      sls = carried_over(previous.engine_sls.value_or(previous.virtual_lanes.sls), previous.graph,
                         graph_);
      before.sls = &sls;
    } else if (request_.found != nullptr) {
      if (auto found = found_sls(*request_.found, graph_)) {
        sls = *std::move(found);
        before.sls = &sls;
      }
    }
    auto choice = choose_routes(f_, graph_, options, checks_, before, verifier_.get());
    remember(options, choice);
    const auto* engine = choice.passed ? ib::route::find_engine(choice.routes.engine) : nullptr;
    if (engine == nullptr) {
      reroute_.rerouter.reset();
      return choice;
    }
    reroute_.vls = ib::tables::data_vls(f_, graph_, options.vls_max);
    if (rerouter == nullptr || rerouter->engine() != engine->name ||
        rerouter->routes().lfts != choice.routes.lfts) {
      reroute_.rerouter.emplace(*engine, options.engine, reroute_.vls);
      reroute_.rerouter->adopt(f_, graph_, choice.routes);
    }
    reroute_.verifier = verifier_;
    reroute_.checks = checks_;
    return choice;
  }

  /// What the next choice need not find out again.
  void remember(const ib::route::ChoiceOptions& options, const ib::route::Choice& choice) {
    reroute_.failed.clear();
    reroute_.switches = switches();
    reroute_.load_to_least = 0;
    if (!choice.passed) return;
    std::optional<double> load;
    for (const ib::route::Tried& row : choice.tried) {
      if (!row.passed) reroute_.failed.push_back(row);
      if (row.quality && (!load || row.quality->load < *load)) load = row.quality->load;
    }
    const double least =
        load ? ib::route::least_load({&f_, &graph_, options.engine, nullptr, reroute_.vls}) : 0;
    if (least > 0) reroute_.load_to_least = *load / least;
  }

  /// Which classes are not apart, in a sentence.
  std::string merged_levels(const std::string& engine) const {
    if (!class_mapping_) return request_.between == nullptr ? std::string() : folded_levels();
    if (mapped_classes_.size() == classes_.size()) return {};
    const ServiceClasses alone(
        classes_.begin(),
        classes_.begin() + static_cast<std::ptrdiff_t>(mapped_classes_.size() - 1));
    const ServiceClasses together(classes_.begin() + static_cast<std::ptrdiff_t>(alone.size()),
                                  classes_.end());
    return fmt::format("{} levels of service ({}) have the same VLs, since {} has VLs for {} of {}",
                       together.size(), class_names(together), engine, mapped_classes_.size(),
                       classes_.size());
  }

  /// On one VL packets have that of the operator's mapping, folded to what links operate.
  std::string folded_levels() const {
    std::vector<std::string> together;
    for (const std::uint16_t set :
         service_classes(request_.used_sls, request_.between->sl_to_vl, operable_))
      if (std::ranges::find(classes_, set) == classes_.end())
        together.push_back(class_names({set}));
    if (together.empty()) return {};
    return fmt::format(
        "levels of service have the same VL ({}), since links between switches use {}",
        fmt::join(together, "; "), operable_ == 1 ? "one" : fmt::format("{} VLs", operable_));
  }

  const RouteRequest& request_;
  const Fabric& f_;
  const ib::fabric::CompactGraph& graph_;
  const ib::tables::VerifyOptions& checks_;
  RerouteState& reroute_;
  std::shared_ptr<ib::tables::Verifier> verifier_;
  ServiceClasses classes_;  // of the operator's levels
  unsigned operable_{};     // data VLs that every link between switches can have
  std::optional<ClassMapping> class_mapping_;
  ServiceClasses mapped_classes_;  // that have these
  std::size_t classes_given_{1};
  bool fits_{true}, is_following_{false}, is_taken_up_{false}, is_balanced_{false};
  std::optional<std::size_t> taken_up_;
};

ChosenRoutes choose_as_planned(const RouteRequest& request, RerouteState& reroute) {
  Chooser chooser(request, reroute);
  auto choice = chooser.run();
  return std::move(chooser).result(std::move(choice));
}

/// What one VL allows, if anything passes there.
std::optional<ChosenRoutes> choose_for_one_vl(const RouteRequest& request, RerouteState& reroute) {
  ib::route::ChoiceOptions options = *request.options;
  options.vls_max = 1;
  RouteRequest one_vl = request;
  one_vl.options = &options;
  auto chosen = choose_as_planned(one_vl, reroute);
  if (!chosen.choice.passed || !chosen.choice.routes.virtual_lanes.trivial()) return std::nullopt;
  return chosen;
}

/// The credit loop that the routes close with rows that switches keep; empty: none.
std::string loop_with_kept_rows(const RouteRequest& request, const ChosenRoutes& chosen) {
  auto virtual_lanes = chosen.class_mapping ? chosen.class_mapping->virtual_lanes
                                            : chosen.choice.routes.virtual_lanes;
  if (request.keepers.empty() || request.held == nullptr || !chosen.choice.passed ||
      virtual_lanes.trivial())
    return {};
  virtual_lanes.sl_to_vl =
      with_kept_rows(virtual_lanes.sl_to_vl, request.graph, request.keepers, *request.held);
  const auto verdict = verify(request.fabric, request.graph, chosen.choice.routes.lfts,
                              virtual_lanes, {}, request.checks);
  if (verdict.credit_loop_channels == 0) return {};
  const auto loop = std::ranges::find(verdict.findings, ib::tables::Finding::Kind::CreditLoop,
                                      &ib::tables::Finding::kind);
  return loop != verdict.findings.end()
             ? loop->message
             : fmt::format("{} channels close a credit loop", verdict.credit_loop_channels);
}

std::string name_keepers(const RouteRequest& request) {
  std::vector<std::string> names;
  for (ib::fabric::SwitchIndex s = 0; s < request.graph.switch_count(); ++s)
    if (request.keepers.contains(request.graph.guid(s)))
      names.push_back(ib::tables::switch_name(request.fabric, request.graph, s));
  const std::string first = names.empty() ? std::string("a switch") : names.front();
  return names.size() < 2 ? first + " keeps another SLtoVLMappingTable than was set"
                          : fmt::format(
                                "{} switches keep another SLtoVLMappingTable than was set "
                                "(the first is {})",
                                names.size(), first);
}

}  // namespace

ChosenRoutes choose_for_classes(const RouteRequest& request, RerouteState& reroute) {
  const auto instead = [](ChosenRoutes chosen, const std::string& why) {
    chosen.left = true;
    chosen.deadlock_by_kept_rows =
        fmt::format("{}; {} routes on one VL, free of deadlock by any mapping, until they take it",
                    why, chosen.choice.routes.engine);
    return chosen;
  };
  if (!reroute.left.why.empty()) {
    if (!request.options_changed && reroute.left.keepers == request.keepers &&
        reroute.left.switches == guids_of(request.graph))
      if (auto chosen = choose_for_one_vl(request, reroute))
        return instead(*std::move(chosen), reroute.left.why);
    reroute = {};
  }
  auto chosen = choose_as_planned(request, reroute);
  const std::string loop = loop_with_kept_rows(request, chosen);
  if (loop.empty()) return chosen;
  std::string why = fmt::format("{}, and with these routes of {} may deadlock: {}",
                                name_keepers(request), chosen.choice.routes.engine, loop);
  if (request.checks.credit_loops_are_must) {
    RerouteState of_one_vl;
    if (auto other = choose_for_one_vl(request, of_one_vl)) {
      reroute = std::move(of_one_vl);
      reroute.left = {why, request.keepers, guids_of(request.graph)};
      return instead(*std::move(other), why);
    }
    why += "; no other routes are allowed that need one VL and pass";
  }
  chosen.deadlock_by_kept_rows = std::move(why);
  return chosen;
}

}  // namespace sm::plan
