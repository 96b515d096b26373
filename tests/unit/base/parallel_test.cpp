// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ib {
namespace {

using testing::Each;

TEST(ParallelFor, CallsTheBodyOnceForEveryIndex) {
  for (const std::size_t count : {0UL, 1UL, 2UL, 3UL, 7UL, 64UL, 1000UL}) {
    for (const std::size_t grain : {0UL, 1UL, 8UL, 2000UL}) {
      std::vector<int> calls(count, 0);
      parallel_for(
          std::size_t{0}, count, [&](std::size_t i) { ++calls[i]; }, grain);
      EXPECT_THAT(calls, Each(1)) << count << " by " << grain;
    }
  }
}

TEST(ParallelFor, KeepsTheIndexesType) {
  std::vector<int> calls(300, 0);
  parallel_for(std::uint16_t{5}, std::uint16_t{300}, [&](std::uint16_t i) { ++calls[i]; });
  EXPECT_EQ(std::accumulate(calls.begin(), calls.end(), 0), 295);
  EXPECT_EQ(calls[4], 0);
  EXPECT_EQ(calls[5], 1);
  parallel_for(9U, 3U, [](unsigned) { FAIL() << "an empty range"; });
}

TEST(ParallelFor, UsesAllItsThreadsAtOnce) {
  const std::size_t workers = parallel::worker_count();
  std::latch together(static_cast<std::ptrdiff_t>(workers));  // no thread gets past it alone
  std::vector<int> seen(workers, 0);
  parallel_for(std::size_t{0}, workers, [&](std::size_t) {
    together.arrive_and_wait();
    ++seen[parallel::this_worker()];
  });
  EXPECT_THAT(seen, Each(1));
}

TEST(ParallelFor, MayBeNested) {
  std::vector<std::vector<int>> calls(50, std::vector<int>(50, 0));
  parallel_for(std::size_t{0}, calls.size(), [&](std::size_t i) {
    const auto outer = std::this_thread::get_id();
    parallel_for(std::size_t{0}, calls[i].size(),
                 [&](std::size_t j) { calls[i][j] += std::this_thread::get_id() == outer; });
  });
  for (const auto& row : calls) EXPECT_THAT(row, Each(1));
}

TEST(ParallelFor, SeveralThreadsMayHaveOneEach) {
  std::atomic<std::size_t> sum{0};
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        std::vector<std::size_t> squares(100);
        parallel_for(std::size_t{0}, squares.size(), [&](std::size_t i) { squares[i] = i * i; });
        sum += std::accumulate(squares.begin(), squares.end(), std::size_t{0});
      }
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(sum, 4U * 50U * 328'350U);
}

TEST(ParallelFor, ThrowsWhatABodyThrows) {
  for (const std::size_t bad : {0UL, 17UL, 99UL}) {
    const auto loop = [&] {
      parallel_for(std::size_t{0}, std::size_t{100}, [&](std::size_t i) {
        if (i == bad) throw std::out_of_range("at " + std::to_string(i));
      });
    };
    EXPECT_THROW(loop(), std::out_of_range);
  }
  std::atomic<int> calls{0};
  parallel_for(0U, 10U, [&](unsigned) { ++calls; });
  EXPECT_EQ(calls, 10) << "the helpers work on";
}

TEST(ParallelFor, AloneHasNoHelpers) {
  const SerialScope alone;
  const auto here = std::this_thread::get_id();
  std::vector<std::thread::id> threads(100);
  parallel_for(std::size_t{0}, threads.size(),
               [&](std::size_t i) { threads[i] = std::this_thread::get_id(); });
  EXPECT_THAT(threads, Each(here));
}

TEST(ParallelFor, AChildThatHasNoHelpersDoesItAlone) {
  std::atomic<int> calls{0};
  parallel_for(0U, 10U, [&](unsigned) { ++calls; });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    parallel_for(0U, 10U, [&](unsigned) { ++calls; });
    _exit(calls == 20 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ParallelForDeathTest, HasNoMoreThreadsThanTheProcessorsItMayUse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not counted them yet
  const auto on_one_processor = [] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) std::_Exit(2);
    std::_Exit(parallel::worker_count() == 1 ? 0 : 1);
  };
  EXPECT_EXIT(on_one_processor(), testing::ExitedWithCode(0), "");
}

TEST(PerWorker, IsOneForEachThreadThatAsked) {
  std::atomic<std::size_t> made{0};
  PerWorker<std::size_t> sums([&] {
    ++made;
    return std::size_t{0};
  });
  parallel_for(std::size_t{0}, std::size_t{1000}, [&](std::size_t i) { sums.local() += i; });
  std::size_t visited = 0, total = 0;
  sums.each([&](std::size_t sum) { ++visited, total += sum; });
  EXPECT_EQ(total, 499'500U);
  EXPECT_EQ(visited, made);
  EXPECT_LE(made, parallel::worker_count());
}

}  // namespace
}  // namespace ib
