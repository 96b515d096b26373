// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Group commit: writes that arrive together share one transaction. Each is judged by the state as
// those before it leave it; replies and effects are let go when all of it is durable, and when it
// cannot be made durable all of it is taken back. A machine: no store, no clock.
//
//   add() -> waiting -> next_batch(): judged, applied -> on_done() -> next_finished()
//
// While several clients write, a transaction begins at most every `share`; one client that waits
// for each answer never waits for company.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "libdiag/base/instant.h"
#include "sm/sa/touched.h"
#include "sm/sa/world.h"

namespace sm::sa {

class WriteQueue {
 public:
  struct Options {
    ib::Duration share{std::chrono::milliseconds(2)};
    // Writes in one transaction, judged in one go: some 1 ms, that reads wait for at the most.
    std::size_t batch_max{256};
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

  void add(ib::Instant now, ib::mad::Packet request);
  void add(ib::Instant now, Own own);
  void on_time(ib::Instant now) { now_ = now; }
  /// When next_batch() is worth a call; kNever while nothing waits or a batch is out.
  ib::Instant next_deadline() const;

  /// Writes that wait or are being made durable.
  std::size_t size() const { return waiting_.size() + judged_.size(); }

  /// Judges what waits, if it is time and no batch is out, and applies it to `state` (which is
  /// world.state). `judge` says what comes of a request. Returns what is to be made durable; call
  /// on_done() then. Without anything to make durable the writes are finished at once.
  using Judge = std::function<Outcome(const World&, const ib::mad::Packet&)>;
  std::optional<store::Batch> next_batch(const World& world, State& state, const Judge& judge);
  void on_done(State& state, bool durable);
  std::optional<Finished> next_finished();

 private:
  using Entry = std::variant<ib::mad::Packet, Own>;
  void add_entry(ib::Instant now, Entry entry);
  void release();

  Options options_;
  ib::Instant now_{};
  std::deque<Entry> waiting_;
  ib::Instant ready_at_{};          // of what waits
  ib::Instant company_until_{};     // the last transaction was shared: the next begins then
  std::vector<Finished> judged_;    // of the batch that is out
  std::vector<store::Batch> undo_;  // one a change, to be applied backwards
  bool out_{false};
  std::deque<Finished> finished_;
};

}  // namespace sm::sa
