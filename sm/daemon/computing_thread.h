// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ComputingThread: routes are computed afresh beside everything else, so that the subnet manager
// goes on repressing traps and subnet administration on answering.
#pragma once

#include <mutex>
#include <optional>
#include <thread>

#include "sm/daemon/wake.h"
#include "sm/plan/fresh.h"

namespace sm::daemon {

class ComputingThread {
 public:
  ComputingThread() = default;
  /// Waits for what is being computed, which may be long.
  ~ComputingThread();
  ComputingThread(const ComputingThread&) = delete;
  ComputingThread& operator=(const ComputingThread&) = delete;

  /// Precondition: the result of the request before was fetched.
  void start(plan::FreshRequest request);
  /// Readable when take_result() has something.
  int readable_fd() const { return done_.fd(); }
  std::optional<plan::FreshRoutes> take_result();
  /// Whether the destructor would have to wait.
  bool is_busy();

 private:
  std::mutex mutex_;
  std::optional<plan::FreshRoutes> result_;
  Wake done_;
  std::thread thread_;  // one a request: there is seldom one
};

}  // namespace sm::daemon
