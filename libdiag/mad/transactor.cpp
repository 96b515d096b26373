// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How it decides, in short (doc/mad.md at length):
//
//   * A target is a queue: it serves one MAD after the other, in order. An answer therefore says
//     two things about the others under way: those sent *before* the answered one were overtaken
//     and are lost; those sent *after* it wait for their turn, so their clocks start again.
//   * Overtaken requests are repeated each by its own clock. When a target falls silent, only the
//     oldest request is repeated, as a probe, so a slow target does not get everything twice.
//   * Each attempt has a TID of its own and any attempt's answer completes the request.
//   * A Set waits for attempts of an earlier one of the same block that may still arrive.
#include "libdiag/mad/transactor.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "libdiag/mad/attempts.h"
#include "libdiag/mad/congestion_window.h"
#include "libdiag/mad/describe.h"
#include "libdiag/mad/entries.h"
#include "libdiag/mad/fifo.h"
#include "libdiag/mad/matching.h"
#include "libdiag/mad/patience.h"
#include "libdiag/mad/round_trip.h"
#include "libdiag/mad/target_timers.h"
#include "libdiag/mad/targets.h"

namespace ib::mad {
namespace {

using Index = Attempts::Index;
constexpr Index kNone = Attempts::kNone;

constexpr std::uint64_t kSilence = 8;  // so many in a row are not lost by chance

}  // namespace

struct Transactor::Impl {
  using Choice = Transactor::Choice;

  explicit Impl(const TransactorOptions& o)
      : options(o),
        window(o.awaited_most != 0 ? std::min(o.window, o.awaited_most) : o.window),
        attempts(o.tid_seed) {
    options.window_per_target = std::max(options.window_per_target, 1U);
    options.attempts_min = std::max<std::uint8_t>(options.attempts_min, 1);
    options.attempts_known = std::max(options.attempts_known, options.attempts_min);
  }

  TransactorOptions options;
  TransactorCounters counters;
  CongestionWindow window;
  RoundTrip elsewhere;  // what all SMAs showed
  Patience patience{options, elsewhere};
  std::uint64_t sequence{0};
  std::uint64_t answered_to{0};  // highest sequence answered
  Instant heard{0};              // when anything was, or when there began to be something to hear
  Instant resumed{0};            // when the last silence of everybody ended
  std::uint32_t on_wire{0};

  Entries entries;
  Attempts attempts;
  Targets targets;
  Fifo<Index> ready;                              // targets with something to send
  Fifo<std::pair<Index, std::uint32_t>> retries;  // entries to repeat, with their generation
  Fifo<Completion> completions;
  TargetTimers timers{targets};

  std::uint8_t attempts_of(const Target& target) const {
    return target.alive ? options.attempts_known : options.attempts_min;
  }

  // ---- room

  bool transport_is_full() const {
    return options.awaited_most != 0 && on_wire + attempts.lost() >= options.awaited_most;
  }

  // ---- timers ---------------------------------------------------------------------------------

  /// When one request after the other goes unanswered by any node, not just one MAD was lost:
  /// a busy host, a simulator that does not get its turn, a fabric that re-trains a link. Repeating
  /// everything would only add to it, so nothing falls due before this.
  Instant silence_until() const {
    return sequence - answered_to >= kSilence ? heard + options.timeout_start : Instant{0};
  }

  void note_answer(Instant now, std::uint64_t answered) {
    if (sequence - answered_to >= kSilence && now - heard >= options.timeout_floor / 2)
      resumed = now;
    heard = now;
    answered_to = std::max(answered_to, answered);
  }

  Instant due(const Target& target, const Entry& entry) const {
    const Attempt& last = attempts[entry.last_attempt];
    const Instant from =
        entry.overtaken ? last.sent : std::max({last.sent, target.progress, resumed});
    return from + patience.backed_off(target, entry.request, entry.attempts, entry.overtaken);
  }

  /// Sets the target's timer from what is under way.
  void rearm(Index t) {
    Target& target = targets[t];
    Instant when = target.held_until;
    for (const Index e : target.in_flight) {
      const Entry& entry = entries[e];
      if (entry.state != EntryState::OnWire) continue;
      if (target.probing && !entry.overtaken && e != target.in_flight.front()) continue;
      when = std::min(when, due(target, entry));
      // A repeated MAD holds its place in the window no longer than a first one would.
      if (entry.counted && entry.attempts > 1)
        when =
            std::min(when, attempts[entry.last_attempt].sent + patience.of(target, entry.request));
    }
    timers.arm(t, when);
  }

