// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Turns at an end of a port: one at a time whoever comes, without a lock for who comes alone, and
// nobody waits for the dead.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

#include "tools/ibfabric/turns.h"

namespace {

using ibfabric::Turn;
using ibfabric::Turns;

/// More than make an owner at first.
constexpr int kMany = 100;

class TurnsTest : public testing::Test {
 protected:
  struct Shared {
    Turns turns;
    std::uint64_t count;           // changed in a turn
    std::atomic<int> told, asked;  // between processes
  };
  void SetUp() override {
    void* at =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    shared = new (at) Shared();
    shared->turns.set_up();
  }
  void TearDown() override { munmap(shared, sizeof *shared); }

  void take_turns(int times) const {
    for (int i = 0; i < times; ++i) {
      const Turn turn(shared->turns);
      EXPECT_FALSE(turn.follows_death());
      ++shared->count;
    }
  }
  bool is_owned() const { return shared->turns.owner != Turns::kNobody; }
  bool is_mine() const { return shared->turns.owner == ibfabric::own_mark(); }

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

TEST_F(TurnsTest, WhoComesAloneBecomesTheOwner) {
  EXPECT_FALSE(is_owned());
  take_turns(kMany);
  EXPECT_TRUE(is_mine());
  EXPECT_EQ(shared->turns.in_turn, 0U);
}

TEST_F(TurnsTest, AnotherThreadEndsTheOwnershipAndMayBecomeTheOwner) {
  take_turns(kMany);
  const auto before = shared->turns.row_wanted;
  std::thread([&] {
    take_turns(1);
    EXPECT_FALSE(is_owned());
    take_turns(kMany);
    EXPECT_TRUE(is_mine());
  }).join();
  EXPECT_FALSE(is_mine());
  EXPECT_GT(shared->turns.row_wanted, before) << "it is not worth as much as was thought";
  take_turns(1);
}

TEST_F(TurnsTest, ThreadsHaveOneTurnAtATime) {
  constexpr int kThreads = 3, kRounds = 200, kBurst = 40;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        take_turns(kBurst);  // mostly undisturbed, so that owners come and go
        std::this_thread::yield();
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(shared->count, std::uint64_t{kThreads} * kRounds * kBurst);
}

TEST_F(TurnsTest, ProcessesHaveOneTurnAtATime) {
  constexpr int kRounds = 200, kBurst = 40;
  take_turns(kMany);  // the parent is the owner; its child has the same thread at the same place
  const auto many = [&] {
    for (int i = 0; i < kRounds; ++i) {
      take_turns(kBurst);
      std::this_thread::yield();
    }
  };
  const pid_t one = child(many), other = child(many);
  many();
  wait_for(one);
  wait_for(other);
  EXPECT_EQ(shared->count, kMany + std::uint64_t{3} * kRounds * kBurst);
}

TEST_F(TurnsTest, AChildIsNotItsParent) {
  take_turns(kMany);
  wait_for(child([&] {
    EXPECT_FALSE(is_mine());
    take_turns(1);
    EXPECT_FALSE(is_owned());
    take_turns(kMany);
    EXPECT_TRUE(is_mine());
  }));
  take_turns(kMany);
}

TEST_F(TurnsTest, WhoComesWaitsUntilTheOwnerIsOutOfItsTurn) {
  const pid_t owner = child([&] {
    take_turns(kMany);
    const Turn turn(shared->turns);
    EXPECT_TRUE(is_mine());
    shared->told = 1;
    while (shared->asked == 0 || is_owned()) std::this_thread::yield();
    shared->count = 77;  // nobody else may have changed it
  });
  while (shared->told == 0) std::this_thread::yield();
  shared->asked = 1;
  {
    const Turn turn(shared->turns);
    EXPECT_FALSE(turn.follows_death());
    EXPECT_EQ(shared->count, 77U);
  }
  wait_for(owner);
}

TEST_F(TurnsTest, AnOwnerThatDiedBetweenTurnsIsNotWaitedFor) {
  wait_for(child([&] { take_turns(kMany); }));
  EXPECT_TRUE(is_owned());
  take_turns(kMany);
  EXPECT_TRUE(is_mine());
}

/// Dead with nobody having waited for it yet, too.
TEST_F(TurnsTest, AnOwnerThatDiedInItsTurnIsNoticed) {
  for (const bool waited_for : {true, false}) {
    const pid_t owner = child([&] {
      take_turns(kMany);
      new Turn(shared->turns);
      EXPECT_TRUE(is_mine());
    });
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(owner), &info, WEXITED | WNOWAIT), 0);
    if (waited_for) wait_for(owner);
    {
      const Turn turn(shared->turns);
      EXPECT_TRUE(turn.follows_death());
    }
    take_turns(kMany);
    if (!waited_for) wait_for(owner);
  }
}

TEST_F(TurnsTest, WhoDiedWithTheLockIsNoticed) {
  wait_for(child([&] { new Turn(shared->turns); }));
  {
    const Turn turn(shared->turns);
    EXPECT_TRUE(turn.follows_death());
  }
  take_turns(kMany);
}

/// As if it had ended an ownership and died before the owner was out of its turn.
TEST_F(TurnsTest, WhoDiedWaitingForTheOwnerLeavesTheWaitToTheNext) {
  const pid_t owner = child([&] {
    take_turns(kMany);
    const Turn turn(shared->turns);
    shared->told = 1;
    while (shared->asked == 0) std::this_thread::yield();
    shared->count = 78;
  });
  while (shared->told == 0) std::this_thread::yield();
  wait_for(child([&] {
    pthread_mutex_lock(&shared->turns.lock);
    shared->turns.owner = Turns::kNobody;
  }));
  std::thread later([&] { shared->asked = 1; });
  {
    const Turn turn(shared->turns);
    EXPECT_TRUE(turn.follows_death());
    EXPECT_EQ(shared->count, 78U);
  }
  later.join();
  wait_for(owner);
}

}  // namespace
