// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include "sm/core/impl.h"
#include "sm/core/trap_words.h"
#include "sm/core/unsolicited.h"

namespace sm::core {
namespace {

constexpr std::size_t kNoticesMax = 1024;            // that nobody has fetched yet
constexpr Duration kSoon = std::chrono::seconds(1);  // no light sweep so shortly before a full one
constexpr Duration kMemberPause = std::chrono::milliseconds(50);

}  // namespace

void SubnetManager::Impl::go(Event event) {
  const auto to = transition(state, event);
  ib::invariant(to.has_value(), "an event came that the state has no transition for");
  state = *to;
}

void SubnetManager::Impl::want_sweep(Instant at, Reason reason) {
  want_sweep_around(at, reason, {});
}

void SubnetManager::Impl::want_sweep_around(Instant at, Reason reason,
                                            const std::vector<SweepScope::Place>& places) {
  reasons.insert(reason);
  sweep_at = std::min(sweep_at, at);
  scope.want(places);
  if (places.empty()) scope.want_whole();
}

Instant SubnetManager::Impl::next_deadline() const {
  Instant t = transactor.next_deadline();
  t = std::min(t, mastership.due());
  if (!busy() && may_watch()) t = std::min(t, watch_at);
  const bool free = !busy() && !paused && mastership.sweeps();
  if (free) t = std::min({t, forget_groups_at, rename_at, tables.due()});
  if (free && sweeping)
    t = std::min({t, sweep_at, whole_at, read_back_at, look_at, balance_at, refused_at,
                  flapping.due(), kept.due()});
  if (free && !trap_look.busy()) t = std::min(t, multicast_at);
  if (state == State::Looking && sweeping) t = std::min(t, sweep_at);
  if (may_be_cut_short()) t = std::min(t, cut_at);
  if (may_look_aside()) t = std::min({t, own_port.due(), trap_look.due()});
  return t;
}

void SubnetManager::Impl::on_time(Instant now) {
  detect_sleep(now);
  transactor.on_time(now);
  if (started && mastership.due() <= now) mastership.on_time(now);
  run(now);
}

void SubnetManager::Impl::run(Instant now) {
  awake_at = now;
  do {
    pump(now);
    follow_mastership(now);
    if (cut_at <= now) cut_short_if_silent(now);
    if (state == State::Looking && sweeping && sweep_at <= now) leave_look();
    if (!busy()) begin_next(now);
    check_own_port(now);
    check_traps(now);
    look_after_vports(now);
    if (!busy() && !paused) go_on_reading(now);
  } while (deliverable());
}

void SubnetManager::Impl::cut_short_if_silent(Instant now) {
  cut_at = kNever;
  if (patient || !may_be_cut_short()) return;
  const ib::mad::Cookie owner = owner_now();
  const auto is_its = [&](ib::mad::Cookie cookie) { return owner_of(cookie) == owner; };
  cut_at = now + kSilence;
  if (!transactor.waits_for_the_silent(is_its)) return;
  cut_short = true;
  transactor.give_up(now, is_its);
  pump(now);
}

bool SubnetManager::Impl::deliverable() {
  completion = transactor.next_completion();
  return completion.has_value();
}

void SubnetManager::Impl::begin_next(Instant now) {
  if (watch_at <= now && may_watch()) {
    begin_watch(now);
    submit(now);
    return move_on(now);
  }
  if (!started || paused || !mastership.sweeps()) return;
  if (rename_at <= now) publish_renamed();
  if (forget_groups_at <= now) {
    forget_groups_at = kNever;
    multicast_at = now;
  }
  if (sweeping && kept.due() <= now) {
    kept.wait_until(now + kRetryFirst);
    want_sweep_around(now, Reason::ChangeSeen, places_of(kept.nodes()));
  }
  if (sweeping && whole_at <= now) want_sweep(now, Reason::Daily);
  if (sweeping && read_back_at <= now) {
    read_back_at = kNever;
    read_back_from = now + kStartsApart;
    reads_back = true;
    want_sweep(now, Reason::ChangeSeen);
  }
  if (sweeping && flapping.due() <= now) {
    std::vector<SweepScope::Place> ends;
    for (const ib::Guid guid : flapping.release(now)) ends.push_back({guid, true});
    want_sweep_around(now, Reason::LinkReleased, ends);
  }
  if (sweeping && refused_at <= now) {
    refused_at = kNever;
    known.refused.clear();
    want_sweep(now, Reason::Unfinished);
  }
  if (sweeping && sweep_at <= now) {
    begin_sweep(now);
  } else if (sweeping && reroute_wanted) {
    begin_reroute(now);
  } else if (sweeping && balance_at <= now) {
    log(LogLevel::Verbose, "sweep", "nothing has changed for a while: loads are balanced");
    begin_balance(now);
  } else if (multicast_at <= now && !trap_look.busy()) {
    begin_multicast(now);
  } else if (sweeping && look_at <= now) {
    if (sweep_at <= now + kSoon) {
      look_at = sweep_at;
      return;
    }
    begin_look(now);
  } else {
    return;
  }
  submit(now);
  move_on(now);  // what has nothing to ask is done already
}

ib::mad::Exchange* SubnetManager::Impl::exchange() {
  if (state == State::Sweeping) return sweep.get();
  if (is_applying()) return applying.get();
  return looking.get();
}

void SubnetManager::Impl::ask(Instant now, ib::mad::Request&& request) {
  m_keys.stamp(request, *seen);
  if (const auto owner = owner_of(request.cookie);
      owner == kOwnerApply || owner == kOwnerRead || owner == kOwnerVPorts)
    strays.on_asked(ib::Guid{request.target_key});
  transactor.submit(now, std::move(request));
}

void SubnetManager::Impl::submit(Instant now) {
  ib::mad::Exchange* machine = exchange();
  if (machine == nullptr) return;
  for (auto requests = machine->take_requests(); !requests.empty();
       requests = machine->take_requests())
    for (ib::mad::Request& r : requests) {
      if (r.mad.method() == ib::wire::Method::Set &&
          r.mad.attribute_id() == ib::wire::attr::kLinearForwarding)
        sets_routes = true;
      ask(now, std::move(r));
    }
  before_activation(now);
}

void SubnetManager::Impl::pump(Instant now) {
  if (!completion) completion = transactor.next_completion();
  for (; completion; completion = transactor.next_completion()) {
    const ib::mad::Cookie owner = owner_of(completion->cookie);
    if (owner == kOwnerMastership) {
      mastership.on_completion(now, *completion);
      continue;
    }
    if (owner == kOwnerOwnPort) {
      own_port.on_completion(*completion);
      continue;
    }
    if (owner == kOwnerTrapLook) {
      trap_look.on_completion(now, *completion, *seen, flapping);
      continue;
    }
    if (owner == kOwnerBabbling) {
      babbling.on_completion(*completion, *seen);
      continue;
    }
    if (owner == kOwnerVPorts) {
      if (desired) vports.on_completion(*completion, vport_subnet());
      continue;
    }
    if (owner == kOwnerRead) {
      tables.on_completion(now, *completion);
      continue;
    }
    ib::mad::Exchange* machine = exchange();
    if (machine == nullptr || owner != owner_now()) continue;
    if (completion->reply && !patient) cut_at = now + kSilence;
    machine->on_completion(now, *completion);
    submit(now);
    move_on(now);
  }
  move_on(now);
}

void SubnetManager::Impl::move_on(Instant now) {
  while (true) {
    const ib::mad::Exchange* machine = exchange();
    if (machine == nullptr || !machine->done()) return;
    if (state == State::Sweeping) {
      end_sweep(now);
    } else if (state == State::Looking) {
      end_look(now);
    } else {
      end_apply(now);
    }
    submit(now);
  }
}

void SubnetManager::Impl::on_packet(Instant now, const ib::mad::Packet& packet) {
  detect_sleep(now);
  if (transactor.on_packet(now, packet)) {
    run(now);
    return;
  }
  const ib::wire::Mad& mad = packet.mad;
  if (mad.method() == ib::wire::Method::Trap && mad.attribute_id() == ib::wire::attr::kNotice) {
    ++counters.traps;
    effects.send.push_back({repress(packet), Duration{0}});
    const auto notice = ib::wire::body<ib::wire::Notice>(mad);
    if (effects.notices.size() < kNoticesMax)
      effects.notices.push_back({notice, packet.address.lid});
    on_trap(now, packet, notice);
    return;
  }
  if (ib::wire::is_response(mad.method()) || mad.method() == ib::wire::Method::TrapRepress) {
    ++counters.dropped;
    return;
  }
  mastership.set_sends(transactor.counters().sends);
  const std::uint64_t refused = mastership.refused();
  auto reply = mastership.answer(now, packet, left ? *left : *seen);
  if (reply) effects.send.push_back({*std::move(reply), Duration{0}});
  if (mad.attribute_id() != ib::wire::attr::kSmInfo)
    ++counters.dropped;
  else if (mad.method() == ib::wire::Method::Get)
    ++counters.sm_info_gets;
  counters.sm_info_sets_refused += mastership.refused() - refused;
  run(now);
}

Effects SubnetManager::Impl::take_effects(Instant now) {
  Effects taken = std::exchange(effects, {});
  taken.plan = std::exchange(plan_job, std::nullopt);
  if (device_state != device_state_taken) taken.device_state = device_state_taken = device_state;
  if (snapshot != snapshot_taken) taken.snapshot = snapshot_taken = snapshot;
  while (auto order = transactor.next_send(now))
    taken.send.push_back(
        {{order->address, order->mad, std::move(order->more)}, order->reply_within});
  return taken;
}

void SubnetManager::Impl::members_changed(Instant now) {
  if (mastership.is_master() && (desired || state == State::Planning))
    multicast_at = std::min(multicast_at, now + kMemberPause);
}

ib::mad::Packet SubnetManager::Impl::repress(const ib::mad::Packet& trap) const {
  ib::mad::Packet from = trap;
  if (trap.mad.is_directed()) return trap_repress(from);
  if (desired && from.address.lid == ib::kNoLid) from.address.lid = desired->sm_lid;
  return trap_repress(from, m_keys.of_target(from.address, from.mad, *seen));
}

void SubnetManager::Impl::on_trap(Instant now, const ib::mad::Packet& packet,
                                  const ib::wire::Notice& notice) {
  const auto of_vports = ib::wire::vport_trap(notice);
  const std::uint16_t number = notice.is_generic ? notice.trap_number
                               : of_vports       ? of_vports->number
                                                 : std::uint16_t{0};
  // A trap of the port that we work by arrives without a LID.
  const ib::Lid from =
      desired && packet.address.lid == ib::kNoLid ? desired->sm_lid : packet.address.lid;
  effects.log.push_back({LogLevel::Info, "trap",
                         fmt::format("trap {} from LID {}{}", number, notice.issuer_lid.value,
                                     trap_words(notice, *seen)),
                         ib::LogCause{"trap", from}});
  if (number == ib::wire::trap::kCapabilityChange && desired)
    mastership.on_change_at(from, left ? *left : *seen);
  if (desired && concerns(notice, desired->sm_lid)) own_port.call_for(now);
  // Opening our own issm file raises 144 at our own port.
  if (desired && from == desired->sm_lid && number == ib::wire::trap::kCapabilityChange) return;
  if (options.disables_babbling_ports && desired && mastership.is_master())
    babbling.on_trap(now, notice, claim_of(notice, from, *seen), *seen);
  if (options.act_on_traps && of_vports && desired && mastership.is_master())
    vports.on_trap(*of_vports, from, *seen);
  if (options.act_on_traps && mastership.sweeps())
    trap_look.on_trap(now, from, notice, *seen, !may_look_aside());
  run(now);
}

}  // namespace sm::core
