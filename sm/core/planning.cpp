// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// From a sweep to what devices should hold: what the planner is asked, and what becomes of its
// answer.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libdiag/fabric/labels.h"
#include "sm/core/impl.h"
#include "sm/core/lost_store.h"
#include "sm/core/restarts.h"
#include "sm/device/tables/kinds.h"
#include "sm/plan/fdr10.h"
#include "sm/plan/partitions.h"
#include "sm/plan/sl_rates.h"

namespace sm::core {
namespace {

/// After a take-over clients have so long to register again before trees of others are cleared.
constexpr Duration kGroupsKept = std::chrono::seconds(60);
constexpr unsigned kPlansLeftMax = 2;  // in a row, for P_Keys that were taken away

}  // namespace

void SubnetManager::Impl::begin_plan(Instant now, std::shared_ptr<Observed> swept) {
  left.reset();
  if (mastership.take_taken_over()) taking_over = true;
  if (std::exchange(registrations_lost, false)) inputs.sa_state_lost = true;
  inputs.untold.merge(std::exchange(untold, {}));
  if (taking_over) {
    operator_asked = true;  // what devices hold is read again
    forget_groups_at = now + kGroupsKept;
  }
  if (taking_over || !desired) doubt_who_names_nobody(*swept, taking_over);
  if (desired) {
    kept.keep(now, *swept, *seen, desired->node_managed, !cut_short);
    note_who_was_away(*swept);
    note_who_is_gone(*swept);
  } else {
    kept.forget();
  }
  take_logs(kept);
  flapping.on_sweep(now, *seen, *swept);
  take_logs(flapping);
  if (operator_asked) {
    known.doubt_ports();
    known.doubt_absent(*swept);
    read_back_at = kNever;
  }
  tables.on_found(*swept, operator_asked);
  silent_switches.clear();  // those of this sweep are in its troubles
  looks_for_routes = !snapshot && (inputs.routes_made() || taking_over);
  is_stopgap = looks_for_routes && taking_over && can_bridge(*swept);
  tells_first = tells_first && is_stopgap;
  told_first.reset();
  cut_at = kNever;
  ask_for_plan(now, std::move(swept));
}

void SubnetManager::Impl::ask_for_plan(Instant now, std::shared_ptr<Observed> swept,
                                       std::shared_ptr<const plan::FoundRoutes> routes_found) {
  // What is planned by names goes by those of now, whatever the map was when it was swept.
  if (named_by != options.node_names) {
    named_by = options.node_names;
    (named_by ? *named_by : ib::fabric::NodeNames{}).name_all(swept->fabric);
  }
  plan::PlanRequest request = inputs.request_for(swept, options.plan);
  request.options.keep_unknown_groups = now < forget_groups_at && forget_groups_at != kNever;
  request.options.lids_of_devices = taking_over && !options.honor_stored_lids;
  request.lids_of_other_masters = lids_of_other_masters(*swept);
  request.was_cut_off = cut_off_once || renumbered_once;
  if (desired && !routes_found) request.before = seen;
  if (snapshot && !snapshot->routing->engine.empty()) request.previous = snapshot->routing;
  request.held = tables.tables();
  request.virtual_ports = vports.known();
  request.mute = mute_nodes(*swept);
  request.keep_fdr10 = known.refused.nodes(device::kExtendedPortInfo);
  request.fewer_vls = known.fewer_vls;
  request.trained = known.trained;
  request.keep_sl_to_vl = known.refused.nodes(device::kSlToVl);
  request.found = std::move(routes_found);
  if (is_stopgap) request.stopgap_engine = inputs.routes_made()->engine;
  request.balance = balancing;
  found = std::move(swept);
  plan_job.emplace(PlanJob{++plans, std::move(request)});
}

void SubnetManager::Impl::outdate_plan() {
  if (state == State::Planning) ++plans;
}

void SubnetManager::Impl::on_planned(Instant now, PlanResult result) {
  ib::invariant(state == State::Planning, "a plan came back that nobody asked for");
  auto planned_for = std::exchange(found, nullptr);
  const bool is_current = result.generation == plans;
  const bool counts = is_current && !decides_again();
  inputs.take_back(result.planned, counts);
  if (!counts && !desired) inputs.forget_routes();
  if (!mastership.is_master() && !options.rehearse) {
    go(Event::PlanDropped);
    log(LogLevel::Info, "plan", "what was computed is dropped: another one is master");
  } else if (is_current && !counts) {
    go(Event::PlanDropped);
    log(LogLevel::Info, "plan",
        "what was computed is dropped: another subnet manager was heard, and may be master");
    if (operator_asked || balancing) want_sweep(now, Reason::Operator);
  } else if (counts) {
    take_plan(now, std::move(planned_for), std::move(result.planned.desired));
  } else {
    go(Event::PlanDropped);
    log(LogLevel::Info, "plan", "what was computed is dropped: it is by options of before");
    want_sweep(now, Reason::Operator);
  }
  submit(now);
  run(now);
}

bool SubnetManager::Impl::gives_taken_keys() const {
  const bool same_names = named_by == options.node_names;
  if (desired->partitions == options.plan.partitions && same_names) return false;
  auto now_named = seen;  // members may go by names
  if (!same_names) {
    now_named = std::make_shared<Observed>(*seen);
    (options.node_names ? *options.node_names : ib::fabric::NodeNames{})
        .name_all(now_named->fabric);
  }
  const auto virtual_ports = vports.known();
  const auto planned = plan::given_keys(*desired, *seen, *desired->partitions, virtual_ports.get());
  const auto in_force =
      plan::given_keys(*desired, *now_named, *options.plan.partitions, virtual_ports.get());
  return !std::ranges::includes(in_force, planned);
}

bool SubnetManager::Impl::leaves_taken_keys() {
  const bool is_due = sweeping && !paused &&
                      (reasons.contains(Reason::Operator) || reasons.contains(Reason::Partitions));
  if (!is_due || plans_left >= kPlansLeftMax || !gives_taken_keys()) return false;
  ++plans_left;
  return true;
}

void SubnetManager::Impl::break_off_taken_keys() {
  const bool sets = state == State::Applying || state == State::Programming;
  if (sets && !applying->is_broken_off() && leaves_taken_keys()) applying->break_off();
}

void SubnetManager::Impl::take_plan(Instant now, std::shared_ptr<Observed> swept,
                                    ib::Result<plan::Desired> planned) {
  if (!planned) {
    is_stopgap = tells_first = false;
    go(Event::PlanDropped);
    log(LogLevel::Error, "plan", planned.error().message);
    for (const Trouble& t : swept->troubles) log_trouble(t);
    Report r;
    r.missing = 1;
    r.lines.push_back("missing: " + planned.error().message);
    // What was known before still belongs to what was desired then.
    if (!desired) seen = std::move(swept);
    finish(now, std::move(r));
    return;
  }
  if (desired) restarts = with_restarts(std::move(restarts), *seen, *swept);
  seen = std::move(swept);
  if (!balancing) scope.on_known();  // else nothing was swept
  if (planned->options_adopted) {
    // What is read badly from now on leaves these.
    options.plan.choice.engine = inputs.pending_options->options;
    options.plan.mentions = inputs.pending_options->mentions;
    inputs.pending_options.reset();
  }
  const bool is_first = desired == nullptr;
  desired = std::make_shared<const plan::Desired>(*std::move(planned));
  // Before it nobody subscribed here.
  if (!is_first) astray_lids.on_planned(now, desired->astray_lids);
  desired_aliases_revision = inputs.aliases_revision();
  looks_for_routes = looks_for_routes && (is_stopgap || has_found_routes());
  if (!looks_for_routes) settle_plan();
  if (!patient) cut_at = now + kSilence;
  go(looks_for_routes || is_to_be_read() ? Event::PlanToRead : Event::Planned);
  begin_apply(now);
}

void SubnetManager::Impl::settle_plan() {
  // The others are in the report.
  for (const Trouble& t : seen->troubles)
    if (concerns_managed(*desired, *seen, t)) log_trouble(t);
  for (const std::string& line : desired->alarms) log(LogLevel::Warning, "plan", line);
  for (const std::string& line : desired->notes) log(LogLevel::Info, "plan", line);
  tell_of_training();
  if (!snapshot && inputs.no_lids_stored() && !inputs.lids_are_forgotten())
    if (std::string line = describe_lost_store(*seen, *desired); !line.empty())
      log(LogLevel::Error, "store", std::move(line));
  if (store::Batch batch = inputs.remember_lids(*desired); !batch.empty())
    effects.commit.push_back(std::move(batch));
  taking_over = false;
  if (desired->vl_tables && desired->vls_needed)
    remember_vls(store::DeviceVls::Told);  // before the first of them is told
  has_fewer_vls = has_fewer_vls || narrows_links();
  if (options.rehearse) return;
  const ib::Guid own = seen->fabric.port(desired->sm_port).guid;
  if (store::Batch batch = inputs.remember_writer(own); !batch.empty())
    effects.commit.push_back(std::move(batch));
  store_doubts();
  if (store::Batch batch = inputs.remember_routes(*desired, options.plan.choice.engine);
      !batch.empty())
    effects.commit.push_back(std::move(batch));
}

void SubnetManager::Impl::tell_of_training() {
  using ib::fabric::PortRef;
  std::erase_if(known.trained, [&](const auto& noted) {
    const auto& [guid, number] = noted.first;
    const auto n = seen->fabric.find_node(guid);
    if (!n || number > seen->fabric.node(*n).num_ports) return false;
    const PortRef p{*n, number};
    const auto* port = seen->known_port(p);
    return port != nullptr && port->state() >= ib::wire::PortState::Initialize &&
           plan::training_of(desired->ports[seen->port_index(p)], port->info()) !=
               noted.second.training;
  });
  for (const PortRef p : desired->trained_in_vain) {
    const auto& node = seen->fabric.node(p.node);
    const auto noted = known.trained.find({node.guid, p.port});
    if (noted == known.trained.end() || std::exchange(noted->second.told, true)) continue;
    log(LogLevel::Warning, "plan",
        fmt::format("{} port {}: its link trained again, and runs at what force_link_speed and its "
                    "like do not allow; it is left so",
                    ib::fabric::node_label(node), p.port));
  }
}

bool SubnetManager::Impl::has_found_routes() const {
  if (!desired->program_lfts) return false;
  return std::ranges::any_of(seen->nodes, [](const auto& node) {
    return node.switch_info && node.switch_info->linear_fdb_top != 0;
  });
}

std::shared_ptr<const plan::FoundRoutes> SubnetManager::Impl::found_routes() const {
  const auto& routing = *desired->routing;
  auto routes_found = std::make_shared<plan::FoundRoutes>();
  for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s) {
    const device::Forwarding* held = known.inventory.forwarding(routing.graph.guid(s));
    if (held == nullptr) continue;
    const auto row = routing.lfts.row(s);
    std::vector<std::uint8_t> lft(row.size(), ib::tables::kNoPort);
    for (std::size_t lid = 0; lid < row.size(); ++lid)
      if (held->knows_lft_block(lid / device::kLidsInBlock)) lft[lid] = held->lft[lid];
    if (std::ranges::all_of(lft, [](auto port) { return port == ib::tables::kNoPort; })) continue;
    routes_found->lfts.emplace(routing.graph.guid(s), std::move(lft));
  }
  if (routes_found->lfts.empty()) return nullptr;
  routes_found->made = inputs.routes_made();
  return routes_found;
}

