// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// What is left, and what is asked once more, where another subnet manager is master, or may be or
// have been.
#include <fmt/format.h>

#include "libdiag/fabric/labels.h"
#include "sm/core/impl.h"

namespace sm::core {
namespace {

constexpr const char* kAnotherHeard = "another subnet manager was heard, and may be master";
constexpr const char* kKeysTaken = "it gives P_Keys that the operator has taken away since";

}  // namespace

bool SubnetManager::Impl::decides_again() {
  if (!reasons.contains(Reason::Election) || decisions_again >= kInconsistentSweepsMax)
    return false;
  ++decisions_again;
  return true;
}

void SubnetManager::Impl::on_other_master(const std::string& where) {
  // Two that ignore others would take the store from each other for ever.
  recall_wanted = recall_wanted || !options.mastership.ignore_others;
  mastership.on_other_master(where);
}

void SubnetManager::Impl::detect_sleep(Instant now) {
  const Instant before = std::exchange(awake_at, now);
  if (now - before < kNapLeast) return;
  sweep_after_nap(now);
  if (now - before < kSleepLeast) return;
  if (!started || options.mastership.ignore_others) return;
  const Instant due = next_deadline();
  if (due >= now - kSleepLeast) return;
  if (!mastership.is_master()) {
    slept_sweeping = state == State::Sweeping || state == State::Deciding;
    return;
  }
  // What is under way was planned for a subnet that may be somebody else's by now.
  stand_down(now);
  mastership.on_slept(now - due);
  follow_mastership(now);
}

/// Another one may have cleared what switches tell, and have died since. Only what the fabric calls
/// for counts: a step that takes long delays other things as well.
void SubnetManager::Impl::sweep_after_nap(Instant now) {
  const Instant due = std::min(sweep_at, trap_look.due());
  if (state == State::Idle && mastership.is_master() && due <= now - kNapLeast)
    want_sweep(now, Reason::ChangeSeen);
}

/// Before it found this one it may have been master of what it could reach, and have told switches
/// other tables, as one that goes down may have done to the end: what they hold is read again.
void SubnetManager::Impl::sweep_after_start(Instant now) {
  if (!desired || !mastership.is_master()) return;
  const bool one_is_to_come = start_sweep_from > now + kStartsApart;
  if (one_is_to_come) return;
  const Instant at = std::max(now, start_sweep_from);
  start_sweep_from = at + kStartsApart;
  reads_back = true;
  want_sweep(at, Reason::ChangeSeen);
}

void SubnetManager::Impl::stand_down(Instant now) {
  left.reset();
  sweep.reset();
  applying.reset();
  looking.reset();
  outdate_plan();
  // A plan that is being made is waited for, and dropped.
  if (state != State::Planning || plan_job) {
    go(Event::StoodDown);
    found.reset();
  }
  plan_job.reset();
  (void)tables.on_sweep_begun();
  (void)trap_look.on_sweep_begun();
  own_port = OwnPort(kOwnerOwnPort);
  babbling = BabblingPorts(kOwnerBabbling);
  vports = VPortUpkeep(kOwnerVPorts, options.vports);
  transactor.give_up(now, [](ib::mad::Cookie c) { return owner_of(c) != kOwnerMastership; });
  for (auto c = transactor.next_completion(); c; c = transactor.next_completion())
    if (owner_of(c->cookie) == kOwnerMastership) mastership.on_completion(now, *c);
  inputs.reregister_pending.merge(ports_away());
  inputs.reregister_pending.merge(inputs.untold);
  inputs.reregister_pending.merge(untold);
  inputs.forget_routes();
  desired.reset();
  restarts.reset();
  snapshot.reset();
  device_state.reset();
  silent_switches.clear();
  kept.forget();
  strays.forget();
  brought_up.forget();
  clients_doubted.clear();
  astray_lids.forget();
  doubts_to_store.clear();
  told_gone.clear();
  reasons.clear();
  scope.forget();
  renamed.clear();
  sweep_at = whole_at = look_at = rename_at = multicast_at = balance_at = refused_at =
      forget_groups_at = cut_at = read_back_at = kNever;
  round = inconsistent_sweeps = unsaid_sweeps = plans_left = 0;
  taking_over = reroute_wanted = rewriting = lfts_read = looks_for_routes = is_stopgap = balancing =
      false;
  tells_first = false;
  told_first.reset();
  effects.recall.reset();
  recall_wanted = true;
  watching = swept_anew = swept_cut_off = reads_back = first_says_change = false;
  watch_at = now;
}

/// Before anything is set by it it is decided once more who is master.
void SubnetManager::Impl::drop_read_plan(Instant now, LeftFor why) {
  go(Event::PlanDropped);
  log(LogLevel::Info, "plan",
      fmt::format("the plan is dropped before it is programmed: {}",
                  why == LeftFor::AnotherHeard ? kAnotherHeard : kKeysTaken));
  if (!snapshot) {
    desired.reset();
    inputs.forget_routes();
  }
  if (operator_asked || balancing) want_sweep(now, Reason::Operator);
}

/// By Sets that were planned before the other one was heard, and by what that one set meanwhile,
/// tables may send packets in circles.
void SubnetManager::Impl::break_off(Instant now) {
  const bool sets = state == State::Applying || state == State::Programming;
  if (!sets || !sweeping || !decides_again()) return;
  applying->break_off();
  transactor.give_up(now, [](ib::mad::Cookie c) { return owner_of(c) == kOwnerApply; });
}

void SubnetManager::Impl::end_half_way(Instant now, LeftFor why) {
  go(Event::BrokenOff);
  const bool has_changed = why == LeftFor::FabricChanged;
  log(LogLevel::Info, "apply",
      has_changed
          ? "the fabric changed since it was swept: it is swept again before any table is written"
          : fmt::format("what is being programmed is broken off: {}",
                        why == LeftFor::AnotherHeard ? kAnotherHeard : kKeysTaken));
  if (has_changed) {
    ++decisions_again;
    want_sweep(now, Reason::Unfinished);
  }
  // Nothing was programmed by a first plan, and the next sweep is a first one again, which tells no
  // switch of another master to forget what it has said.
  if (has_changed && swept_first && !snapshot && sets_this_time == 0) {
    desired.reset();
    inputs.forget_routes();
    reads_back = true;
  }
  // What was not read again yet is not known.
  if (operator_asked || balancing) want_sweep(now, Reason::Operator);
}

/// The LID of another one may be ours, and is what ports name then: it gave them others than we
/// did.
bool SubnetManager::Impl::was_renumbered(const Observed& swept, ib::fabric::PortRef at,
                                         const ib::discover::ObservedPort* was) const {
  const ib::Guid guid = swept.fabric.port(at).guid;
  if (was == nullptr && !told_gone.contains(guid)) return false;
  const ib::Lid lid = swept.port(at).get<&ib::wire::PortInfo::lid>();
  const auto ours = inputs.stored_lids().find(guid);
  if (!lid.is_unicast() || ours == inputs.stored_lids().end() || ours->second.lid == lid)
    return false;
  return was == nullptr || was->get<&ib::wire::PortInfo::lid>() != lid;
}

bool SubnetManager::Impl::doubt_told_by_others(Instant now, const Observed& swept,
                                               const std::set<ib::Guid>& strayed) {
  if (!desired) return false;
  std::string by_another;
  for (NodeIndex n = 0; n < swept.nodes.size(); ++n) {
    const auto& node = swept.fabric.node(n);
    for (unsigned p = node.is_switch() ? 0 : 1; p <= (node.is_switch() ? 0U : node.num_ports);
         ++p) {
      const ib::fabric::PortRef at{n, static_cast<std::uint8_t>(p)};
      const auto* port = swept.known_port(at);
      if (port == nullptr) continue;
      const ib::Lid sm_lid = port->get<&ib::wire::PortInfo::master_sm_lid>();
      if (!sm_lid.is_unicast()) continue;
      const auto before = seen->fabric.find_node(node.guid);
      const auto* was = before ? seen->known_port({*before, at.port}) : nullptr;
      if (sm_lid == desired->sm_lid) {
        if (strayed.contains(node.guid) || !was_renumbered(swept, at, was)) continue;
        known.doubt(node.guid);
        // The other one itself may have come from elsewhere.
        const ib::Lid lid = port->get<&ib::wire::PortInfo::lid>();
        renumbered_once = renumbered_once || (was != nullptr && lid != sm_lid);
        if (by_another.empty())
          by_another = fmt::format(
              "{} holds LID {}, which this subnet manager did not give it: another one, whose own "
              "LID is ours, may have been master meanwhile",
              ib::fabric::port_label(swept.fabric, at), lid.value);
        continue;
      }
      // One that was not told ours yet has been doubted already, and what it was asked since
      // counts.
      if (was != nullptr && was->get<&ib::wire::PortInfo::master_sm_lid>() == sm_lid) continue;
      known.doubt(node.guid);
      const auto gone = told_gone.find(swept.fabric.port(at).guid);
      const bool named_ours =
          was != nullptr ? was->get<&ib::wire::PortInfo::master_sm_lid>() == desired->sm_lid
                         : gone != told_gone.end() && gone->second != sm_lid;
      if (by_another.empty() && named_ours)
        by_another = fmt::format(
            "{} was told since that LID {} is its subnet manager's: another subnet manager was "
            "master meanwhile",
            ib::fabric::port_label(swept.fabric, at), sm_lid.value);
    }
  }
  if (by_another.empty()) return false;
  // Some host's Set may have done it.
  if (now < read_back_from) {
    read_back_at = read_back_from;
    return false;
  }
  read_back_from = now + kStartsApart;
  read_back_at = kNever;
  log(LogLevel::Warning, "sweep", by_another + ", and what devices hold is read again");
  return true;
}

}  // namespace sm::core
