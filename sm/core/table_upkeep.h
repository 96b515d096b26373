// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// TableUpkeep: keeps what is known of the devices' tables true and complete, for subnet
// administration to tell. A machine for the time between sweeps; how a reading goes from node to
// node is the TableReader's.
//
//   Resting   nothing to read
//   Due       a full sweep is done; a reading begins a little later
//   Reading   requests are under way; while something is programmed nothing new is asked
//
// The next full sweep takes it back to Resting.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/base/log.h"
#include "sm/core/table_reader.h"

namespace sm::core {

class TableUpkeep {
 public:
  /// Cookies are `owner` and something in the low 44 bits. `after`: how long after a full sweep a
  /// reading begins; nothing: never. `inventory` outlives this.
  TableUpkeep(ib::mad::Cookie owner, std::optional<ib::Duration> after,
              device::Inventory& inventory)
      : owner_(owner), after_(after), known_(inventory) {}

  // ---- what happens to devices
  /// What is under way is left: asked by the ways of the sweep before, which a cable may have taken
  /// with it, it would keep the same nodes from answering this one. Whose answers are to be waited
  /// for no longer.
  [[nodiscard]] std::vector<ib::mad::Cookie> on_sweep_begun();
  /// What a full sweep found. `forget_all`: whatever is known is to be read again.
  void on_found(const ib::discover::Observed& found, bool forget_all);
  void on_sweep_done(ib::Instant now);

  // ---- reading
  ib::Instant due() const { return due_; }
  /// True until a first reading has come to its end, and again after everything was forgotten.
  bool to_come() const { return after_ && !read_once_; }
  bool at_rest() const { return due_ == ib::kNever && !reader_; }
  /// Reads what is not known of the `managed` nodes. `compare`: and again what is known of guarded
  /// tables.
  void begin(ib::Instant now, SnapshotPtr snapshot, const std::vector<bool>& managed, bool compare);
  std::vector<ib::mad::Request> take_requests();
  void on_completion(ib::Instant now, const ib::mad::Completion& completion);
  /// True: there is something to publish, at the end and every second before.
  bool has_news(ib::Instant now);

  /// What is known, the same object as long as there is nothing new.
  std::shared_ptr<const device::Inventory> tables();
  std::uint64_t nodes_read() const { return nodes_read_; }
  /// True once after a guarded table turned out to hold what somebody else wrote.
  bool take_rewritten() { return std::exchange(rewritten_, false); }
  std::optional<ib::LogEvent> next_log();

 private:
  void end_reading();
  void tell_rewritten();

  const ib::mad::Cookie owner_;
  const std::optional<ib::Duration> after_;
  device::Inventory& known_;
  std::uint64_t published_{0};  // revision of `known_` in tables_
  std::shared_ptr<const device::Inventory> tables_;
  ib::Instant due_{ib::kNever};
  std::unique_ptr<TableReader> reader_;
  bool read_once_{false};            // to the end
  ib::Instant news_at_{ib::kNever};  // what was read so far is published
  SnapshotPtr snapshot_;             // that `reader_` goes by
  std::uint64_t nodes_read_{0};
  bool rewritten_{false};
  std::deque<ib::LogEvent> logs_;
};

}  // namespace sm::core
