// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Comparison: has Consistency asked and told, by the board and the clock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sm/daemon/board_thread.h"
#include "sm/daemon/consistency.h"
#include "sm/daemon/store_doubt.h"

namespace sm::daemon {

class Comparison {
 public:
  Comparison(std::unique_ptr<store::Board> board, Fingerprint own);

  /// The configuration is another one from now on.
  void set_fingerprint(ib::Instant now, Fingerprint own);
  /// What is heard and what is due. The news of it, and what there is to log. `behind`: clients are
  /// answered what is not in the store yet.
  std::vector<Consistency::News> serve(ib::Instant now, ib::wire::SmState state, bool behind,
                                       std::vector<ib::LogEvent>& lines);
  ib::Instant next_deadline() const { return due_; }
  int readable_fd() const { return thread_.readable_fd(); }
  const Consistency& consistency() const { return consistency_; }
  StoreDoubt& doubt() { return doubt_; }

 private:
  Consistency consistency_;
  StoreDoubt doubt_;
  BoardThread thread_;
  ib::Instant due_{};
  std::optional<std::pair<ib::wire::SmState, bool>> said_;
};

}  // namespace sm::daemon
