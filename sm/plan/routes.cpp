// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "libdiag/fabric/labels.h"
#include "libdiag/tables/loads.h"
#include "libdiag/tables/names.h"
#include "sm/plan/vl_weights.h"

namespace sm::plan {
namespace {

using ib::Guid;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::route::LidAssignment;
using ib::wire::PortInfo;
using ib::wire::PortState;

Fabric routed_fabric(const Fabric& fabric, const std::vector<bool>& node_managed,
                     std::span<const LidAssignment> lids) {
  Fabric f = fabric;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    for (unsigned p = 0; p <= f.node(n).num_ports; ++p) {
      f.port(n, p).lid = ib::kNoLid;
      f.port(n, p).lmc = 0;
      if (!node_managed[n]) f.disconnect({n, static_cast<std::uint8_t>(p)});
    }
  }
  for (const LidAssignment& a : lids) {
    f.port(a.port).lid = a.lid;
    f.port(a.port).lmc = a.lmc;
  }
  f.reindex();
  return f;
}

/// The working state; run() reads as the order of the steps.
class RoutePlanner {
 public:
  RoutePlanner(const PlanRequest& request, const policy::VlSettingsByKind* settings,
               RerouteState& reroute, Desired& out)
      : request_(request),
        options_(request.options),
        observed_(*request.observed),
        settings_(settings),
        reroute_(reroute),
        out_(out) {}

  PlannedRoutes run() && {
    route();
    return {std::move(routed_), std::move(class_mapping_), std::move(mapped_classes_)};
  }

  PlannedRoutes stopgap() && {
    routed_ = routed_fabric(fabric(), out_.node_managed, out_.lids);
    const ib::route::Options& options = options_.choice.engine;
    auto routing = std::make_shared<Routing>(Routing{graph_of(options), {}, {}, {}, {}});
    routing->lfts =
        ib::tables::LinearTables(routing->graph.switch_count(), routing->graph.max_lid());
    if (const auto* engine = ib::route::find_engine(request_.stopgap_engine))
      if (auto routes = engine->compute({&routed_, &routing->graph, options});
          routes && routes->virtual_lanes.trivial()) {
        routing->engine = std::move(routes->engine);
        routing->lfts = std::move(routes->lfts);
        routing->virtual_lanes = std::move(routes->virtual_lanes);
      }
    out_.routing = std::move(routing);
    return {std::move(routed_), {}, {}};
  }

 private:
  const Fabric& fabric() const { return observed_.fabric; }
  bool is_switch(NodeIndex n) const { return fabric().node(n).is_switch(); }
  std::string name(NodeIndex n) const { return ib::fabric::node_label(fabric().node(n)); }

  /// The operator's options as they count for `f`; says what is wrong with them.
  ib::route::ChoiceOptions choice_for(const Fabric& f) {
    const auto remembered = [&](Guid guid) {
      return request_.stored != nullptr && request_.stored->contains(guid);
    };
    ib::route::ChoiceOptions choice = options_.choice;
    // Rows that name more VLs would be folded after they were proved.
    if (settings_ != nullptr)
      choice.vls_max = std::min(choice.vls_max, (*settings_)[kBetweenSwitches].vls);
    const auto* mentions = &options_.mentions;
    if (request_.pending_options != nullptr) {
      const auto unknown = unknown_names(f, request_.pending_options->mentions, remembered);
      out_.options_adopted = unknown.empty() || request_.previous == nullptr;
      for (const std::string& line : unknown)
        if (!out_.options_adopted)
          out_.alarms.push_back(line +
                                "; the files as last read are not used, the current routing stays");
      if (out_.options_adopted) {
        choice.engine = request_.pending_options->options;
        mentions = &request_.pending_options->mentions;
      }
    }
    for (const std::string& line : unknown_names(f, *mentions, remembered))
      out_.alarms.push_back(line + "; routed without it");
    for (std::string& line : ib::route::empty_files(*mentions))
      out_.alarms.push_back(std::move(line));
    return choice;
  }

