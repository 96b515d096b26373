// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the steps of the SA's thread cost in the latency model (latency_test.cpp), on a subnet of
// 11,664 hosts and 1,620 switches. Data, so that the model needs no clock; bench/sa_costs_bench
// measures every one of them, and fails when one is dearer than it is here.
#pragma once

#include "libdiag/base/instant.h"

namespace sm::sa::test {

struct StormCosts {
  /// A MAD out of a socket and through on_packet(): keys, repetitions, its queue.
  ib::Duration take_in{std::chrono::microseconds(3)};
  /// work() of a Get(PathRecord) whose pair of leaves is asked for the first time.
  ib::Duration serve{std::chrono::microseconds(12)};
  /// next_send(), and into a socket.
  ib::Duration send{std::chrono::microseconds(8)};
  /// publish() after a reroute: nothing of what was known of pairs is taken over.
  ib::Duration publish{std::chrono::milliseconds(4)};
  /// From a MAD's arrival to the thread's running, when it slept in poll().
  ib::Duration wake{std::chrono::microseconds(100)};
};

}  // namespace sm::sa::test