  void presume_lost(Entry& entry) {
    if (!entry.counted) return;
    entry.counted = false;
    --on_wire;
    attempts.mark_lost(entry.last_attempt);
    // Only the first attempt to a target in good health says something about the network.
    const Attempt& last = attempts[entry.last_attempt];
    if (entry.attempts == 1 && last.counted) window.on_loss(last.sent_as);
  }

  void schedule_retry(Index e) {
    entries[e].state = EntryState::RetryDue;
    retries.push({e, entries[e].generation});
  }

  void on_target_timer(Instant now, Index t) {
    bool was_silent = false;
    if (targets[t].held_until <= now) {
      targets[t].held_until = kNever;
      make_ready(t);
    }
    // Indices, since giving a request up changes the list.
    for (std::size_t i = 0; i < targets[t].in_flight.size();) {
      Target& target = targets[t];
      const Index e = target.in_flight[i];
      Entry& entry = entries[e];
      if (entry.state != EntryState::OnWire) {
        ++i;
        continue;
      }
      if (entry.counted && entry.attempts > 1 &&
          attempts[entry.last_attempt].sent + patience.of(target, entry.request) <= now)
        presume_lost(entry);
      const bool waits_for_probe = target.probing && !entry.overtaken && i != 0;
      if (waits_for_probe || due(target, entry) > now) {
        ++i;
        continue;
      }
      presume_lost(entry);
      if (entry.attempts >= attempts_of(target)) {
        if (give_up(now, e)) return;
        continue;
      }
      if (entry.overtaken || !was_silent) schedule_retry(e);
      if (!entry.overtaken) {
        was_silent = true;
        fall_silent(target);
      }
      ++i;
    }
    rearm(t);
  }

  /// Nothing came back in time: everything under way is presumed lost, and only the head is
  /// repeated until the target shows a sign of life.
  void fall_silent(Target& target) {
    target.probing = true;
    for (const Index e : target.in_flight)
      if (entries[e].state == EntryState::OnWire) presume_lost(entries[e]);
  }

  // ---- ends -----------------------------------------------------------------------------------

  /// Turns the request's attempts into ghosts and takes it off its target's list.
  void retire_attempts(Index e, std::uint8_t answered) {
    Entry& entry = entries[e];
    Target& target = targets[entry.target];
    if (entry.counted && attempts[entry.last_attempt].ordinal != answered)
      attempts.mark_lost(entry.last_attempt);
    for (Index s = entry.last_attempt; s != kNone; s = attempts[s].earlier) {
      if (attempts[s].ordinal == answered) {
        attempts.release(s);
      } else {
        target.late_sets.add(entry.request, attempts[s].sequence,
                             attempts[s].sent + patience.of(target, entry.request));
        attempts.haunt(s, answered);
      }
    }
    entry.last_attempt = kNone;
    if (entry.counted) {
      entry.counted = false;
      --on_wire;
    }
    auto& list = target.in_flight;
    list.erase(std::find(list.begin(), list.end(), e));
  }

  void complete_with_error(Index e, Error error) {
    Entry& entry = entries[e];
    Completion& completion = completions.add();
    completion.cookie = entry.request.cookie;
    completion.reply = tl::unexpected<Error>(std::move(error));
    completion.attempts = entry.attempts;
  }

  Error no_answer(Instant now, const Entry& entry) const {
    const double seconds = std::chrono::duration<double>(now - entry.first_sent).count();
    return Error{ErrorKind::TimedOut,
                 fmt::format("{}: no answer after {} attempt{} in {:.1f} s{}",
                             describe(entry.request.address, entry.request.mad), entry.attempts,
                             entry.attempts == 1 ? "" : "s", seconds,
                             entry.held_back == 0
                                 ? ""
                                 : fmt::format(", {} of them not sent: too many requests to the SA "
                                               "have no answer (max_outstanding)",
                                               entry.held_back)),
                 0};
  }

  static Error not_sent(const Request& request) {
    return Error{ErrorKind::TimedOut,
                 fmt::format("{}: not sent, the target has stopped answering",
                             describe(request.address, request.mad)),
                 0};
  }

