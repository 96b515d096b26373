// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// When the machine itself stood still. A virtual machine loses its processors to its host now and
// then, for tens of milliseconds, and its own accounting does not say so; a latency that spans such
// a stall says nothing about the programs that were measured.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "libdiag/base/instant.h"

namespace ib::bench {

/// A stretch of time in which a processor did not run the most urgent thread it had.
struct Stall {
  Instant from, to;
};

/// One thread a processor, ahead of every other (SCHED_FIFO, sched(7)), sleeps and notes when it
/// woke too late. Costs about one per cent of each processor.
class StallWatch {
 public:
  StallWatch();
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  /// False when such threads are not permitted here: nothing is watched then.
  bool watching() const { return watching_; }
  /// Ends the watch. What stood still, in order of `from`, stretches that overlap joined; `to` is
  /// `backlog` times the stall's length after its end, the time it takes to work off what came
  /// meanwhile.
  std::vector<Stall> stop(double backlog);

 private:
  void run(std::size_t processor);
  std::atomic<bool> ended_{false};
  std::atomic<bool> watching_{true};
  std::vector<std::vector<Stall>> seen_;  // by processor
  std::vector<std::thread> threads_;
};

/// Whether [from, to] touches one of `stalls` as stop() gives them.
bool touches(const std::vector<Stall>& stalls, Instant from, Instant to);

}  // namespace ib::bench