  ib::fabric::CompactGraph graph_of(const ib::route::Options& options) const {
    const auto listed = options.no_hosts.guids();
    std::vector<ib::Guid> no_hosts(listed.begin(), listed.end());
    std::ranges::copy(ib::discover::special_nodes(*request_.observed),
                      std::back_inserter(no_hosts));
    return ib::fabric::CompactGraph(routed_, no_hosts);
  }

  void route() {
    routed_ = routed_fabric(fabric(), out_.node_managed, out_.lids);
    const Fabric& f = routed_;
    ib::route::ChoiceOptions options = choice_for(f);
    auto routing = std::make_shared<Routing>(Routing{graph_of(options.engine), {}, {}, {}, {}});
    const Weighable weighable = weighable_between_switches(routing->graph);
    options.vls_max = std::min(options.vls_max, weighable.vls);
    ib::tables::VerifyOptions checks;
    checks.loads = request_.for_report;
    checks.sm_lid = out_.sm_lid;
    checks.master_sm_sl = options_.sm_sl;
    checks.credit_loops_are_must = !options.allow_credit_loops;
    ChosenRoutes chosen = choose_for_classes(
        {f, routing->graph, &options, checks, request_.previous.get(), out_.options_adopted,
         request_.previous == nullptr ? request_.found.get() : nullptr, request_.balance,
         settings_ ? &(*settings_)[kBetweenSwitches] : nullptr, used_sls(options_),
         options_.operational_vls_max, weighable.vls, request_.keep_sl_to_vl, request_.held.get()},
        reroute_);
    out_.keep_sl_to_vl = request_.keep_sl_to_vl;
    out_.deadlock_by_kept_rows = chosen.deadlock_by_kept_rows;
    if (!chosen.deadlock_by_kept_rows.empty()) out_.alarms.push_back(chosen.deadlock_by_kept_rows);
    if (chosen.left) routing->left_for_one_vl = std::move(chosen.deadlock_by_kept_rows);
    out_.verifier = std::move(chosen.verifier);
    class_mapping_ = std::move(chosen.class_mapping);
    mapped_classes_ = std::move(chosen.classes);
    tell_choice(chosen, *routing);
    ib::route::Choice& choice = chosen.choice;
    out_.program_lfts = choice.passed || may_stand_in(f, *routing, choice, options, checks);
    out_.routed = out_.program_lfts || request_.previous != nullptr;
    if (choice.routes.engine.empty() || (!out_.routed && !request_.for_report)) {
      choice.routes = {};
      class_mapping_.reset();
      choice.routes.lfts =
          ib::tables::LinearTables(routing->graph.switch_count(), routing->graph.max_lid());
    }
    fill(*routing, chosen);
    if (!weighable.why.empty() && (settings_ != nullptr || !routing->virtual_lanes.trivial()))
      say_of_qos(out_, weighable.why);
    out_.tried = std::move(choice.tried);
    out_.verdict = std::move(choice.verdict);
    // Who follows routes knows their loads all the time; to count them again takes longer.
    if (!checks.loads) out_.verdict.load_max = most_routes(*routing);
    tell_classes(*routing);
    // What stands in place of routes is not what was verified.
    if (routing->engine.empty()) out_.verifier = std::make_shared<ib::tables::Verifier>(checks);
    out_.routing = std::move(routing);
    compare_sls(checks);
  }

  /// CA-to-CA routes over the most loaded link.
  std::uint64_t most_routes(const Routing& routing) const {
    if (const auto& rerouter = reroute_.rerouter; rerouter && rerouter->most_routes() != 0)
      return rerouter->most_routes();
    const auto loads = ib::tables::loads_by_arc(routing.graph, routing.lfts);
    return loads.empty() ? 0 : *std::ranges::max_element(loads);
  }

  void tell_choice(const ChosenRoutes& chosen, const Routing& routing) {
    const ib::route::Choice& choice = chosen.choice;
    for (std::string& line : choice.alarms()) out_.alarms.push_back(std::move(line));
    for (std::string& line : choice.notes()) out_.notes.push_back(std::move(line));
    if (chosen.taken_up)
      out_.notes.push_back(fmt::format(
          "forwarding tables go on from what switches hold: {} of {} entries change",
          *chosen.taken_up, routing.graph.switch_count() * routing.graph.destinations().size()));
    if (choice.passed) return;
    for (const auto& finding : choice.verdict.findings)
      if (finding.must && !is_said(finding.message)) out_.alarms.push_back(finding.message);
  }

