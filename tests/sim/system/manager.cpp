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
      clients_(seat.disk->contents),
      lids_(unwritten()) {}

sm::daemon::StoreRetry Manager::unwritten() {
  return sm::daemon::StoreRetry([this](const sm::store::Batch& batch) -> ib::Result<void> {
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
  Disk& disk = *seat_.disk;
  if (std::exchange(deposed_, false)) {
    was_deposed_ = is_master();
    sm().on_deposed(now);
  }
  if (apart_ && !recalls_ && !is_master_elsewhere(now)) {
    recalls_ = true;
    sm().on_store_back(now);
  }
  if (disk.holder == this && std::exchange(disk.lacks, false)) sm().on_registrations_lost(now);
  scenario::Manager::step(now);
  while (const auto event = sa().next_log()) log(*event);
}

Instant Manager::next_deadline() const {
  if (!answers_.empty() || deposed_) return Instant{0};
  return std::min(scenario::Manager::next_deadline(), lids_.next_deadline());
}

bool Manager::write(const sm::store::Batch& batch) {
  Disk& disk = *seat_.disk;
  if (disk.is_full) return false;
  if (disk.is_shared && disk.holder != this && !apart_) {
    deposed_ = true;  // by one that may be gone since
    return false;
  }
  if (disk.is_shared) sm::store::apply(batch, known_);
  if (!apart_) sm::store::apply(batch, disk.contents);
  return true;
}

void Manager::keep_clients(sm::store::Batch batch) {
  if (!batch.empty()) (void)lids_.commit(world().now(), std::move(batch));
}

void Manager::publish(const sm::SnapshotPtr& snapshot) {
  keep_clients(clients_.add(sm().clients_to_ask()));
  scenario::Manager::publish(snapshot);
}

void Manager::publish_stopgap(const sm::SnapshotPtr& snapshot, bool registers) {
  keep_clients(clients_.add(sm().clients_to_ask()));
  scenario::Manager::publish_stopgap(snapshot, registers);
}

void Manager::ask_clients(Instant now, const std::vector<ib::Guid>& ports) {
  scenario::Manager::ask_clients(now, ports);
  if (is_master()) keep_clients(clients_.add(sm().clients_to_ask()));
}

void Manager::commit(sm::store::Batch batch) {
  keep_clients(clients_.add(sm().clients_to_ask()));
  overseer_.on_commit(seat_, batch);
  (void)lids_.commit(world().now(), std::move(batch));
}

bool Manager::shares_store() const { return seat_.disk->is_shared; }

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
  const auto due = sm().clients_to_ask();
  if (!seat_.disk->is_full) seat_.options.registrations_lost = due.all;
  keep_clients(clients_.set(due));
  overseer_.on_report(seat_, report);
  scenario::Manager::report(std::move(report));
}

void Manager::log(const ib::LogEvent& event) { overseer_.on_line(seat_, event); }

/// By the place of the holder, as the daemon knows it from the board, where it reads what others
/// say every few seconds and believes it when it has changed.
bool Manager::is_master_elsewhere(Instant now) const {
  constexpr ib::Duration kBelievedAfter = std::chrono::seconds(10);
  const Manager* holder = seat_.disk->holder;
  return holder != nullptr && holder != this && holder->is_master() &&
         now - holder->sm().mastership().status().since >= kBelievedAfter &&
         sm().mastership().others().find(holder->seat_.options.mastership.port_guid) == nullptr;
}

/// As the daemon does: where another one has the store and manages another part of the fabric it
/// goes on by what it knows itself; else it takes the store, and adds that.
void Manager::recall(sm::core::Recall how) {
  const Instant now = world().now();
  Disk& disk = *seat_.disk;
  const bool takes = how == sm::core::Recall::Take;
  const bool was_apart = std::exchange(apart_, was_deposed_ && is_master_elsewhere(now));
  was_deposed_ = recalls_ = false;
  if (!takes) known_ = disk.contents;
  if (takes && !apart_) {
    disk.holder = this;
    if (was_apart) {
      sm::store::apply(sm::store::batch_of(known_), disk.contents);
      disk.lacks = true;
    }
    known_ = disk.contents;
  }
  lids_ = unwritten();
  clients_.take(known_);
  sa().restore(known_);
  pass_groups(now);
  pass_aliases(now);
  sm().on_recalled(now, known_);
}

void Manager::on_sm_status(const sm::core::SmStatus& status) {
  if (status.state != ib::wire::SmState::Master) {
    if (apart_) seat_.disk->lacks = true;
    was_deposed_ = apart_ = recalls_ = false;
  }
  scenario::Manager::on_sm_status(status);
}

}  // namespace soak
