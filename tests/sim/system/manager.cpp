// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/sim/system/manager.h"

namespace soak {

namespace {

/// As its target would say that all is done.
ib::mad::Packet good_answer(const ib::mad::Packet& request) {
  ib::mad::Packet answer = request;
  answer.mad.set<&ib::wire::MadHeader::method>(ib::wire::Method::GetResp);
  if (answer.mad.is_directed()) answer.mad.bytes[4] |= std::byte{0x80};
  return answer;
}

}  // namespace

Manager::Manager(ib::sim::World& world, Seat& seat, Overseer& overseer,
                 const sm::sa::Options& sa_options)
    : scenario::Manager(world, seat.at, seat.options, seat.disk->contents,
                        sm::managers::ClientChannel(), sa_options),
      seat_(seat),
      overseer_(overseer),
      lids_(unwritten()) {}

sm::daemon::StoreRetry Manager::unwritten() {
  return sm::daemon::StoreRetry([this](sm::store::Batch batch) -> ib::Result<void> {
    if (write(batch)) return {};
    return ib::fail(ib::ErrorKind::Io, "the disk is full");
  });
}

Manager::~Manager() {
  if (seat_.disk->holder == this) seat_.disk->holder = nullptr;
}

void Manager::step(Instant now) {
  for (; !answers_.empty(); answers_.pop_front()) sm().on_packet(now, answers_.front());
  if (lids_.next_deadline() <= now) (void)lids_.on_time(now);
  if (std::exchange(deposed_, false)) sm().on_deposed(now);
  scenario::Manager::step(now);
}

Instant Manager::next_deadline() const {
  if (!answers_.empty() || deposed_) return Instant{0};
  return std::min(scenario::Manager::next_deadline(), lids_.next_deadline());
}

bool Manager::write(const sm::store::Batch& batch) {
  Disk& disk = *seat_.disk;
  if (disk.is_full) return false;
  if (disk.is_shared && disk.holder != this) {
    deposed_ = true;  // by one that may be gone since
    return false;
  }
  sm::store::apply(batch, disk.contents);
  return true;
}

/// As the daemon's file does, which is on the disk beside the store.
void Manager::keep_whom_to_ask() {
  if (seat_.disk->is_full) return;
  const sm::core::ClientsToAsk due = sm().clients_to_ask();
  seat_.options.registrations_lost = seat_.options.registrations_lost || due.all;
  seat_.options.ports_to_ask.insert(due.ports.begin(), due.ports.end());
}

void Manager::publish(const sm::SnapshotPtr& snapshot) {
  keep_whom_to_ask();
  scenario::Manager::publish(snapshot);
}

void Manager::commit(sm::store::Batch batch) {
  keep_whom_to_ask();
  overseer_.on_commit(seat_, batch);
  (void)lids_.commit(world().now(), std::move(batch));
}

bool Manager::keep(const sm::store::Batch& batch) {
  sm::store::Batch kept = batch;
  overseer_.on_commit(seat_, kept);
  return write(kept);
}

bool Manager::lets_out(ib::mad::Packet& packet) { return overseer_.on_sa_packet(seat_, packet); }

ib::Result<void> Manager::send(const sm::core::Outgoing& out) {
  ++sends_;
  if (overseer_.on_send(seat_, out) == Overseer::Fate::Answered) {
    answers_.push_back(good_answer(out.packet));
    return {};
  }
  return scenario::Manager::send(out);
}

void Manager::report(sm::core::Report report) {
  if (!seat_.disk->is_full) {
    auto due = sm().clients_to_ask();
    seat_.options.registrations_lost = due.all;
    seat_.options.ports_to_ask = std::move(due.ports);
  }
  overseer_.on_report(seat_, report);
  scenario::Manager::report(std::move(report));
}

void Manager::log(const ib::LogEvent& event) { overseer_.on_line(seat_, event); }

/// As the daemon does when it has taken the store.
void Manager::recall() {
  const Instant now = world().now();
  Disk& disk = *seat_.disk;
  disk.holder = this;
  lids_ = unwritten();
  sa().restore(disk.contents);
  pass_groups(now);
  pass_aliases(now);
  sm().on_recalled(now, disk.contents);
}

}  // namespace soak
