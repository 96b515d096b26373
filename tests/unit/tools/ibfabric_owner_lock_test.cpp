// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The lock at an end of a port: one holder at a time, of threads and of processes, and nobody waits
// for the dead.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <new>
#include <thread>
#include <vector>

#include "tools/ibfabric/owner_lock.h"

namespace {

using ibfabric::OwnerLock;
using ibfabric::OwnerLockGuard;

constexpr int kMany = 8000;

class OwnerLockTest : public testing::Test {
 protected:
  struct Shared {
    OwnerLock lock;
    std::uint64_t count;  // changed by the holder
  };
  void SetUp() override {
    void* at =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    shared = new (at) Shared();
    shared->lock.set_up();
  }
  void TearDown() override { munmap(shared, sizeof *shared); }

  void count_up(int times) const {
    for (int i = 0; i < times; ++i) {
      const OwnerLockGuard guard(shared->lock);
      EXPECT_FALSE(guard.follows_death());
      ++shared->count;
    }
  }

  template <class Function>
  static pid_t child(Function work) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    work();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  static void wait_for(pid_t pid) {
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }

  Shared* shared{};
};

TEST_F(OwnerLockTest, OneThreadHoldsItAtATime) {
  constexpr int kThreads = 3;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&] { count_up(kMany); });
  for (auto& t : threads) t.join();
  EXPECT_EQ(shared->count, std::uint64_t{kThreads} * kMany);
}

TEST_F(OwnerLockTest, OneProcessHoldsItAtATime) {
  const pid_t one = child([&] { count_up(kMany); }), other = child([&] { count_up(kMany); });
  count_up(kMany);
  wait_for(one);
  wait_for(other);
  EXPECT_EQ(shared->count, std::uint64_t{3} * kMany);
}

/// Dead with nobody having waited for it yet, too.
TEST_F(OwnerLockTest, AProcessThatDiedWithItIsNoticedOnce) {
  for (const bool waited_for : {true, false}) {
    const pid_t holder = child([&] { new OwnerLockGuard(shared->lock); });
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(holder), &info, WEXITED | WNOWAIT), 0);
    if (waited_for) wait_for(holder);
    {
      const OwnerLockGuard guard(shared->lock);
      EXPECT_TRUE(guard.follows_death());
    }
    count_up(1);
    if (!waited_for) wait_for(holder);
  }
}

TEST_F(OwnerLockTest, AThreadThatEndedWithItIsNoticed) {
  alignas(OwnerLockGuard) static std::array<std::byte, sizeof(OwnerLockGuard)> never_released;
  std::thread([&] { new (never_released.data()) OwnerLockGuard(shared->lock); }).join();
  {
    const OwnerLockGuard guard(shared->lock);
    EXPECT_TRUE(guard.follows_death());
  }
  count_up(1);
}

TEST_F(OwnerLockTest, AProcessThatDiedWithoutItIsNotWaitedFor) {
  wait_for(child([&] { count_up(kMany); }));
  count_up(kMany);
}

}  // namespace
