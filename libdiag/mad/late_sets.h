// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sets to one target that may still arrive, though their request is complete: another attempt of it
// was answered, or nobody waits for it any more. Where MADs overtake each other, such a one would
// undo a later Set of the same block. Inside Transactor only.
#pragma once

#include <cstdint>
#include <vector>

#include "libdiag/mad/request.h"

namespace ib::mad {

class LateSets {
 public:
  /// An attempt of `request` has no answer, and is presumed lost at `lost_at`. What is no Set of
  /// the SMA does not count.
  void add(const Request& request, std::uint64_t sequence, Instant lost_at);
  /// That attempt was answered after all.
  void on_answer(std::uint64_t sequence);
  /// When `request` may be sent, so that it overtakes none of its block: `now` or later.
  Instant passed(const Request& request, Instant now);

 private:
  struct Late {
    std::uint64_t sequence;
    std::uint64_t block;
    Instant lost_at;
  };
  std::vector<Late> late_;
};

}  // namespace ib::mad
