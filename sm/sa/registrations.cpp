// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registrations.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "libdiag/wire/gmp_attributes.h"
#include "sm/sa/intake/answers.h"
#include "sm/sa/registry/alias_rules.h"
#include "sm/sa/registry/membership.h"
#include "sm/sa/registry/partitions.h"
#include "sm/sa/registry/router_aliases.h"
#include "sm/sa/registry/writes.h"

namespace sm::sa {
namespace {

using ib::Instant;
using ib::mad::Packet;
using ib::wire::Method;
using ib::wire::SaHeader;
namespace status = ib::wire::status;

constexpr std::size_t kMembersPerMs = 1000;

}  // namespace

Registrations::Registrations(Shared& shared, Replies& replies, Forwarding& forwarding)
    : shared_(shared), replies_(replies), forwarding_(forwarding) {
  durable_aliases_ = shared_.state.aliases.all();
  auto batch = configured_groups(shared_.state, shared_.policy.multicast);
  if (batch.empty()) return;
  shared_.state.apply(batch);
  multicast_changed_ = true;
  first_commit_ = Commit{++last_ticket_, std::move(batch)};
}

void Registrations::count_on_from(const Registrations& before) {
  last_ticket_ = before.last_ticket_ + 1;
  if (first_commit_) first_commit_->ticket = last_ticket_;
  revision_ = before.revision_ + 1;
  aliases_revision_ = before.aliases_revision_ + 1;
  multicast_changed_ = aliases_changed_ = true;
  doubts_ = before.doubts_;
}

bool Registrations::may_begin(ib::Lid who) const {
  return queue_.size() < shared_.options.writes_pending_max && queue_.has_room(who);
}

void Registrations::begin(const Packet& request) {
  if (request.mad.attribute_id() == ib::wire::attr::kInformInfo) note_life(request);
  queue_.add(shared_.now, shared_.who_of(request), request);
}

WriteRequest Registrations::write_of(const Packet& request) const {
  WriteRequest write;
  write.method = request.mad.method();
  write.attribute = request.mad.attribute_id();
  write.mask = request.mad.get<&SaHeader::component_mask>();
  std::copy_n(request.mad.data(), write.data.size(), write.data.begin());
  write.requester = shared_.requester_of(request);
  write.from = request.address;
  write.unix_seconds = shared_.options.wall_clock.seconds(shared_.now);
  return write;
}

// ---- becoming durable

std::optional<Commit> Registrations::next_commit() {
  if (first_commit_) {
    groups_to_store_ = first_commit_->batch.groups;
    return std::exchange(first_commit_, std::nullopt);
  }
  if (!shared_.world.paths) return std::nullopt;
  const auto before = queue_.waiting();
  auto batch = queue_.next_batch(
      shared_.world, shared_.state,
      [this](const World& w, const Packet& p) { return evaluate(w, write_of(p)); });
  if (queue_.waiting() < before) shared_.admission.resume();
  finish();
  if (!batch) return std::nullopt;
  doubts_.on_subscribed(shared_.now, batch->subscriptions);
  aliases_to_store_ = batch->aliases;
  // A member of a group that is not stored would be nobody's after a restart.
  for (const store::McGroup& group : groups_to_store_)
    if (std::ranges::find(batch->groups, group.mgid, &store::McGroup::mgid) == batch->groups.end())
      batch->groups.push_back(group);
  return Commit{++last_ticket_, *std::move(batch)};
}

void Registrations::on_commit_done(std::uint64_t ticket, bool durable) {
  if (ticket != last_ticket_) return;
  if (durable) {
    ++revision_;
    keep_aliases();
    groups_to_store_.clear();
  }
  aliases_to_store_.clear();
  queue_.on_done(shared_.state, durable);
  finish();
}

void Registrations::keep_aliases() {
  if (aliases_to_store_.empty()) return;
  for (const auto& alias : aliases_to_store_) {
    if (alias.guid.value == 0) {
      durable_aliases_.erase({alias.port_guid, alias.index});
    } else {
      durable_aliases_[{alias.port_guid, alias.index}] = alias.guid;
    }
  }
  ++aliases_revision_;
  aliases_changed_ = true;
}

/// Answers and tells of what came to its end.
void Registrations::finish() {
  while (auto done = queue_.next_finished()) {
    const auto* change = std::get_if<Change>(&done->outcome);
    if (change != nullptr) {
      multicast_changed_ = multicast_changed_ || change->routes_change;
      for (const auto& event : change->events) forwarding_.on_event(*shared_.world.paths, event);
    }
    if (const auto* own = std::get_if<WriteQueue::Own>(&done->what)) {
      if (change != nullptr)
        for (const auto& line : change->log)
          shared_.say(ib::LogLevel::Info, line, ib::LogCause{"registration that ended"});
      if (own->done) own->done(change != nullptr);
    } else {
      answer(std::get<Packet>(done->what), done->outcome);
    }
  }
}

void Registrations::answer(const Packet& request, const Outcome& outcome) {
  shared_.admission.resume();
  if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
    shared_.complain(request, refusal->why);
    return replies_.refuse(request, refusal->status);
  }
  if (doubts_.any()) doubts_.on_granted(shared_.world, write_of(request));
  for (const auto& line : std::get<Change>(outcome).log) shared_.complain(request, line);
  if (request.mad.attribute_id() == ib::wire::attr::kInformInfo) note_life(request);
  const auto method = request.mad.method() == Method::Set ? Method::GetResp : Method::DeleteResp;
  auto reply = answer_to(request, method, status::kOk);
  put_record(reply, std::get<Change>(outcome).reply);
  ++shared_.counters.records;
  replies_.send(request, std::move(reply));
}

