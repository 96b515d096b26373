// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Loops that all processors share: parallel_for(), with what each thread keeps for itself in a
// PerWorker. The helper threads (an asio::thread_pool, behind the .cpp) start with the first loop
// that wants them.
// Who does what is left to chance, so what a body leaves behind may depend on its index only.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace ib {

namespace parallel {

using Part = void (*)(const void* loop, std::size_t first, std::size_t last);
/// Calls part(loop, first, last) for ranges that make up [0, count) together.
void share(std::size_t count, std::size_t grain, Part part, const void* loop);
/// How many threads may work on one loop: the caller's and its helpers.
std::size_t worker_count();
/// Which of them this thread is; 0 is the caller's.
std::size_t this_worker();

}  // namespace parallel

/// Calls body(i) once for each i in [begin, end), on this thread and its helpers, `grain` or more
/// in a row on the same one. The first exception of a body ends the loop and is thrown here. A loop
/// within a loop stays on its thread, and so does one that finds the helpers busy with another.
template <std::unsigned_integral Index, typename Body>
void parallel_for(Index begin, Index end, const Body& body, std::size_t grain = 1) {
  if (begin >= end) return;
  const auto loop = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) body(static_cast<Index>(begin + i));
  };
  using Loop = decltype(loop);
  parallel::share(
      static_cast<std::size_t>(end - begin), grain,
      [](const void* it, std::size_t first, std::size_t last) {
        (*static_cast<const Loop*>(it))(first, last);
      },
      &loop);
}

/// One T for each thread that takes part in a loop, made when that thread first asks.
template <typename T>
class PerWorker {
 public:
  explicit PerWorker(std::function<T()> make)
      : make_(std::move(make)), slots_(parallel::worker_count()) {}

  T& local() {
    auto& slot = slots_[parallel::this_worker()].value;
    if (!slot) slot.emplace(make_());
    return *slot;
  }
  /// After the loop: visit(T&) for those that were made.
  template <typename Visit>
  void each(Visit visit) {
    for (auto& slot : slots_)
      if (slot.value) visit(*slot.value);
  }

 private:
  struct alignas(64) Slot {  // not two in one cache line
    std::optional<T> value;
  };
  std::function<T()> make_;
  std::vector<Slot> slots_;
};

/// While it lives, the loops of this thread have no helpers.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  bool before_;
};

}  // namespace ib
