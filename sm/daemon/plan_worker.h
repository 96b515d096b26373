// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PlanWorker: the thread that makes plans, so that the one that owns the machines answers
// meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "sm/core/plan_job.h"

namespace sm::daemon {

class PlanWorker {
 public:
  PlanWorker();
  /// A plan that is being made is left to itself: it shares nothing with anybody, and nobody waits
  /// for it. See abandoned().
  ~PlanWorker();
  PlanWorker(const PlanWorker&) = delete;
  PlanWorker& operator=(const PlanWorker&) = delete;

  /// Precondition: nothing is being made.
  void post(core::PlanJob job);
  /// Readable when take() has something.
  int readable_fd() const;
  std::optional<core::PlanResult> take();

  /// Some thread still makes a plan that nobody waits for. Then the program ends without the
  /// destructors of static objects (std::quick_exit), which that thread may use.
  static bool abandoned();

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;  // with the thread
  std::thread thread_;
};

}  // namespace sm::daemon
