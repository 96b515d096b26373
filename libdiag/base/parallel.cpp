// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace ib {
namespace parallel {
namespace {

// The loops there are take milliseconds: to wake more threads costs more than they bring.
constexpr std::size_t kWorkersMax = 32;

thread_local std::size_t worker_number = 0;
thread_local bool is_alone = false;  // in a loop already, or because it asked to be

class Loop {
 public:
  Loop(std::size_t count, std::size_t grain, Part part, const void* body)
      : count_(count), grain_(std::max<std::size_t>(grain, 1)), part_(part), body_(body) {}

  /// Large ranges first, so that there are few; small ones last, so that all end together.
  void work() {
    try {
      for (std::size_t first = next_; first < count_; first = next_) {
        const std::size_t left = count_ - first;
        const std::size_t size = std::min(left, std::max(grain_, left / (2 * worker_count())));
        if (next_.compare_exchange_weak(first, first + size)) part_(body_, first, first + size);
      }
    } catch (...) {
      next_ = count_;
      const std::lock_guard lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
    }
  }

  std::size_t helpers_max() const { return (count_ - 1) / grain_; }

  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  const std::size_t count_, grain_;
  const Part part_;
  const void* const body_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

/// What the helpers know of a loop. They may come when it is over, and in a child of fork(), which
/// has none of them, nobody comes.
class Invitation {
 public:
  explicit Invitation(Loop& loop) : loop_(&loop) {}

  void accept() {
    std::unique_lock lock(mutex_);
    if (loop_ == nullptr) return;
    ++inside_;
    lock.unlock();
    loop_->work();
    lock.lock();
    if (--inside_ == 0) left_.notify_one();
  }
  /// Returns when all who came have left. Nobody comes in any more once the last of them is gone.
  void withdraw() {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return inside_ == 0; });
    loop_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  Loop* loop_;
  std::size_t inside_{0};
};

/// That this process may use: hardware_concurrency() counts those it may not use as well.
std::size_t processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)  // more than 1024 in the machine
    return std::thread::hardware_concurrency();
  return static_cast<std::size_t>(CPU_COUNT(&allowed));
}

/// The helper threads; never destroyed, since other threads may be in a loop when the process ends.
/// None where the system has no more threads for us.
asio::thread_pool* helpers() {
  static asio::thread_pool* const pool = []() -> asio::thread_pool* {
    try {
      return new asio::thread_pool(worker_count() - 1);
    } catch (const std::system_error&) {
      return nullptr;
    }
  }();
  return pool;
}

void help(Invitation& invitation) {
  static std::atomic<std::size_t> started{0};
  if (worker_number == 0) worker_number = ++started;
  is_alone = true;
  invitation.accept();
}

/// False: the helpers are busy with another loop, or there are none.
bool share(Loop& loop) {
  static std::mutex callers;  // one loop at a time
  const std::unique_lock caller(callers, std::try_to_lock);
  asio::thread_pool* const pool = caller ? helpers() : nullptr;
  if (pool == nullptr) return false;
  const auto invitation = std::make_shared<Invitation>(loop);
  const std::size_t wanted = std::min(loop.helpers_max(), worker_count() - 1);
  for (std::size_t i = 0; i < wanted; ++i) asio::post(*pool, [invitation] { help(*invitation); });
  loop.work();
  invitation->withdraw();
  return true;
}

}  // namespace

std::size_t worker_count() {
  static const std::size_t count = std::clamp<std::size_t>(processors(), 1, kWorkersMax);
  return count;
}

std::size_t this_worker() { return worker_number; }

void share(std::size_t count, std::size_t grain, Part part, const void* body) {
  Loop loop(count, grain, part, body);
  if (is_alone || worker_count() == 1 || loop.helpers_max() == 0) return part(body, 0, count);
  {
    const SerialScope inner_loops;
    if (!share(loop)) loop.work();
  }
  loop.rethrow();
}

}  // namespace parallel

SerialScope::SerialScope() : before_(std::exchange(parallel::is_alone, true)) {}
SerialScope::~SerialScope() { parallel::is_alone = before_; }

}  // namespace ib
