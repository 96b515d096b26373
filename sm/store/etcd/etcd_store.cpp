// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/etcd_store.h"

#include <fmt/format.h>

#include <utility>

#include "sm/store/store_files.h"

namespace sm::store::etcd {
namespace {

constexpr std::size_t kSinceMost = 4096;  // batches that are kept one by one
constexpr std::size_t kJournalMost = 64U
                                     << 20;  // bytes; then one entry with everything replaces it

}  // namespace

ib::Result<Opened> EtcdStore::open(BookOptions options, std::unique_ptr<Cluster> cluster,
                                   Local local) {
  std::unique_ptr<EtcdStore> store(
      new EtcdStore(std::move(options), std::move(cluster), std::move(local)));
  store->left_ = store->journal_.read();
  if (!store->left_.entries.empty()) store->keep(store->journal_.resume(store->left_));
  Opened opened;
  auto contents = store->book_.read();
  if (contents) {
    store->contents_ = *std::move(contents);
    opened.found = store->book_.was_there() ? Found::All : Found::Nothing;
  } else if (contents.error().kind == ib::ErrorKind::TimedOut) {
    opened.found = Found::Part;
    opened.lines.push_back({ib::LogLevel::Error, "store", contents.error().message});
  } else {
    return tl::unexpected<ib::Error>(std::move(contents.error()));
  }
  // Whether another one has had the store meanwhile is seen when it is taken.
  apply(store->left_, store->contents_);
  opened.contents = store->contents_;
  opened.store = std::move(store);
  return opened;
}

ib::Result<void> EtcdStore::commit(const Batch& batch) {
  if (role_ == Role::Deposed)
    return ib::fail(ib::ErrorKind::Refused,
                    "another subnet manager has taken the store: nothing of ours is written");
  apply(batch, contents_);
  if (role_ == Role::Reads) apply(batch, before_);
  if (role_ == Role::Waits) {
    if (since_.size() >= kSinceMost) since_ = {batch_of(contents_)};
    since_.push_back(batch);
    keep(journal_.add(batch));  // where there is one
  }
  if (role_ == Role::Behind || role_ == Role::Apart)
    keep(journal_.bytes() < kJournalMost
             ? journal_.add(batch)
             : journal_.begin(book_.epoch(), {true, batch_of(contents_)}));
  if (role_ != Role::Writes) return {};
  auto done = book_.commit(batch, contents_);
  tell_gone();
  if (!done && book_.is_deposed()) return depose(std::move(done.error()));
  if (!done) fall_behind(done.error(), {false, batch});
  return {};
}

void EtcdStore::fall_behind(const ib::Error& error, const Journal::Entry& first) {
  role_ = Role::Behind;
  fail(error);
  keep(journal_.begin(book_.epoch(), first));
}

void EtcdStore::keep(const ib::Result<void>& kept) {
  if (kept) return;
  lines_.push_back({ib::LogLevel::Error, "store",
                    fmt::format("{}: what clients register while etcd is away is lost when ibsm "
                                "ends",
                                kept.error().message)});
}

void EtcdStore::tell_gone() {
  if (!book_.take_was_gone()) return;
  policy_.doubt();
  lines_.push_back({ib::LogLevel::Error, "store",
                    "the store in etcd was gone, since its keys were deleted or etcd began with an "
                    "empty directory: everything is written to it again"});
}

void EtcdStore::take_what_was_left(Contents& all) {
  if (left_.entries.empty()) return;
  if (left_.epoch == book_.epoch_before()) {
    apply(left_, all);
    lines_.push_back({ib::LogLevel::Warning, "store",
                      "what was registered while etcd was away is in the store now"});
  } else {
    lines_.push_back(
        {ib::LogLevel::Error, "store",
         fmt::format("what was registered while etcd was away is not written to the store, since "
                     "another subnet manager has taken it meanwhile: clients are to register "
                     "again; it is kept in {}",
                     journal_.set_aside())});
    lacks_ = true;
  }
  left_ = {};
}

void EtcdStore::leave_what_etcd_lacks() {
  if (role_ == Role::Behind) left_ = {book_.epoch(), {{true, batch_of(contents_)}}, 0};
}

void EtcdStore::leave_to_others() {
  lines_.push_back({ib::LogLevel::Error, "store",
                    fmt::format("what clients registered while the store was not ours to write is "
                                "kept in {}: the subnet manager that writes has them register "
                                "again",
                                journal_.set_aside())});
  if (auto told = book_.tell_lacks(); !told)
    lines_.push_back(
        {ib::LogLevel::Error, "store", told.error().message + ": it does not know that it is to"});
}

Contents EtcdStore::go_apart() {
  if (role_ != Role::Deposed) return contents_;
  role_ = Role::Apart;
  keep(journal_.begin(book_.epoch(), {true, batch_of(contents_)}));
  lines_.push_back(
      {ib::LogLevel::Error, "store",
       "the subnet manager that has the store manages another part of the fabric, which is cut in "
       "two: this part is managed from memory, and what clients register is on this host alone "
       "until there is one master again"});
  return contents_;
}

void EtcdStore::stand_by() {
  if (role_ == Role::Apart) leave_to_others();
  leave_what_etcd_lacks();
  // It never was the one that writes: what others wrote stands above it.
  for (const Batch& batch : since_) apply(batch, before_);
  since_.clear();
  role_ = Role::Reads;
}

ib::Result<Contents> EtcdStore::take() {
  leave_what_etcd_lacks();
  // It is added to what the other one wrote; and clients of both say once more what they want.
  if (role_ == Role::Apart) {
    since_ = {batch_of(contents_)};
    lacks_ = true;
  }
  role_ = Role::Waits;
  if (auto taken = take_now(); !taken) {
    fail(taken.error());
    return tl::unexpected<ib::Error>(std::move(taken.error()));
  }
  return contents_;
}

ib::Result<Contents> EtcdStore::look() {
  auto there = book_.read();
  if (!there) return tl::unexpected<ib::Error>(std::move(there.error()));
  Contents all = before_;
  apply(batch_of(*there), all);
  return all;
}

/// What etcd has stands above what was committed before it was ours, and below what was since.
ib::Result<void> EtcdStore::take_now() {
  auto there = book_.take(ports_);
  if (!there) return tl::unexpected<ib::Error>(std::move(there.error()));
  Contents all = std::move(before_);
  apply(batch_of(*there), all);
  take_what_was_left(all);
  for (const Batch& batch : since_) apply(batch, all);
  contents_ = std::move(all);
  before_ = {};
  since_.clear();
  begin_to_write();
  auto written = contents_ == *there ? ib::Result<void>{} : book_.write(contents_);
  if (!written && book_.is_deposed()) return depose(std::move(written.error()));
  if (written)
    journal_.clear();
  else
    fall_behind(written.error(), {true, batch_of(contents_)});
  return {};
}

ib::Result<void> EtcdStore::write_all() {
  auto written = book_.write(contents_);
  tell_gone();
  if (!written && book_.is_deposed()) return depose(std::move(written.error()));
  if (written) {
    begin_to_write();
    journal_.clear();
  }
  return written;
}

/// Where etcd cannot be reached nothing is missing in it: what is committed next says so.
void EtcdStore::check() {
  auto done = book_.check(contents_);
  tell_gone();
  if (!done && book_.is_deposed()) (void)depose(std::move(done.error()));
}

void EtcdStore::begin_to_write() {
  role_ = Role::Writes;
  policy_.doubt();
  policy_waits_ = false;
}

/// Where etcd cannot be reached, or another one has the store, check() and what is committed say
/// so.
void EtcdStore::write_policy() {
  const auto done = policy_.step(book_.epoch());
  for (std::string& refusal : policy_.take_refusals())
    lines_.push_back({ib::LogLevel::Warning, "store", std::move(refusal)});
  if (done) return policy_failure_.clear();
  policy_waits_ = true;
  const std::string why = done.error().message;
  if (done.error().kind == ib::ErrorKind::Refused && std::exchange(policy_failure_, why) != why)
    lines_.push_back({ib::LogLevel::Warning, "store",
                      "copies of policy files for other subnet managers are not written: " + why});
}

/// Once for each reason.
void EtcdStore::fail(const ib::Error& error) {
  if (error.message == std::exchange(last_failure_, error.message)) return;
  lines_.push_back({ib::LogLevel::Error, "store",
                    fmt::format("{}: the subnet is managed from memory, and what clients register "
                                "is on this host alone; writing is tried again every {} s",
                                error.message, kTryEvery / std::chrono::seconds(1))});
}

ib::Result<void> EtcdStore::depose(ib::Error error) {
  const bool lacked = role_ == Role::Behind || journal_.bytes() > 0;
  role_ = Role::Deposed;
  if (lacked)
    leave_to_others();
  else
    journal_.clear();
  lines_.push_back({ib::LogLevel::Error, "store",
                    error.message + ": what this one manages is not written any more"});
  return tl::unexpected<ib::Error>(std::move(error));
}

std::optional<ib::Duration> EtcdStore::rest() const {
  if (!lines_.empty() || has_policy_to_write()) return ib::Duration{0};
  if (!is_whole()) return kTryEvery;
  if (role_ == Role::Writes) return kLookEvery;
  return std::nullopt;
}

std::vector<ib::LogEvent> EtcdStore::on_time() {
  if (!lines_.empty()) return std::exchange(lines_, {});
  if (has_policy_to_write()) {
    write_policy();
    return std::exchange(lines_, {});
  }
  if (role_ == Role::Writes) {
    check();
    policy_waits_ = false;
  }
  if (is_whole()) return std::exchange(lines_, {});
  const auto done = role_ == Role::Waits ? take_now() : write_all();
  if (!done) {
    if (role_ != Role::Deposed) fail(done.error());
  } else if (role_ == Role::Writes) {
    last_failure_.clear();
    // The end of an alarm: as loud, so that nobody waits for it.
    lines_.push_back(
        {ib::LogLevel::Warning, "store",
         "etcd can be written again, and what was kept in memory is there: " + counted(contents_)});
  }
  return std::exchange(lines_, {});
}

}  // namespace sm::store::etcd