  /// Gives one request up. The second in a row without a sign of life takes the whole target
  /// down with it: true then, and nothing of it is under way any more. (One alone may just ask for
  /// an attribute that the target ignores.)
  bool give_up(Instant now, Index e) {
    const Index t = entries[e].target;
    const bool silent = targets[t].progress <= entries[e].first_sent || !targets[t].alive;
    ++counters.timeouts;
    complete_with_error(e, no_answer(now, entries[e]));
    retire_attempts(e, 0);
    entries.free(e);
    Target& target = targets[t];
    if (silent) ++target.failures;
    if (target.failures < 2) {
      if (target.in_flight.empty()) target.probing = false;
      make_ready(t);
      return false;
    }
    while (!target.in_flight.empty()) {
      const Index other = target.in_flight.front();
      ++counters.timeouts;
      complete_with_error(other, no_answer(now, entries[other]));
      retire_attempts(other, 0);
      entries.free(other);
    }
    while (target.queue_head != kNone) {
      const Index other = entries.take_first(target);
      ++counters.timeouts;
      complete_with_error(other, not_sent(entries[other].request));
      entries.free(other);
    }
    target.probing = false;
    timers.arm(t, kNever);
    return true;
  }

  // ---- sending --------------------------------------------------------------------------------

  bool may_send(const Target& target) const {
    std::uint32_t most = std::min(target.window, options.window_per_target);
    if (target.of_sa && options.sa_outstanding != 0) most = std::min(most, options.sa_outstanding);
    return target.queue_head != kNone && !target.probing && target.in_flight.size() < most;
  }

  void make_ready(Index t) {
    Target& target = targets[t];
    if (target.in_ready || !may_send(target)) return;
    target.in_ready = true;
    ready.push(t);
  }

  /// The first of its queue would overtake an earlier one; the target's timer makes it ready again.
  bool is_held(Instant now, Index t) {
    Target& target = targets[t];
    const Instant until = target.late_sets.passed(entries[target.queue_head].request, now);
    target.held_until = until <= now ? kNever : until;
    if (until > now) rearm(t);
    return until > now;
  }

  SendOrder send(Instant now, Index e) {
    Entry& entry = entries[e];
    Target& target = targets[entry.target];
    const Index s = attempts.take(now);
    Attempt& slot = attempts[s];
    ++entry.attempts;
    entry.state = EntryState::OnWire;
    entry.counted = true;
    entry.overtaken = false;
    if (on_wire++ == 0) heard = std::max(heard, now);
    if (entry.attempts == 1) {
      entry.first_sent = now;
      slot.sent_as = window.on_send(on_wire);
      slot.counted = target.alive && target.failures == 0;
      if (slot.counted) window.count(slot.sent_as);
    } else {
      ++counters.retries;
    }
    ++counters.sends;
    const Duration reply_within = keep_match(target, entry);
    slot.entry = e;
    slot.target = entry.target;
    slot.earlier = entry.last_attempt;
    const auto repeats = slot.earlier != kNone
                             ? static_cast<std::uint32_t>(attempts.tid_of(slot.earlier))
                             : std::uint32_t{0};
    slot.sequence = ++sequence;
    slot.sent = now;
    slot.kept_until = now + reply_within;
    slot.ordinal = entry.attempts;
    slot.answered = 0;
    slot.state = AttemptState::Live;
    entry.last_attempt = s;
    rearm(entry.target);

    SendOrder order{entry.request.address, entry.request.mad, entry.request.more, reply_within,
                    repeats};
    order.mad.set<&wire::MadHeader::tid>(Tid{attempts.tid_of(s)});
    return order;
  }

  /// How long the transport is to wait for the answer to an attempt: long enough for every later
  /// attempt of the request, since a late answer is as good. But it has so many places only, and
  /// what was lost has one for as long: the more are taken, the sooner each is free again.
  Duration keep_match(const Target& target, const Entry& entry) const {
    const Request& request = entry.request;
    const Duration wait = patience.of(target, request);
    const Duration longest =
        std::max({options.timeout_ceiling, request.resp_time_hint, wait}) * attempts_of(target);
    const bool of_sa = request.mad.mgmt_class() == wire::MgmtClass::SubnAdm;
    std::uint32_t places =
        of_sa ? std::min(options.awaited_most, options.awaited_of_sa) : options.awaited_most;
    if (of_sa && options.sa_outstanding != 0) places = std::min(places, options.sa_outstanding);
    const std::uint32_t taken = on_wire + attempts.lost();
    if (places == 0 || 4 * taken < places) return longest;
    // A table that the kernel puts together is dropped if its request was given up meanwhile.
    if (of_sa && request.first_wait == Duration{0}) return 4 * wait;
    if (2 * taken < places)
      return 2 * patience.backed_off(target, entry.request, entry.attempts, entry.overtaken);
    return 4 * taken < 3 * places
               ? patience.backed_off(target, entry.request, entry.attempts, entry.overtaken)
               : wait;
  }