  void fill(Routing& routing, ChosenRoutes& chosen) {
    ib::route::Routes& routes = chosen.choice.routes;
    routing.lfts = std::move(routes.lfts);
    if (class_mapping_ && class_mapping_->classes > 1)
      routing.engine_sls = routes.virtual_lanes.sls;
    routing.virtual_lanes =
        std::move(class_mapping_ ? class_mapping_->virtual_lanes : routes.virtual_lanes);
    routing.multicast = std::move(class_mapping_ ? class_mapping_->multicast : routes.multicast);
    routing.engine = std::move(routes.engine);
    routing.merged_levels = std::move(chosen.merged_levels);
    if (settings_ != nullptr && !class_mapping_)
      routing.dropped_sls = policy::dropped_sls(*settings_);
    routing.followed = chosen.followed;
    for (const ib::route::Tried& tried : chosen.choice.tried)
      if (!tried.passed && tried.named) routing.failed.push_back(tried.engine);
  }

  void tell_classes(const Routing& routing) {
    if (!routing.merged_levels.empty()) say_of_qos(out_, routing.merged_levels);
    if (!class_mapping_) return;
    for (const std::string& key : policy::keys_without_effect(options_.qos_sets))
      say_of_qos(out_,
                 fmt::format("{} has no effect: routes of {} use several VLs, and the mapping of "
                             "links between switches makes the classes",
                             key, routing.engine));
    if (out_.verdict.switch_turns_refused > 0)
      out_.notes.push_back(
          fmt::format("paths between LIDs of switches are not free of credit loops ({} "
                      "dependencies): nothing but SMPs goes there, on a VL of its own",
                      out_.verdict.switch_turns_refused));
  }

  /// Connections go on with the SLs they got, by the new tables. Pairs that could not keep theirs
  /// are said, with the proof of both together, and their hosts asked to register, and so to query,
  /// again.
  void compare_sls(const ib::tables::VerifyOptions& checks) {
    if (!out_.program_lfts || out_.routing->engine.empty()) return;
    const Routing& now = *out_.routing;
    const auto earlier = earlier_sls(now);
    if (!earlier) return;
    out_.sl_moves = sl_moves(routed_, now.graph, now.lfts, now.virtual_lanes, *earlier, checks);
    const auto& moved = out_.sl_moves->pairs;
    if (moved.empty()) return;
    const bool loops = out_.sl_moves->credit_loop_channels != 0;
    auto& lines = loops ? out_.alarms : out_.notes;
    lines.push_back(fmt::format(
        "{} pairs of switches have another SL than connections between their hosts got, the first "
        "{} and {}; on the SLs of before these connections {}; the hosts are asked to register "
        "again",
        moved.size(), ib::tables::switch_name(routed_, now.graph, moved.front().first),
        ib::tables::switch_name(routed_, now.graph, moved.front().second),
        loops ? "may close a credit loop until they are set up again" : "close no credit loop"));
    std::set<ib::fabric::SwitchIndex> leaves;
    for (const auto& [a, b] : moved) leaves.insert({a, b});
    for (const LidAssignment& a : out_.lids) {
      const auto& seen = observed_.port(a.port);
      if (!is_switch(a.port.node) && may_reregister(options_, seen) && is_in_use(seen) &&
          leaves.contains(leaf_of(routed_, now.graph, a.port)))
        out_.ports[observed_.port_index(a.port)].reregister = true;
    }
  }

  /// The SLs that connections have. Of the routes found those of the engine are known, which are
  /// other ones than those of its classes.
  std::optional<ib::tables::PathSls> earlier_sls(const Routing& now) const {
    if (request_.previous != nullptr)
      return carried_over(request_.previous->virtual_lanes.sls, request_.previous->graph,
                          now.graph);
    if (request_.found == nullptr || now.engine_sls) return std::nullopt;
    return found_sls(*request_.found, now.graph);
  }

