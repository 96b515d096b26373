// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// StoreDoubt: whether a master that is gone may have answered clients what is not in the store that
// it shared with us. It replaces its posting on the board every few seconds; where it was heard on
// the fabric for long after its last one, etcd did not hear it. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "libdiag/base/instant.h"
#include "sm/daemon/consistency.h"
#include "sm/store/board.h"

namespace sm::daemon {

class StoreDoubt {
 public:
  /// Two turns. One that is well is heard for one at most, and a while if it is slow.
  static constexpr ib::Duration kSilentMost = 2 * Consistency::kEvery;

  void on_postings(ib::Instant now, std::span<const store::Posting> postings);
  /// The board could not be read.
  void on_failure(ib::Instant now) { failed_at_ = now; }
  /// `who` said of itself on the fabric that it is master.
  void on_master_heard(const std::string& who, ib::Instant now);

  /// Of the master that was heard last: why it may have; empty: there is no doubt, or no master was
  /// heard since the last call.
  std::string take();

 private:
  struct Seen {
    std::string text;     // empty: it is not there any more
    ib::Instant since{};  // when that was seen first
    bool behind{false};   // it said so last
  };
  struct Master {
    std::string who;
    ib::Instant heard{};
  };

  std::map<std::string, Seen> seen_;
  std::optional<ib::Instant> read_first_, failed_at_;
  std::optional<Master> master_;
};

}  // namespace sm::daemon
