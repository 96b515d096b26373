// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/end_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace sm::daemon {
namespace {

/// A signal that waits is a bell that rings.
class EndWatchTest : public ::testing::Test {
 protected:
  Wake signal;
  std::promise<void> ended;
  std::atomic<int> ends{0};

  auto end() {
    return [this] {
      ++ends;
      ended.set_value();
    };
  }
};

TEST_F(EndWatchTest, EndsWhileTheMainThreadIsInAStep) {
  EndWatch watch(signal.fd(), std::chrono::milliseconds(0), end());
  {
    const EndWatch::Step step(watch);
    signal.ring();
    ended.get_future().wait();
  }
  EXPECT_EQ(ends, 1);
}

TEST_F(EndWatchTest, EndsInAStepThatBeginsLater) {
  EndWatch watch(signal.fd(), std::chrono::milliseconds(0), end());
  signal.ring();
  const EndWatch::Step step(watch);
  ended.get_future().wait();
  EXPECT_EQ(ends, 1);
}

TEST_F(EndWatchTest, LeavesASignalToTheMainThreadOutsideOfItsSteps) {
  {
    EndWatch watch(signal.fd(), std::chrono::milliseconds(0), end());
    for (int turn = 0; turn < 1000; ++turn) {
      signal.ring();
      signal.quiet();  // taken
      const EndWatch::Step step(watch);
    }
    signal.ring();
  }
  EXPECT_EQ(ends, 0) << "nor when the main thread ends with one that it has not taken";
}

TEST_F(EndWatchTest, EndsWithoutASignal) {
  EndWatch watch(signal.fd(), std::chrono::hours(1), end());
  const EndWatch::Step step(watch);
}

}  // namespace
}  // namespace sm::daemon