  std::optional<SendOrder> next_send(Instant now) {
    attempts.forget_expired(now);
    if (on_wire >= window.size() || transport_is_full()) return std::nullopt;
    while (!retries.empty()) {
      const auto [e, generation] = retries.pop();
      if (entries[e].generation != generation || entries[e].state != EntryState::RetryDue) continue;
      return send(now, e);
    }
    while (!ready.empty()) {
      const Index t = ready.pop();
      Target& target = targets[t];
      target.in_ready = false;
      if (!may_send(target) || is_held(now, t)) continue;
      const Index e = entries.take_first(target);
      target.in_flight.push_back(e);
      make_ready(t);
      return send(now, e);
    }
    return std::nullopt;
  }

  // ---- receiving ------------------------------------------------------------------------------

  bool on_packet(Instant now, const Packet& packet) {
    const Index s = attempts.find(packet.mad.tid().value);
    if (s == kNone) return false;
    const Attempt slot = attempts[s];
    if (slot.state == AttemptState::Ghost) {
      if (!wire::is_response(packet.mad.method())) return false;
      ++counters.late_replies;
      if (slot.ordinal < slot.answered) ++counters.spurious_retries;
      attempts[s].state = AttemptState::Spent;
      attempts.forget_lost(s);
      if (slot.target != kNone) {
        targets[slot.target].late_sets.on_answer(slot.sequence);
        sign_of_life(now, slot);
      }
      return false;
    }
    const Index e = slot.entry;
    if (!is_answer_to(entries[e].request.mad, packet.mad)) {
      ++counters.strange_replies;
      return false;
    }
    ++counters.replies;
    const Duration round_trip = now - slot.sent;
    Completion& completion = completions.add();
    completion.cookie = entries[e].request.cookie;
    completion.reply = packet;
    completion.round_trip = round_trip;
    completion.attempts = entries[e].attempts;

    const bool was_spurious = slot.ordinal < entries[e].attempts;
    Target& target = targets[slot.target];
    if (was_spurious) {
      counters.spurious_retries += static_cast<std::uint64_t>(entries[e].attempts - slot.ordinal);
      target.window = std::max(target.window / 2, 1U);
      target.clean = 0;
    } else if (!target.alive) {
      target.window = options.window_per_target;
    } else if (target.window < options.window_per_target && ++target.clean >= 16) {
      ++target.window;
      target.clean = 0;
    }
    target.round_trip.add(round_trip);
    if (wire::is_smp(packet.mad.mgmt_class())) elsewhere.add(round_trip);
    book_first_attempt(entries[e], slot.ordinal == 1);

    retire_attempts(e, slot.ordinal);
    entries.free(e);
    sign_of_life(now, slot);
    return true;
  }

  /// The target of an answered request was perhaps not known to live when the request was first
  /// sent. Now it is, so what became of that first attempt is evidence.
  void book_first_attempt(const Entry& entry, bool answered) {
    Index s = entry.last_attempt;
    while (attempts[s].earlier != kNone) s = attempts[s].earlier;
    const CongestionWindow::Sent& first = attempts[s].sent_as;
    if (answered) window.on_answer(first);
    // In a nearly empty window there is evidence enough without these, which come late when bad.
    if (attempts[s].counted || first.alone) return;
    window.count(first);
    if (!answered) window.on_loss(first);
  }

  /// The target answered the attempt `answered`: what was sent before it is lost, what was sent
  /// after it waits for its turn.
  void sign_of_life(Instant now, const Attempt& answered) {
    note_answer(now, answered.sequence);
    Target& target = targets[answered.target];
    target.progress = now;
    target.failures = 0;
    target.alive = true;
    target.probing = false;
    for (const Index e : target.in_flight) {
      Entry& entry = entries[e];
      if (entry.state != EntryState::OnWire) continue;
      if (attempts[entry.last_attempt].sequence < answered.sequence) {
        entry.overtaken = true;
      } else if (!entry.counted && entry.attempts == 1) {
        entry.counted = true;  // not lost after all: the target is just slow
        ++on_wire;
        attempts.forget_lost(entry.last_attempt);
      }
    }
    if (!target.in_flight.empty()) {
      rearm(answered.target);
    } else {
      target.timer = kNever;
    }
    make_ready(answered.target);
  }

  // ---- the rest -------------------------------------------------------------------------------

  void submit(Request request) {
    const Index t = targets.at(queue_of(request));
    Target& target = targets[t];
    target.of_sa = request.mad.mgmt_class() == wire::MgmtClass::SubnAdm;
    entries.add(std::move(request), t, target);
    ++counters.requests;
    make_ready(t);
  }

