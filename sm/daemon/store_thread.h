// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// StoreThread: the one thread that owns the store, so that a disk that is slow delays what waits
// for it and nothing else. The subnet manager waits until its LIDs are durable; subnet
// administration asks, goes on answering reads, and hears when it is done.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sm/daemon/wake.h"
#include "sm/store/shared_store.h"

namespace sm::daemon {

class StoreThread {
 public:
  struct Done {
    std::uint64_t ticket{};
    std::string failure;  // empty: durable
  };

  /// `say`: what the store has to say of itself, from its thread.
  StoreThread(std::unique_ptr<store::Store> store, ib::LogSink say);
  /// What was asked for is done first.
  ~StoreThread();
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  /// Waits for it.
  ib::Result<void> commit(store::Batch batch);
  /// Does not.
  void post(std::uint64_t ticket, store::Batch batch);
  /// Nobody waits for it, all else comes first, and it is dropped where too much waits already.
  void post_later(store::Batch batch);
  /// Store::take(), without waiting for it; of a shared one by the ports of this fabric.
  void post_take(std::vector<ib::Guid> ports = {});
  /// SharedStore::look(), likewise; nothing is taken. next_taken() has it.
  void post_look();
  /// SharedStore::go_apart(), likewise; what is kept is as if it had been taken.
  void post_apart();
  /// Store::stand_by(), likewise.
  void post_stand_by();
  /// SharedStore::set_policy(), likewise; nothing where others do not write the store.
  void post_policy(std::vector<store::PolicyCopy> copies);
  /// True once after another one was found to have taken the store.
  bool take_deposed();
  /// True once after registrations were found to be missing in it, before next_taken() has it.
  bool take_lacks();
  /// True once after a take that had failed was made up for: what is kept is not what was told.
  bool take_made_up();
  /// Clients are answered what is not in it yet, since it could not be reached or written.
  bool is_behind();
  /// Readable when one of these has something.
  int taken_fd() const { return taken_wake_.fd(); }
  std::optional<ib::Result<store::Contents>> next_taken();
  /// Readable when next_done() has something.
  int readable_fd() const { return done_wake_.fd(); }
  std::optional<Done> next_done();

 private:
  enum class What : std::uint8_t { Commit, Look, Take, Apart, StandBy, Policy };
  struct Order {
    What what{What::Commit};
    std::optional<std::uint64_t> ticket;  // none: somebody waits
    store::Batch batch;
    std::optional<ib::Result<void>>* result{nullptr};
    std::vector<ib::Guid> ports{};
    std::vector<store::PolicyCopy> policy{};
  };
  void run();
  /// What the store has found out meanwhile; with the lock.
  void hear();
  void commit_later(store::Batch batch, std::unique_lock<std::mutex>& lock);
  void carry_out(Order order, std::unique_lock<std::mutex>& lock);
  /// Of what the store does in small steps nothing is left undone.
  void finish(std::unique_lock<std::mutex>& lock);
  /// Until there is an order, or the end. False: meanwhile the store wants its turn.
  bool wait(std::unique_lock<std::mutex>& lock);

  std::unique_ptr<store::Store> store_;
  store::SharedStore* shared_;  // the same; null: others do not write it
  ib::LogSink say_;
  std::mutex mutex_;
  std::condition_variable wanted_, served_;
  std::deque<Order> orders_;
  std::deque<store::Batch> later_;
  std::deque<Done> done_;
  std::deque<ib::Result<store::Contents>> taken_;
  bool deposed_{false}, was_deposed_{false}, lacks_{false};
  bool take_failed_{false}, made_up_{false}, behind_{false};
  bool later_failed_{false};  // the last of later_, and that was said
  bool ending_{false};
  Wake done_wake_, taken_wake_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace sm::daemon
