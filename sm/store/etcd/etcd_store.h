// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// EtcdStore: the store on etcd, and everything in memory too. While etcd cannot be reached or
// written, the subnet is managed from memory; an alarm says so, and as soon as it can all of it is
// written. What another subnet manager has taken is written by that one alone.
//
//   reads --take()--> writes --etcd fails--> is behind --on_time()--> writes
//     ^                  |
//     +---stand_by()-----+--another one takes it--> deposed --stand_by(), take()--> ...
//                                                      +--go_apart()--> apart --take()--> ...
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sm/store/directory_lock.h"
#include "sm/store/etcd/book.h"
#include "sm/store/etcd/journal.h"
#include "sm/store/etcd/policy_shelf.h"
#include "sm/store/shared_store.h"

namespace sm::store::etcd {

class EtcdStore final : public SharedStore {
 public:
  static constexpr ib::Duration kTryEvery = std::chrono::seconds(5);
  /// Whether it is still there, though nothing is written: a standby that takes over needs it.
  static constexpr ib::Duration kLookEvery = std::chrono::seconds(10);

  /// What is kept on this host beside etcd.
  struct Local {
    std::shared_ptr<const DirectoryLock> lock;  // null: none
    std::string journal;                        // a path; empty: none
  };
  /// Reads what is there, and is told about in `lines` where it cannot.
  static ib::Result<Opened> open(BookOptions options, std::unique_ptr<Cluster> cluster,
                                 Local local = {});

  ib::Result<Contents> load() override { return contents_; }
  ib::Result<void> commit(const Batch& batch) override;
  ib::Result<Contents> take() override;
  ib::Result<Contents> look() override;
  void stand_by() override;
  std::optional<ib::Duration> rest() const override;
  std::vector<ib::LogEvent> on_time() override;
  void set_ports(std::vector<ib::Guid> ports) override { ports_ = std::move(ports); }
  bool is_deposed() const override { return role_ == Role::Deposed; }
  Contents go_apart() override;
  void set_policy(std::vector<PolicyCopy> copies) override {
    policy_.set(std::move(copies));
    policy_waits_ = false;
  }
  bool take_lacks() override { return book_.take_lacks() || std::exchange(lacks_, false); }
  bool is_whole() const override { return role_ != Role::Waits && role_ != Role::Behind; }

 private:
  enum class Role : std::uint8_t {
    Reads,    // what is committed waits for take()
    Waits,    // take() was called, and etcd could not be reached
    Writes,   // it is ours
    Behind,   // likewise, but etcd lacks something
    Deposed,  // it was
    Apart,    // likewise, by one that manages another subnet
  };

  EtcdStore(BookOptions options, std::unique_ptr<Cluster> cluster, Local local)
      : lock_(std::move(local.lock)),
        cluster_(std::move(cluster)),
        policy_(options.prefix, options.fabric, *cluster_),
        book_(std::move(options), *cluster_),
        journal_(std::move(local.journal)) {}

  ib::Result<void> take_now();
  ib::Result<void> write_all();
  void check();
  bool has_policy_to_write() const {
    return role_ == Role::Writes && !policy_waits_ && !policy_.is_done();
  }
  void write_policy();
  /// The role Writes begins.
  void begin_to_write();
  void fail(const ib::Error& error);
  ib::Result<void> depose(ib::Error error);
  /// The first that etcd lacks.
  void fall_behind(const ib::Error& error, const Journal::Entry& first);
  void keep(const ib::Result<void>& kept);
  void tell_gone();
  /// What clients were answered stays on this host: the writer has them register again.
  void leave_to_others();
  /// Its place among the others is known when the store is taken.
  void leave_what_etcd_lacks();
  void take_what_was_left(Contents& all);

  std::shared_ptr<const DirectoryLock> lock_;  // null: none
  std::unique_ptr<Cluster> cluster_;
  PolicyWriter policy_;
  bool policy_waits_{false};    // a step of it failed: until the next look
  std::string policy_failure_;  // that was said
  Book book_;
  Role role_{Role::Reads};
  Contents contents_;
  Contents before_;           // committed while it was not ours: what etcd has stands above it
  std::vector<Batch> since_;  // committed while Waits: stands above what etcd has
  Journal journal_;           // committed while Behind or Apart
  std::vector<ib::Guid> ports_;
  bool lacks_{false};         // what this one answered is not written
  Journal::Left left_;        // by one that was Behind: the process before, or this one
  std::string last_failure_;  // that was said
  std::vector<ib::LogEvent> lines_;
};

}  // namespace sm::store::etcd
