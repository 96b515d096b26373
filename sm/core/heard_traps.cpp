// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/heard_traps.h"

#include <algorithm>

namespace sm::core {

std::size_t HeardTraps::note(ib::Instant now, ib::Lid from, ib::Tid tid,
                             const ib::wire::Notice& notice) {
  constexpr std::size_t kMost = 256;  // repeated at the same time; the oldest gives way
  std::erase_if(heard_, [&](const Heard& h) { return now - h.last > within_; });
  const auto same = std::ranges::find_if(
      heard_, [&](const Heard& h) { return h.from == from && h.tid == tid && h.notice == notice; });
  if (same != heard_.end()) {
    same->last = now;
    return same->times++;
  }
  if (heard_.size() == kMost) heard_.pop_front();
  heard_.push_back({from, tid, notice, now, 1});
  return 0;
}

}  // namespace sm::core
