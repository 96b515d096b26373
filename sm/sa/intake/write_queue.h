// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Group commit: writes that arrive together share one transaction. Each is judged by the state as
// those before it leave it; replies and effects are released when all of it is durable, and when it
// cannot be made durable all of it is taken back. A machine: no store, no clock.
//
//   add() -> queue of its requester -> next_batch(): judged, applied -> on_done() ->
//   next_finished()
//
// A transaction takes one write of each requester in turn, and not many of any, so that one that
// asks little is in the next transaction whatever another one asks for. While several clients
// write, a transaction begins at most every `share`; one client that waits for each answer never
// waits for company.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "libdiag/base/instant.h"
#include "sm/sa/registry/batch_keys.h"
#include "sm/sa/registry/change.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

class WriteQueue {
 public:
  struct Options {
    ib::Duration share{std::chrono::milliseconds(2)};
    // Writes in one transaction, judged in one go: some 1 ms, that reads wait for at the most.
    std::size_t batch_max{256};
    // ... of one requester: some 1 ms in the store, which the writes of others wait for.
    std::size_t of_one_max{64};
  };
  /// A write of subnet administration's own: a lease that ran out, a port that is gone.
  struct Own {
    std::function<Change(const World&)> change;
    std::function<void(bool durable)> done;  // may be empty
  };

  /// A write that came to its end. A change's batch is no longer in it.
  struct Finished {
    std::variant<ib::mad::Packet, Own> what;
    Outcome outcome;
  };

  WriteQueue() : WriteQueue(Options{}) {}
  explicit WriteQueue(const Options& options) : options_(options) {}

  /// `who` asks, by its first LID.
  void add(ib::Instant now, ib::Lid who, ib::mad::Packet request);
  void add(ib::Instant now, Own own);
  void on_time(ib::Instant now) { now_ = now; }
  /// When next_batch() is worth a call; kNever while nothing waits or a batch is out.
  ib::Instant next_deadline() const;

  /// Writes that wait or are being made durable.
  std::size_t size() const { return waiting_ + judged_.size(); }
  std::size_t waiting() const { return waiting_; }
  /// Whether another write of `who` could be in the next transaction.
  bool has_room(ib::Lid who) const;

  /// Judges what waits, if it is time and no batch is out, and applies it to `state` (which is
  /// world.state). `judge` says what comes of a request. Returns what is to be made durable; call
  /// on_done() then. Without anything to make durable the writes are finished at once.
  using Judge = std::function<Outcome(const World&, const ib::mad::Packet&)>;
  std::optional<store::Batch> next_batch(const World& world, State& state, const Judge& judge);
  void on_done(State& state, bool durable);
  std::optional<Finished> next_finished();

 private:
  using Entry = std::variant<ib::mad::Packet, Own>;
  /// A requester by its first LID, or subnet administration itself.
  using Who = std::uint32_t;
  static constexpr Who kOwn = 0x10000;  // no LID

  void add_entry(ib::Instant now, Who who, Entry entry);
  Entry take_next();
  void judge_one(const World& world, State& state, const Judge& judge, BatchKeys& batch_keys);
  void release();

  Options options_;
  ib::Instant now_{};
  std::unordered_map<Who, std::deque<Entry>> queues_;  // none is empty
  std::deque<Who> turns_;                              // everybody with a queue, once
  std::size_t waiting_{0};
  ib::Instant ready_at_{};          // of what waits
  ib::Instant company_until_{};     // the last transaction was shared: the next begins then
  std::vector<Finished> judged_;    // of the batch that is out
  std::vector<store::Batch> undo_;  // one a change, to be applied backwards
  bool out_{false};
  std::deque<Finished> finished_;
};

}  // namespace sm::sa
