// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// EtcdStore: the store on etcd, and everything in memory too. While etcd cannot be reached or
// written, the subnet is managed from memory; an alarm says so, and as soon as it can all of it is
// written. What another subnet manager has taken is written by that one alone.
//
//   reads --take()--> writes --etcd fails--> is behind --on_time()--> writes
//     ^                  |
//     +---stand_by()-----+--another one takes it--> deposed --stand_by(), take()--> ...
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sm/store/directory_lock.h"
#include "sm/store/etcd/book.h"
#include "sm/store/store.h"

namespace sm::store::etcd {

class EtcdStore final : public Store {
 public:
  static constexpr ib::Duration kTryEvery = std::chrono::seconds(5);

  /// Reads what is there, and is told about in `lines` where it cannot.
  static ib::Result<Opened> open(BookOptions options, std::unique_ptr<Cluster> cluster,
                                 std::shared_ptr<const DirectoryLock> lock = nullptr);

  ib::Result<Contents> load() override { return contents_; }
  ib::Result<void> commit(const Batch& batch) override;
  ib::Result<Contents> take() override;
  void stand_by() override { role_ = Role::Reads; }
  std::optional<ib::Duration> rest() const override;
  std::vector<ib::LogEvent> on_time() override;

 private:
  enum class Role : std::uint8_t {
    Reads,    // what is committed waits for take()
    Waits,    // take() was called, and etcd could not be reached
    Writes,   // it is ours
    Behind,   // likewise, but etcd lacks something
    Deposed,  // it was
  };

  EtcdStore(BookOptions options, std::unique_ptr<Cluster> cluster,
            std::shared_ptr<const DirectoryLock> lock)
      : lock_(std::move(lock)),
        cluster_(std::move(cluster)),
        book_(std::move(options), *cluster_) {}

  ib::Result<void> take_now();
  ib::Result<void> write_all();
  void fail(const ib::Error& error);
  ib::Result<void> depose(ib::Error error);

  std::shared_ptr<const DirectoryLock> lock_;  // null: none
  std::unique_ptr<Cluster> cluster_;
  Book book_;
  Role role_{Role::Reads};
  Contents contents_;
  Contents before_;           // committed while it was not ours: what etcd has stands above it
  std::vector<Batch> since_;  // committed while Waits: stands above what etcd has
  std::string last_failure_;  // that was said
  std::vector<ib::LogEvent> lines_;
};

}  // namespace sm::store::etcd
