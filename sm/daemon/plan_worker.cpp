// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/plan_worker.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "libdiag/base/invariant.h"
#include "sm/daemon/wake.h"

namespace sm::daemon {
namespace {

std::atomic<unsigned> abandoned_threads{0};

}  // namespace

struct PlanWorker::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<core::PlanJob> job;
  std::optional<core::PlanResult> result;
  bool working{false};
  bool ending{false};
  Wake done;
};

PlanWorker::PlanWorker()
    : shared_(std::make_shared<Shared>()), thread_([shared = shared_] { run(shared); }) {}

PlanWorker::~PlanWorker() {
  bool left_alone = false;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
    // What is not begun, or done, needs nobody.
    left_alone = shared_->working && !shared_->job && !shared_->result;
    if (left_alone) ++abandoned_threads;
  }
  shared_->changed.notify_one();
  if (left_alone)
    thread_.detach();
  else
    thread_.join();
}

void PlanWorker::post(core::PlanJob job) {
  {
    const std::lock_guard lock(shared_->mutex);
    ib::invariant(!shared_->working, "two plans were to be made at once");
    shared_->job = std::move(job);
    shared_->working = true;
  }
  shared_->changed.notify_one();
}

int PlanWorker::readable_fd() const { return shared_->done.fd(); }

std::optional<core::PlanResult> PlanWorker::take() {
  shared_->done.quiet();
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->result) return std::nullopt;
  shared_->working = false;
  return std::exchange(shared_->result, std::nullopt);
}

bool PlanWorker::abandoned() { return abandoned_threads != 0; }

void PlanWorker::run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->ending || shared->job; });
    if (shared->ending) return;
    core::PlanJob job = *std::exchange(shared->job, std::nullopt);
    lock.unlock();
    core::PlanResult result = std::move(job).run();
    lock.lock();
    if (shared->ending) {
      --abandoned_threads;
      return;
    }
    shared->result = std::move(result);
    shared->done.ring();
  }
}

}  // namespace sm::daemon