  void on_time(Instant now) {
    if (now < silence_until()) return;
    while (const auto t = timers.take_due(now)) on_target_timer(now, *t);
  }

  /// Takes a request that was not answered out of everything.
  void withdraw(Index e) {
    Entry& entry = entries[e];
    const Index t = entry.target;
    Target& target = targets[t];
    if (entry.state == EntryState::Queued) {
      entries.take_out(target, e);
    } else {
      retire_attempts(e, 0);
      if (target.in_flight.empty()) target.probing = false;
    }
    entries.free(e);
    rearm(t);
    make_ready(t);
  }

  bool is_chosen(const Entry& entry, const Choice& chosen) const {
    return entry.state != EntryState::Free && chosen(entry.request.cookie);
  }

  bool waits_for_the_silent(const Choice& chosen) const {
    return std::ranges::all_of(entries.all(), [&](const Entry& entry) {
      return !is_chosen(entry, chosen) || targets[entry.target].probing;
    });
  }

  void give_up_chosen(Instant now, const Choice& chosen) {
    for (Index e = 0; e < entries.size(); ++e) {
      if (!is_chosen(entries[e], chosen)) continue;
      ++counters.timeouts;
      complete_with_error(
          e, entries[e].attempts > 0 ? no_answer(now, entries[e]) : not_sent(entries[e].request));
      withdraw(e);
    }
  }

  void cancel(Cookie cookie) {
    for (Index e = 0; e < entries.size(); ++e)
      if (entries[e].state != EntryState::Free && entries[e].request.cookie == cookie) withdraw(e);
  }

  void on_held_back(const SendOrder& order) {
    const Index s = attempts.find(order.mad.tid().value);
    if (s == kNone || attempts[s].state != AttemptState::Live) return;
    ++entries[attempts[s].entry].held_back;
  }

  void on_send_failed(const SendOrder& order, Error error) {
    const Index s = attempts.find(order.mad.tid().value);
    if (s == kNone || attempts[s].state != AttemptState::Live) return;
    const Index e = attempts[s].entry;
    complete_with_error(e, std::move(error));
    withdraw(e);
  }
};

Transactor::Transactor(const TransactorOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Transactor::~Transactor() = default;
Transactor::Transactor(Transactor&&) noexcept = default;
Transactor& Transactor::operator=(Transactor&&) noexcept = default;

void Transactor::submit(Instant, Request request) { impl_->submit(std::move(request)); }
bool Transactor::on_packet(Instant now, const Packet& packet) {
  return impl_->on_packet(now, packet);
}
void Transactor::on_send_failed(const SendOrder& order, Error error) {
  impl_->on_send_failed(order, std::move(error));
}
void Transactor::on_held_back(const SendOrder& order) { impl_->on_held_back(order); }
bool Transactor::wants(const SendOrder& order) const {
  const Index s = impl_->attempts.find(order.mad.tid().value);
  return s != kNone && impl_->attempts[s].state == AttemptState::Live;
}
void Transactor::set_sa_outstanding(std::uint32_t most) { impl_->options.sa_outstanding = most; }
void Transactor::on_time(Instant now) { impl_->on_time(now); }
Instant Transactor::next_deadline() const {
  if (impl_->entries.in_use() == 0) return kNever;
  const Instant first = impl_->timers.first();
  const Instant due = first == kNever ? kNever : std::max(first, impl_->silence_until());
  // Retries that wait for a place have no timer.
  return impl_->transport_is_full() ? std::min(due, impl_->attempts.next_expiry()) : due;
}
std::optional<SendOrder> Transactor::next_send(Instant now) { return impl_->next_send(now); }
std::optional<Completion> Transactor::next_completion() {
  if (impl_->completions.empty()) return std::nullopt;
  return impl_->completions.pop();
}
void Transactor::cancel(Cookie cookie) { impl_->cancel(cookie); }
bool Transactor::waits_for_the_silent(const Choice& chosen) const {
  return impl_->waits_for_the_silent(chosen);
}
void Transactor::give_up(Instant now, const Choice& chosen) { impl_->give_up_chosen(now, chosen); }
std::size_t Transactor::outstanding() const { return impl_->on_wire; }
std::size_t Transactor::pending() const { return impl_->entries.in_use(); }
const TransactorCounters& Transactor::counters() const { return impl_->counters; }
std::uint32_t Transactor::window() const { return impl_->window.size(); }

}  // namespace ib::mad
