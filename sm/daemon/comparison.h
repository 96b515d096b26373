// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Comparison: has Consistency asked and told, by the board and the clock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sm/daemon/board_thread.h"
#include "sm/daemon/consistency.h"

namespace sm::daemon {

class Comparison {
 public:
  Comparison(std::unique_ptr<store::Board> board, Fingerprint own);

  /// The configuration is another one from now on.
  void set_fingerprint(ib::Instant now, Fingerprint own);
  /// What is heard and what is due. The news of it, and what there is to log.
  std::vector<Consistency::News> serve(ib::Instant now, ib::wire::SmState state,
                                       std::vector<ib::LogEvent>& lines);
  ib::Instant next_deadline() const { return due_; }
  int readable_fd() const { return thread_.readable_fd(); }
  const Consistency& consistency() const { return consistency_; }

 private:
  Consistency consistency_;
  BoardThread thread_;
  ib::Instant due_{};
  std::optional<ib::wire::SmState> said_;
};

}  // namespace sm::daemon
