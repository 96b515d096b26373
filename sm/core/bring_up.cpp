// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <iterator>

#include "sm/core/foreign_store.h"
#include "sm/core/impl.h"
#include "sm/device/tables/kinds.h"

namespace sm::core {
namespace {

/// Standbys are master a second after they lose a master, and clear what switches tell.
constexpr Duration kSweepOld = std::chrono::milliseconds(500);
/// As long as a lost MAD takes that is sent again.
constexpr Duration kLong = std::chrono::milliseconds(10);
constexpr Duration kOwnPortAfter = std::chrono::milliseconds(100);  // the first sweep

/// Our own link was down since it was brought up, and what switches told meanwhile another master
/// may have cleared.
bool was_cut_off(const Observed& swept) {
  const auto* own = swept.known_port(swept.local_port);
  return own != nullptr && own->state() == ib::wire::PortState::Initialize;
}

/// Some switch says that a port of it has changed.
bool says_change(const Observed& swept) {
  return std::ranges::any_of(swept.nodes, [](const auto& node) {
    return node.switch_info && node.switch_info->port_state_change;
  });
}

bool are_held(const plan::FoundRoutes& found, const plan::Desired& planned) {
  return plan::is_held(found, planned.routing->graph, planned.routing->lfts);
}

}  // namespace

void SubnetManager::Impl::begin_reroute(Instant now) {
  reroute_wanted = false;
  // Whom a sweep did not wait for the next one hears.
  if (!desired || kept.count() > 0) return want_sweep(now, Reason::Operator);
  log(LogLevel::Verbose, "sweep", "all routes are recomputed");
  begin_balance(now);
}

void SubnetManager::Impl::begin_balance(Instant now) {
  balance_at = kNever;
  balancing = true;
  operator_asked = cut_short = false;
  patient = true;
  stop_reading(true);  // no sweep looks at what traps tell
  begin_bring_up(now);
  go(Event::RerouteDue);
  begin_plan(now, std::make_shared<Observed>(*seen));
}

void SubnetManager::Impl::stop_reading(bool partial) {
  for (const ib::mad::Cookie cookie : tables.on_sweep_begun()) transactor.cancel(cookie);
  for (const ib::mad::Cookie cookie :
       partial ? trap_look.on_partial_sweep_begun() : trap_look.on_sweep_begun())
    transactor.cancel(cookie);
  for (const ib::mad::Cookie cookie : vports.on_sweep_begun()) transactor.cancel(cookie);
}

void SubnetManager::Impl::begin_bring_up(Instant now) {
  began = now;
  sends_before = transactor.counters().sends;
  retries_before = transactor.counters().retries;
  sets_this_time = 0;
  sets_routes = false;
}

void SubnetManager::Impl::begin_sweep(Instant now) {
  std::string why;
  for (const Reason r : reasons)
    why += fmt::format("{}{}", why.empty() ? "" : ", ", reason_name(r));
  // No part of the fabric is to lean on a switch that is in it only because it was known.
  if (!desired || !kept.are_hosts()) scope.want_whole();
  scope.want(places_of(kept.nodes()));
  auto partial = scope.take(seen);
  log(LogLevel::Verbose, "sweep", fmt::format("{} sweep: {}", partial ? "partial" : "full", why));
  operator_asked = std::exchange(reads_back, false) || reasons.contains(Reason::Operator);
  if (round == 0) patient = !desired || operator_asked;
  cut_short = false;
  cut_at = patient ? kNever : now + kSilence;
  reasons.clear();
  sweep_at = look_at = kNever;
  balance_at = kNever;
  reroute_wanted = balancing = false;
  stop_reading(partial.has_value());
  if (!partial) {  // it asks everybody
    renamed.clear();
    rename_at = kNever;
  }
  ++(partial ? counters.partial_sweeps : counters.full_sweeps);
  if (round == 0) begin_bring_up(now);
  ib::discover::SweepOptions o;
  o.cookie_base = kOwnerSweep;
  o.names = named_by = options.node_names;
  // Who is master is not known yet: of the first sweep, of what a cable has joined to our subnet,
  // which may have a master that looks for the change, too, and of all if it was our own cable.
  o.clears_changes_of = [this, before = seen, plan = desired](ib::Guid node) {
    if (was_cut_off(sweep->observed())) return false;
    const auto n = plan ? before->fabric.find_node(node) : std::nullopt;
    return n && *n < plan->node_managed.size() && plan->node_managed[*n];
  };
  o.stood_elsewhere = [before = seen](ib::Guid node, ib::Guid at, std::uint8_t port) {
    return before && stood_elsewhere(before->fabric, node, at, port);
  };
  o.other_m_key = [this](ib::Guid port) { return m_keys.try_other(port); };
  // Whom it does not know yet is asked with the key of who was there before.
  o.m_key = [this](ib::Guid port) { return port.value == 0 ? 0 : m_keys.of(port); };
  o.is_held = [this](ib::Guid at, std::uint8_t port) { return flapping.is_held(at, port); };
  if (partial) partial->may_have_rebooted = [this](ib::Guid node) { return brought_up.has(node); };
  sweeps_part = partial.has_value();
  o.partial = std::move(partial);
  go(Event::SweepDue);
  sweep = std::make_unique<ib::discover::Sweep>(std::move(o));
  slept_sweeping = false;
}

void SubnetManager::Impl::end_sweep(Instant now) {
  if (!sweep->why_whole().empty()) {
    log(LogLevel::Info, "sweep",
        fmt::format("a part of the fabric is not enough: {}", sweep->why_whole()));
    sweep.reset();
    go(Event::Inconsistent);
    want_sweep(now, Reason::Unfinished);
    return;
  }
  const auto asked_anew = sweep->asked_anew();
  found = std::make_shared<Observed>(sweep->take_observed());
  sweep.reset();
  if (!found->local_port) {  // through which everything is found
    go(Event::Inconsistent);
    log(LogLevel::Error, "sweep",
        fmt::format(
            "the subnet manager's own port does not answer SMPs, and nothing can be found{}; "
            "an M_Key that this subnet manager does not have may protect it",
            found->troubles.empty() ? "" : ": " + found->troubles.front().message));
    found.reset();
    m_keys.try_other(ib::Guid{});
    want_sweep(now + retry_pause, operator_asked ? Reason::Operator : Reason::Unfinished);
    retry_pause = std::min(retry_pause * 2, std::max(options.sweep_interval, kRetryFirst));
    return;
  }
  for (const auto& node : found->nodes)
    if (node.changed && !scope.cannot_have_rebooted(node.info.node_guid, *seen, *found))
      known.doubtful.insert(node.info.node_guid);
  if (sweeps_part) {
    swept_first = false;
    scope.on_part_swept(*found, asked_anew);
  } else {
    swept_cut_off = desired != nullptr && was_cut_off(*found);
    cut_off_once = cut_off_once || swept_cut_off;
    if (swept_cut_off) doubt_tables(*found);
    scope.on_whole_swept(*found, desired != nullptr && !swept_cut_off);
    swept_first = desired == nullptr;
    first_says_change = swept_first && says_change(*found);
    whole_at = options.full_sweep_every > Duration{0} ? now + options.full_sweep_every : kNever;
  }
  doubt_brought_up(*found, asked_anew);
  const std::set<ib::Guid> strayed = doubt_strays(*found);
  const bool told_by_another = doubt_told_by_others(now, *found, strayed);
  if (told_by_another) {
    (sweeps_part ? reads_back : operator_asked) = true;
    doubt_who_names_nobody(*found, true);
  }
  if (sweeps_part && (!strayed.empty() || told_by_another || was_cut_off(*found))) {
    go(Event::Inconsistent);
    found.reset();
    return want_sweep(now, Reason::Unfinished);
  }
  m_keys.learn(*found);
  silent_nodes.identify(*found, *seen);
  if (is_inconsistent(*found)) {
    go(Event::Inconsistent);
    found.reset();
    log(LogLevel::Info, "sweep",
        "the fabric changed while it was swept, and nodes did not answer: it is swept again before "
        "any of them is left out");
    ++inconsistent_sweeps;
    want_sweep(now, operator_asked ? Reason::Operator : Reason::Trap);
    return;
  }
  inconsistent_sweeps = 0;
  strays.on_swept(seen, *found);
  go(Event::Swept);
  if (options.rehearse) {
    go(Event::ToBeManaged);
    return begin_plan(now, std::exchange(found, nullptr));
  }
  mastership.on_swept(now, *found);
  follow_mastership(now);
}

/// Another one, with our own LID, may have told switches other tables.
void SubnetManager::Impl::doubt_tables(const Observed& swept) {
  for (const auto& node : swept.nodes)
    if (node.switch_info) known.doubtful.insert(node.info.node_guid);
}

std::set<ib::Guid> SubnetManager::Impl::doubt_strays(const Observed& swept) {
  if (!desired) return {};
  std::set<ib::Guid> doubted = strays.between(*seen, swept);
  if (doubted.empty()) return doubted;
  log(LogLevel::Info, "sweep",
      fmt::format("cables were moved while nodes were told what to hold, by ways that may have led "
                  "to others: what {} of them hold is read again",
                  doubted.size()));
  for (const ib::Guid guid : doubted) known.doubt(guid);
  for (const ib::route::LidAssignment& a : desired->lids)
    if (desired->ports[seen->port_index(a.port)].reregister &&
        doubted.contains(seen->fabric.node(a.port.node).guid))
      inputs.reregister_pending.insert(a.guid);
  strays.forget();
  return doubted;
}

void SubnetManager::Impl::doubt_brought_up(const Observed& swept,
                                           std::vector<ib::Guid> asked_anew) {
  if (!sweeps_part)
    for (const auto& node : swept.nodes) asked_anew.push_back(node.info.node_guid);
  for (const ib::Guid guid : brought_up.doubtful(swept, asked_anew)) known.doubt(guid);
}

void SubnetManager::Impl::follow_mastership(Instant now) {
  for (const ib::mad::Cookie cookie : mastership.take_cancelled()) transactor.cancel(cookie);
  for (ib::mad::Request& r : mastership.take_requests()) ask(now, std::move(r));
  for (ib::mad::Packet& p : mastership.take_packets())
    effects.send.push_back({std::move(p), Duration{0}});
  while (const auto order = mastership.next_order()) {
    // For a sweep that only watches nobody waits.
    if (*order == Mastership::Order::StandDown || watching) stand_down(now);
    if (*order == Mastership::Order::Sweep || *order == Mastership::Order::Decide)
      want_sweep(now, Reason::Election);
    if (*order == Mastership::Order::Decide) break_off(now);
  }
  take_logs(mastership);
  if (mastership.take_relieved()) effects.relieved = true;
  if (mastership.take_news()) effects.sm_status = mastership.status();
  if (mastership.take_started()) sweep_after_start(now);
  if (mastership.take_others_changed() && snapshot) publish_device_state();
  if (state == State::Deciding && mastership.is_decided()) on_decided(now);
}

bool SubnetManager::Impl::is_first_sweep_outdated(Instant now, const Observed& swept) const {
  if (desired || swept_anew || options.mastership.ignore_others) return false;
  if (mastership.was_asked_by_stranger(swept)) return true;
  // Who hands over sets nothing from then on.
  const bool is_of_our_term = mastership.predecessor() && began >= mastership.status().since;
  if (is_of_our_term && !slept_sweeping) return false;
  const auto& others = mastership.others().all();
  // One that was there when its port was read, and is not any more, may have been master until
  // then.
  const bool is_one_gone =
      std::ranges::any_of(others, [](const auto& entry) { return !entry.second.answered; });
  return slept_sweeping || is_one_gone || (now - began >= kSweepOld && !others.empty());
}

void SubnetManager::Impl::on_decided(Instant now) {
  auto decided = std::exchange(found, nullptr);
  if (!watching && refuses_store(*decided)) {
    paused = true;
    return go(Event::LeftToOthers);
  }
  const bool to_manage = !watching && mastership.conclude(now);
  if (to_manage && is_first_sweep_outdated(now, *decided)) {
    swept_anew = true;
    go(Event::Inconsistent);
    log(LogLevel::Info, "sweep",
        "another subnet manager may have been master while the first sweep ran: once more");
    want_sweep(now, Reason::Election);
  } else if (to_manage && decides_again()) {
    go(Event::Inconsistent);
    if (operator_asked) want_sweep(now, Reason::Operator);
  } else if (to_manage && options.shares_store && recall_wanted) {
    go(Event::ToBeRecalled);
    found = std::move(decided);
    recall(mastership.predecessor() ? Recall::Read : Recall::Take);
  } else if (to_manage) {
    go(Event::ToBeManaged);
    begin_plan(now, std::move(decided));
  } else {
    go(Event::LeftToOthers);
    // A subnet manager that manages has plans by what was found before.
    if (desired) {
      left = std::move(decided);
      rest(now);
    } else {
      seen = std::move(decided);
      scope.on_known();
    }
    watching = false;
    if (may_watch()) tell_watched(now);
  }
  follow_mastership(now);
}

bool SubnetManager::Impl::refuses_store(const Observed& swept) {
  if (store_is_ours || options.shares_store || inputs.lids_are_forgotten()) return false;
  const store::Kinship kin = kinship_of(inputs.stored_lids(), swept);
  store_is_ours = kin.is_judged() || kin.stored == 0;
  if (kin.is_foreign()) effects.foreign_store = kin;
  return kin.is_foreign();
}

void SubnetManager::Impl::on_recalled(Instant now, const std::optional<store::Contents>& contents) {
  if (state != State::Recalling) return;
  if (contents) inputs.recall(*contents);
  if (recalls == Recall::Read) {
    if (!contents || registrations_lost || !can_bridge(*found)) return recall(Recall::Take);
    tells_first = true;
  } else {
    recall_wanted = false;
    if (!contents) inputs.sa_state_lost = true;
  }
  if (told_first) {
    for (const ib::Guid guid : *told_first) {
      inputs.reregister_pending.erase(guid);
      inputs.in_doubt.erase(guid);
    }
    go(Event::RecalledToRead);
    begin_apply(now);
    submit(now);
  } else {
    go(Event::Recalled);
    begin_plan(now, std::exchange(found, nullptr));
  }
  run(now);
}

void SubnetManager::Impl::recall(Recall how) {
  recalls = how;
  effects.recall = how;
}

bool SubnetManager::Impl::is_inconsistent(const Observed& swept) const {
  return desired && trap_look.waiting() && inconsistent_sweeps < kInconsistentSweepsMax &&
         somebody_fell_silent(swept, *seen, desired->node_managed);
}

void SubnetManager::Impl::log_trouble(const Trouble& t) {
  log(LogLevel::Warning, "sweep",
      fmt::format("{}: {}", ib::discover::trouble_name(t.kind), t.message));
}

void SubnetManager::Impl::begin_apply(Instant now) {
  apply::ApplyOptions o;
  o.cookie_base = kOwnerApply;
  o.per_node = options.transactor.window_per_target;
  o.after_sweep = state == State::Applying;
  o.only_read = state == State::Reading;
  o.rehearse = options.rehearse;
  o.checks_changes = decisions_again < kInconsistentSweepsMax;
  o.reads_own_port = now - began >= kLong;
  o.compares = swept_first;
  o.read_lfts = looks_for_routes && !tells_first;
  o.read_back = operator_asked && (o.read_lfts || (state == State::Applying && !lfts_read));
  o.rewrite = state == State::Applying && std::exchange(rewriting, false);
  lfts_read = o.read_lfts;
  for (NodeIndex n = 0; n < seen->nodes.size(); ++n)
    o.silent.push_back(kept.contains(seen->nodes[n].info.node_guid));
  if (state == State::Applying) {
    scope.on_apply(*seen);
    brought_up.on_apply(*seen, desired->lids);
  }
  if (state != State::Programming) doubt_clients_of_others();
  published_before_active = state != State::Applying;
  if (is_stopgap && may_answer_by_stopgap()) {
    publish_stopgap();
    o.tell_hosts = !told_first;
    if (told_first) mastership.acknowledge();
  }
  unshare();
  applying = std::make_unique<apply::Apply>(state == State::Reading ? with_readings() : desired,
                                            *seen, known, std::move(o));
}

void SubnetManager::Impl::remember_vls(store::DeviceVls vls) {
  if (options.rehearse) return;
  if (store::Batch batch = inputs.remember_vls(vls); !batch.empty())
    effects.commit.push_back(std::move(batch));
}

bool SubnetManager::Impl::plan_by_found_routes(Instant now) {
  told_first.reset();
  auto routes_found = found_routes();
  if (routes_found) found_at_start = routes_found;
  if (!std::exchange(is_stopgap, false) && (!routes_found || are_held(*routes_found, *desired)))
    return false;
  desired.reset();  // nothing was programmed by it
  go(Event::ReadToPlan);
  ask_for_plan(now, std::make_shared<Observed>(*seen), std::move(routes_found));
  return true;
}

bool SubnetManager::Impl::is_unsettled(const Report& report) {
  const bool missed = std::exchange(swept_cut_off, false);
  const bool moved = std::ranges::any_of(
      seen->troubles, [](const Trouble& t) { return t.kind == Trouble::Kind::Moved; });
  // That there are no routes does not change by asking the same again.
  const bool ports_missing = report.missing > report.lasting + (desired->routed ? 0U : 1U);
  // Nor of those who do not answer, who have their time.
  const bool settled = (!ports_missing || kept.count() > 0) && !has_unread_p_keys();
  return !settled || moved || missed;
}

void SubnetManager::Impl::end_apply(Instant now) {
  const bool links_restarted = applying->restarted_links();
  sets_this_time += applying->sets();
  counters.sets += applying->sets();
  const auto failures = applying->failures();
  auto differences = applying->differences();
  const State done = state;
  const bool needs_another_plan = applying->needs_another_plan();
  const bool is_broken_off = applying->is_broken_off(), is_outdated = applying->is_outdated();
  if (done == State::Applying && !needs_another_plan) note_who_was_told();
  if (done == State::Applying) note_who_is_unmanaged();
  if (is_stopgap) note_who_heard();
  note_who_repeats();
  if (done == State::Applying) ask_whose_lids_were_astray(now);
  if (is_broken_off || is_outdated) rewriting = rewriting || applying->rewrites();
  for (const NodeIndex n : applying->fell_back()) known.doubt(seen->fabric.node(n).guid);
  applying.reset();
  m_keys.learn(*seen);
  if (is_broken_off || is_outdated)
    return end_half_way(now, !is_broken_off                       ? LeftFor::FabricChanged
                             : reasons.contains(Reason::Election) ? LeftFor::AnotherHeard
                                                                  : LeftFor::KeysTaken);
  if (std::exchange(tells_first, false)) {
    go(Event::ReadToRecall);
    return recall(Recall::Take);
  }
  if (done == State::Reading && !is_stopgap) {
    if (decides_again()) return drop_read_plan(now, LeftFor::AnotherHeard);
    if (leaves_taken_keys()) return drop_read_plan(now, LeftFor::KeysTaken);
  }
  const bool looked = std::exchange(looks_for_routes, false);
  if (looked && plan_by_found_routes(now)) return;
  go(Event::Applied);
  if (done == State::Reading) {
    if (looked) settle_plan();
    plan_blocks_again();
    if (has_unread_p_keys())
      for (const apply::Failure& f : failures) log(LogLevel::Warning, "apply", f.message);
    return begin_apply(now);
  }
  auto refusals = known.refused.of(*desired, *seen, known.inventory);
  const bool tables_hold = std::ranges::all_of(refusals, &apply::Refusal::holds_it);
  std::ranges::move(keepers_of_another(), std::back_inserter(refusals));
  const bool was_due = refused_at != kNever;
  if (tell_refusals(now, refusals)) want_sweep(now, Reason::Unfinished);
  const bool links_have_fewer_vls = tell_fewer_vls();
  const bool put_back = desired->vl_tables != nullptr && !desired->vls_needed;
  if (done == State::Applying && put_back && failures.empty() && tables_hold &&
      inputs.all_are_there(*desired))
    remember_vls(store::DeviceVls::PutBack);
  for (const apply::Failure& f : failures) log(LogLevel::Warning, "apply", f.message);
  if (needs_another_plan) {
    want_sweep(now, Reason::Unfinished);
    return;
  }
  if (done == State::Programming) {
    // The last report still names a port that has taken our LID along with the groups.
    if (somebody_follows_us_now()) want_sweep(now, Reason::Unfinished);
    if (snapshot && snapshot->refused_tables != known.named)
      publish(snapshot->up);
    else
      publish_device_state();
    if (!failures.empty()) want_sweep(now + retry_pause, Reason::Unfinished);
    // What the last report misses was read meanwhile, and is as it is to be: nobody is asked again.
    const bool holds_all = was_due && refused_at == kNever && !refusals.empty();
    if (holds_all && snapshot && !snapshot->up) want_sweep(now, Reason::Unfinished);
    return;
  }
  decisions_again = plans_left = 0;
  inputs.sa_state_lost = false;
  Report report = make_report(*desired, *seen, failures, refusals);
  report.differences = std::move(differences);
  if ((is_unsettled(report) || links_restarted || links_have_fewer_vls) &&
      ++round < options.rounds) {
    // Once more at once, before anything is said: a loss or a change in the middle is no verdict.
    want_sweep(links_restarted ? now + std::chrono::milliseconds(200) : now,
               links_restarted ? Reason::LinksRestarted : Reason::Unfinished);
    return;
  }
  // Nor while what is known is doubted as a whole, and is about to be read; unless sweeps take so
  // long that another one starts again during each.
  const bool is_to_be_read_back = reads_back && sweep_at <= now && sweeping && !paused;
  if (is_to_be_read_back && ++unsaid_sweeps < options.rounds) return;
  publish(report.up());
  tables.on_sweep_done(now);
  if (!own_port.is_known()) own_port.call_for(now + kOwnPortAfter);
  visit_vports();
  finish(now, std::move(report));
}

void SubnetManager::Impl::finish(Instant now, Report report) {
  round = unsaid_sweeps = 0;
  balance_at = kNever;
  if (options.balance_after && !balancing && report.missing == 0 && snapshot->routing->followed)
    balance_at = now + *options.balance_after;
  balancing = false;
  report.restarts = std::exchange(restarts, nullptr);
  report.took = now - began;
  report.mads = transactor.counters().sends - sends_before;
  report.sets = sets_this_time;
  log(LogLevel::Verbose, "sweep",
      fmt::format("{} MADs, {} of them retries, {} SubnSets", report.mads,
                  transactor.counters().retries - retries_before, report.sets));
  for (const std::string& line : report.lines) log(LogLevel::Warning, "subnet", line);
  std::ranges::move(report.lasting_lines, std::back_inserter(report.lines));
  report.lasting_lines.clear();
  report.silent = kept.count();
  report.changed = trap_look.switches_waiting();
  for (std::string& line : flapping.held_links()) {
    ++report.held_down;
    report.lines.push_back(std::move(line));
  }
  // Through our own node everything is found, and no light sweep asks it again.
  const bool is_blind = seen->local_port && !seen->nodes[seen->local_port.node].usable;
  if ((report.missing > report.lasting && kept.count() == 0) || has_unread_p_keys() || is_blind) {
    want_sweep(now + retry_pause, Reason::Unfinished);
    retry_pause = std::min(retry_pause * 2, std::max(options.sweep_interval, kRetryFirst));
  } else {
    retry_pause = kRetryFirst;
    // Who is kept is waited for, and what is missing elsewhere is not to be forgotten by then.
    if (report.missing > report.lasting) scope.want_whole();
  }
  effects.reports.push_back(std::move(report));
  rest(now);
  // No switch was told to forget what it said before it was read, so it cannot say what is newer,
  // and where it was told late that is forgotten, too.
  if (std::exchange(first_says_change, false) && now - began >= kLong &&
      options.sweep_interval > Duration{0})
    want_sweep(now + options.sweep_interval, Reason::ChangeSeen);
}

void SubnetManager::Impl::rest(Instant now) {
  if (options.sweep_interval == Duration{0}) return;
  const bool silence = std::ranges::any_of(
      seen->troubles, [](const Trouble& t) { return t.kind == Trouble::Kind::Silent; });
  if (cut_short && (silence || kept.count() > 0)) {
    look_at = now + silence_pause;
    silence_pause = std::min(2 * silence_pause, options.sweep_interval);
  } else {
    look_at = now + options.sweep_interval;
    silence_pause = std::min(kRetryFirst, options.sweep_interval);
  }
}

}  // namespace sm::core