bool SubnetManager::Impl::is_unknown(const plan::WantedBlock& want) const {
  const ib::Guid guid = seen->fabric.node(want.node).guid;
  return known.inventory.held(*want.kind, guid, want.slot) == nullptr &&
         !known.refused.contains(guid, apply::ask_for(want));
}

bool SubnetManager::Impl::is_to_be_read() const {
  const auto unknown = [this](const plan::WantedBlock& want) { return is_unknown(want); };
  return std::ranges::any_of(desired->unread_p_keys, unknown) ||
         std::ranges::any_of(desired->to_read, unknown);
}

bool SubnetManager::Impl::has_unread_p_keys() const {
  return std::ranges::any_of(desired->unread_p_keys, [this](const plan::WantedBlock& want) {
    return is_unknown(want) && !kept.contains(seen->fabric.node(want.node).guid);
  });
}

std::shared_ptr<const plan::Desired> SubnetManager::Impl::with_readings() const {
  auto reading = std::make_shared<plan::Desired>(*desired);
  for (const auto* more : {&desired->unread_p_keys, &desired->to_read})
    reading->blocks.insert(reading->blocks.end(), more->begin(), more->end());
  std::ranges::stable_sort(reading->blocks, {}, &plan::WantedBlock::node);
  return reading;
}

