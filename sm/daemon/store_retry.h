// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LIDs that the store could not write, until it can: a disk that is full now has room again later.
#pragma once

#include <functional>
#include <optional>

#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"
#include "libdiag/base/result.h"
#include "sm/store/store.h"

namespace sm::daemon {

class StoreRetry {
 public:
  using Commit = std::function<ib::Result<void>(store::Batch)>;
  static constexpr ib::Duration kEvery = std::chrono::seconds(10);

  explicit StoreRetry(Commit commit) : commit_(std::move(commit)) {}

  /// Commits what only changes LIDs, `vls`, `routes`, writers, whom to ask and who is in doubt,
  /// with what could not be written before. A line for the log when that fails, and when it is made
  /// up for.
  std::optional<ib::LogEvent> commit(ib::Instant now, store::Batch lids);
  /// Once more, when it is time.
  std::optional<ib::LogEvent> on_time(ib::Instant now);
  ib::Instant next_deadline() const { return again_at_; }

 private:
  std::optional<ib::LogEvent> attempt(ib::Instant now);

  Commit commit_;
  store::Batch unwritten_;
  ib::Instant again_at_{ib::kNever};  // while something is unwritten
};

}  // namespace sm::daemon
