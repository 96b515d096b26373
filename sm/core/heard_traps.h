// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// HeardTraps: which traps are news. A device repeats a trap with the same transaction ID until a
// TrapRepress reaches it, and to one that garbles what it says, or that nothing leads to any more,
// none does. A device that starts anew may begin with the same IDs again, so what was not heard for
// a while is news.
#pragma once

#include <cstddef>
#include <deque>

#include "libdiag/base/ids.h"
#include "libdiag/base/instant.h"
#include "libdiag/wire/smp_attributes.h"

namespace sm::core {

class HeardTraps {
 public:
  /// `within`: repetitions are no farther apart.
  explicit HeardTraps(ib::Duration within) : within_(within) {}
  /// How often the same was heard before.
  std::size_t note(ib::Instant now, ib::Lid from, ib::Tid tid, const ib::wire::Notice& notice);

 private:
  struct Heard {
    ib::Lid from;
    ib::Tid tid;
    ib::wire::Notice notice;
    ib::Instant last;
    std::size_t times;
  };
  ib::Duration within_;
  std::deque<Heard> heard_;  // in the order they were news
};

}  // namespace sm::core