std::set<ib::Guid> SubnetManager::Impl::mute_nodes(const Observed& swept) const {
  std::set<ib::Guid> mute;
  if (options.plan.rates == nullptr && options.plan.adaptive == nullptr) return mute;
  for (NodeIndex n = 0; n < swept.nodes.size(); ++n)
    for (const device::TableKind* kind : {&device::kGeneralInfo, &device::kArInfo})
      if (known.refused.contains(swept.fabric.node(n).guid, apply::ask_for({n, kind, {}, {}})))
        mute.insert(swept.fabric.node(n).guid);
  return mute;
}

void SubnetManager::Impl::plan_vendor_blocks_again(plan::Desired& next) {
  next.to_read.clear();
  next.speed_blocks.clear();
  if (options.plan.link_force.fdr10)
    plan::want_fdr10(next, *seen, *options.plan.link_force.fdr10, known.inventory,
                     known.refused.nodes(device::kExtendedPortInfo));
  const auto mute = mute_nodes(*seen);
  if (next.adaptive != nullptr) {
    const auto alarms = static_cast<std::ptrdiff_t>(next.alarms.size());
    const auto notes = static_cast<std::ptrdiff_t>(next.notes.size());
    plan::take_adaptive_blocks(next, *seen, known.inventory, mute);
    std::for_each(next.alarms.begin() + alarms, next.alarms.end(),
                  [&](const std::string& line) { log(LogLevel::Warning, "plan", line); });
    std::for_each(next.notes.begin() + notes, next.notes.end(),
                  [&](const std::string& line) { log(LogLevel::Info, "plan", line); });
  }
  if (options.plan.rates == nullptr) return;
  auto rates = plan::plan_sl_rates(*seen, next.node_managed, next.sm_port, *options.plan.rates,
                                   known.inventory, mute);
  next.rate_blocks = std::move(rates.blocks);
  next.to_read.insert(next.to_read.end(), rates.to_read.begin(), rates.to_read.end());
  for (const std::string& line : rates.alarms) log(LogLevel::Warning, "plan", line);
}

bool SubnetManager::Impl::plan_blocks_again() {
  auto next = std::make_shared<plan::Desired>(*desired);
  plan::want_p_keys(*next, *seen, desired->partitions, options.plan.p_keys, known.inventory,
                    vports.known().get());
  if (!next->to_read.empty()) plan_vendor_blocks_again(*next);
  gather_blocks(*next);
  desired = std::move(next);
  const auto to_be_written = [&](const plan::WantedBlock& want) {
    return apply::must_write({*seen, known.inventory, known.refused, want.node},
                             apply::ask_for(want));
  };
  return std::ranges::any_of(desired->p_key_blocks, to_be_written);
}

void SubnetManager::Impl::gather_blocks(plan::Desired& next) const {
  plan::gather_blocks(
      next, plan::want_guids(*seen, next.node_managed, inputs.aliases(), inputs.alias_blocks()));
}

}  // namespace sm::core