/// Whom nobody could reach speaks.
void Registrations::note_life(const Packet& request) {
  const auto address = reports_to(request.address);
  forwarding_.reports.on_sign_of_life(address);
  if (const auto* port = shared_.world.paths->find(request.address.lid))
    expiry_.on_sign_of_life(port->guid, address);
}

// ---- what nobody asks for

void Registrations::on_snapshot(const Snapshot* before) {
  const auto& world = shared_.world;
  // Members that are virtual ports are reached by the ports that they are behind.
  if (before != nullptr && before->virtual_ports != world.snapshot().virtual_ports)
    multicast_changed_ = true;
  expiry_.on_snapshot(world, before);
  if (auto taken = taken_from_ports(world); !taken.empty())
    add_own([taken = std::move(taken)](const World& w) { return give_to_ports(w, taken); });
  if (!bring_router_aliases(world).batch.empty()) add_own(bring_router_aliases);
  if (auto gone = departed_members(world, before); !gone.empty())
    add_own([gone = std::move(gone)](const World& w) { return drop_members(w, gone); });
}

void Registrations::on_groups() {
  if (!regroup(shared_.world).batch.empty()) add_own(regroup);
}

/// Places that were given back leave the store when their ports hold nothing there any more.
void Registrations::on_device_state() {
  const auto known = shared_.world.device_state->aliases_revision;
  if (forgetting_aliases_ || known != aliases_revision_ || emptied(shared_.world).empty()) return;
  forgetting_aliases_ = true;
  WriteQueue::Own own;
  own.change = [this, known](const World& w) {
    Change change;
    // A place may have been taken and given back since: then its port is asked once more.
    if (known == aliases_revision_) change.batch.aliases_forgotten = emptied(w);
    return change;
  };
  own.done = [this](bool) { forgetting_aliases_ = false; };
  queue_.add(shared_.now, std::move(own));
}

void Registrations::on_dead_subscriber(const ib::mad::Address& address) {
  expiry_.on_dead_subscriber(shared_.state, address);
}

void Registrations::withdraw() {
  doubts_.forget();
  expiry_.withdraw();
}

void Registrations::on_time(Instant now) {
  queue_.on_time(now);
  add_chore();
  end_doubts();
}

void Registrations::add_chore() {
  const auto& clock = shared_.options.wall_clock;
  if (!shared_.world.paths || chore_waits_ ||
      expiry_.next_deadline(shared_.state, clock) > shared_.now)
    return;
  chore_waits_ = true;
  WriteQueue::Own own;
  own.change = [this](const World& w) {
    return expiry_.next(shared_.now, w, shared_.options.wall_clock).value_or(Change{});
  };
  own.done = [this](bool durable) {
    chore_waits_ = false;
    expiry_.on_done(shared_.now, durable);
  };
  queue_.add(shared_.now, std::move(own));
}

void Registrations::end_doubts() {
  if (!shared_.world.paths || doubts_end_ || doubts_.next_deadline() > shared_.now) return;
  doubts_end_ = true;
  WriteQueue::Own own;
  own.change = [this](const World& w) { return doubts_.next(shared_.now, w); };
  own.done = [this](bool durable) {
    doubts_end_ = false;
    doubts_.on_done(shared_.now, durable);
  };
  queue_.add(shared_.now, std::move(own));
}

void Registrations::add_own(std::function<Change(const World&)> change) {
  WriteQueue::Own own;
  own.change = std::move(change);
  queue_.add(shared_.now, std::move(own));
}

// ---- what others are told

Instant Registrations::next_deadline() const {
  const Instant chore = shared_.world.paths && !chore_waits_
                            ? expiry_.next_deadline(shared_.state, shared_.options.wall_clock)
                            : ib::kNever;
  const Instant doubts = shared_.world.paths && !doubts_end_ ? doubts_.next_deadline() : ib::kNever;
  return std::min({queue_.next_deadline(), chore, doubts, expiry_.untold().next_deadline(),
                   multicast_changed_ ? multicast_again_at_ : ib::kNever});
}

bool Registrations::take_multicast_changed() {
  if (!multicast_changed_ || shared_.now < multicast_again_at_) return false;
  // Who takes it walks over all members: in a storm of joins not with every transaction.
  multicast_again_at_ = shared_.now + std::chrono::milliseconds(
                                          shared_.state.multicast.member_count() / kMembersPerMs);
  multicast_changed_ = false;
  return true;
}

std::vector<ib::Guid> Registrations::take_untold_clients() {
  return expiry_.untold().take(shared_.now);
}
bool Registrations::take_aliases_changed() { return std::exchange(aliases_changed_, false); }

}  // namespace sm::sa
