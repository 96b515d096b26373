// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace ib {
namespace parallel {
namespace {

// The loops there are take milliseconds: to wake more threads costs more than they bring.
constexpr std::size_t kWorkersMax = 32;
// Loops come in quick succession, and to wake a thread takes longer than some of them last. So
// whoever waits first looks this often, some tens of microseconds, while others may have the
// processor, and only then sleeps.
constexpr int kLooks = 100;

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

/// The helper threads. They are detached and the pool is never destroyed: at the end of the process
/// they are asleep, and a child of fork(), which has none of them, does its loops alone.
class Helpers {
 public:
  /// False: they are busy.
  bool share(Loop& loop) {
    const std::unique_lock caller(callers_, std::try_to_lock);
    if (!caller) return false;
    const std::size_t wanted = std::min(loop.helpers_max(), worker_count() - 1);
    {
      const std::lock_guard lock(mutex_);
      while (started_ < wanted && !refused_) start();
      loop_ = &loop;
      ++round_;
    }
    for (std::size_t i = 0; i < wanted; ++i) wake_.notify_one();
    loop.work();
    {
      const std::lock_guard lock(mutex_);
      loop_ = nullptr;
    }
    look([&] { return inside_ == 0; });
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return inside_ == 0; });
    return true;
  }

 private:
  template <typename Condition>
  static void look(Condition condition) {
    for (int i = 0; i < kLooks && !condition(); ++i) std::this_thread::yield();
  }

  void start() {
    try {
      std::thread([this, number = started_ + 1] { help(number); }).detach();
      ++started_;
    } catch (const std::system_error&) {
      refused_ = true;  // the system has no more threads for us: those there are do it
    }
  }

  [[noreturn]] void help(std::size_t number) {
    worker_number = number;
    is_alone = true;
    for (std::uint64_t seen = 0;;) {
      look([&] { return round_ != seen; });
      Loop* loop = nullptr;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return round_ != seen; });
        seen = round_;
        loop = loop_;
        if (loop == nullptr) continue;  // over before this thread was awake
        ++inside_;
      }
      loop->work();
      if (--inside_ != 0) continue;
      const std::lock_guard lock(mutex_);  // not between the caller's look and its sleep
      left_.notify_one();
    }
  }

  std::mutex callers_;  // one loop at a time
  std::mutex mutex_;
  std::condition_variable wake_, left_;
  Loop* loop_{nullptr};
  std::size_t started_{0};
  bool refused_{false};
  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::size_t> inside_{0};
};

}  // namespace

std::size_t worker_count() {
  // By the processors that this process may use.
  static const std::size_t count =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kWorkersMax);
  return count;
}

std::size_t this_worker() { return worker_number; }

void share(std::size_t count, std::size_t grain, Part part, const void* body) {
  Loop loop(count, grain, part, body);
  if (is_alone || worker_count() == 1 || loop.helpers_max() == 0) return part(body, 0, count);
  static Helpers& helpers = *new Helpers;
  {
    const Alone inner_loops;
    if (!helpers.share(loop)) loop.work();
  }
  loop.rethrow();
}

}  // namespace parallel

Alone::Alone() : before_(std::exchange(parallel::is_alone, true)) {}
Alone::~Alone() { parallel::is_alone = before_; }

}  // namespace ib
