// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Queries for tables of devices that nobody has read yet: right after the subnet came up an answer
// would tell of too few. They wait here, a little and not many, until the tables are read. A
// machine.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "libdiag/base/instant.h"
#include "libdiag/mad/transport.h"

namespace sm::sa {

class TablesWait {
 public:
  /// As long as a client is told to wait for answers of unknown duration (ClassPortInfo's
  /// RespTimeValue, 268 ms) and asks again.
  static constexpr ib::Duration kLongest = std::chrono::milliseconds(500);
  static constexpr std::size_t kMost = 64, kMostOfOne = 4;

  /// Whether the answer tells what devices hold that is read of them, and not programmed.
  static bool concerns(const ib::mad::Packet& request);

  /// False: there is no room, `request` is to be answered with what is known.
  bool add(ib::Instant now, ib::Lid who, const ib::mad::Packet& request);
  /// The tables are read: nobody waits any longer.
  void release() { ready_ = waiting_.size(); }
  void on_time(ib::Instant now);
  ib::Instant next_deadline() const;
  bool has_next() const { return ready_ != 0; }
  std::optional<ib::mad::Packet> next();

 private:
  struct Waiting {
    ib::Instant until;
    ib::Lid who;  // the requester, by its first LID
    ib::mad::Packet request;
  };
  std::deque<Waiting> waiting_;  // in the order in which they came
  std::size_t ready_{0};         // so many in front wait no longer
};

}  // namespace sm::sa
