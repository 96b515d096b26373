// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/computing_thread.h"

#include <unistd.h>

#include <utility>

#include "libdiag/base/parallel.h"

namespace sm::daemon {

ComputingThread::~ComputingThread() {
  if (thread_.joinable()) thread_.join();
}

void ComputingThread::start(plan::FreshRequest request) {
  thread_ = std::thread([this, request = std::move(request)] {
    // Nobody waits for it: one processor, and behind whoever wants that one too. (The nice value is
    // a thread's own on Linux; no helper thread is started, which would keep it.)
    [[maybe_unused]] const int niceness = nice(10);
    const ib::Alone on_this_thread;
    auto fresh = plan::compute_afresh(request);
    const std::lock_guard lock(mutex_);
    result_.emplace(std::move(fresh));
    done_.ring();
  });
}

std::optional<plan::FreshRoutes> ComputingThread::take_result() {
  std::optional<plan::FreshRoutes> result;
  {
    const std::lock_guard lock(mutex_);
    if (!result_) return std::nullopt;
    result.swap(result_);
    done_.quiet();
  }
  thread_.join();
  return result;
}

bool ComputingThread::is_busy() {
  const std::lock_guard lock(mutex_);
  return thread_.joinable() && !result_;
}

}  // namespace sm::daemon