  /// The first finding is why an engine was refused.
  bool is_said(const std::string& message) const {
    return std::ranges::any_of(out_.alarms,
                               [&](const std::string& line) { return line.ends_with(message); });
  }

  /// The VLs that ports between switches have entries of arbitration for. Rows that name more would
  /// be folded after they were proved.
  struct Weighable {
    unsigned vls{15};
    std::string why;  // a sentence, where links could have more; else empty
  };
  Weighable weighable_between_switches(const ib::fabric::CompactGraph& graph) const {
    unsigned least = 15;
    PortRef where;
    for (ib::fabric::SwitchIndex s = 0; s < graph.switch_count(); ++s)
      for (const auto& arc : graph.arcs(s)) {
        const PortRef p{graph.node_of(s), arc.out_port};
        const unsigned here = weighable_vls(observed_.known_port(p), least);
        if (here < least) where = p;
        least = here;
      }
    if (const unsigned asked = ib::tables::data_vls(
            routed_, graph,
            std::min(options_.choice.vls_max, ib::wire::data_vls(options_.operational_vls_max)));
        least < asked)
      return {least, fmt::format("links between switches use {} of {} VLs, since a table of VL "
                                 "arbitration of {} port {} has {} entr{}",
                                 least, asked, name(where.node), where.port, least,
                                 least == 1 ? "y" : "ies")};
    return {least, {}};
  }

  static constexpr auto kBetweenSwitches =
      static_cast<std::size_t>(policy::QosKind::SwitchToSwitch);

  /// Whether routes that fail a must are programmed all the same: on a cold start, or when what is
  /// programmed fails worse by now. Never against the operator's word.
  bool may_stand_in(const Fabric& f, const Routing& routing, const ib::route::Choice& choice,
                    const ib::route::ChoiceOptions& options,
                    const ib::tables::VerifyOptions& checks) {
    if (choice.routes.engine.empty() || options.no_fallback) return false;
    if (request_.previous == nullptr) return true;
    const Routing& previous = *request_.previous;
    const auto carried = carried_over(previous.lfts, previous.graph, routing.graph);
    auto verdict = verify(f, routing.graph, carried, checks);
    // Its VLs belong to switch indexes of then; they were proved free of credit loops.
    if (!previous.virtual_lanes.trivial()) verdict.credit_loop_channels = 0;
    return ib::route::fails_less(choice.verdict, verdict);
  }

  const PlanRequest& request_;
  const PlanOptions& options_;
  const ib::discover::Observed& observed_;
  const policy::VlSettingsByKind* settings_;
  RerouteState& reroute_;
  Desired& out_;
  Fabric routed_;
  std::optional<ClassMapping> class_mapping_;
  ServiceClasses mapped_classes_;
};

}  // namespace

PlannedRoutes plan_routes(const PlanRequest& request, const policy::VlSettingsByKind* settings,
                          RerouteState& reroute, Desired& out) {
  return RoutePlanner(request, settings, reroute, out).run();
}

PlannedRoutes stopgap_routes(const PlanRequest& request, RerouteState& reroute, Desired& out) {
  return RoutePlanner(request, nullptr, reroute, out).stopgap();
}

std::uint16_t used_sls(const PlanOptions& options) {
  unsigned sls = options.level_sls;
  if (options.sm_sl) sls |= 1U << options.sm_sl->value;
  for (const policy::Partition& partition : options.partitions->partitions.all) {
    if (partition.sl) sls |= 1U << partition.sl->value;
    for (const policy::PartitionGroup& group : partition.groups)
      if (options.multicast) sls |= 1U << group.sl;
  }
  return static_cast<std::uint16_t>(sls);
}

bool is_in_use(const ib::discover::ObservedPort& seen) {
  return seen.state() == PortState::Armed || seen.state() == PortState::Active;
}

bool may_reregister(const PlanOptions& options, const ib::discover::ObservedPort& seen) {
  return options.reregister &&
         (seen.get<&PortInfo::capability_mask>() & ib::wire::port_cap::kClientReregistration) != 0;
}

void say_of_qos(Desired& out, const std::string& what) {
  out.qos_alarms.push_back("qos: " + what);
  out.alarms.push_back(out.qos_alarms.back());
}

}  // namespace sm::plan
