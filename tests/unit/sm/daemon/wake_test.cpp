// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/wake.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace sm::daemon {
namespace {

bool readable(const Wake& wake) {
  pollfd fd{wake.fd(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

TEST(Wake, IsReadableFromRingToQuiet) {
  Wake wake;
  EXPECT_FALSE(readable(wake));
  wake.quiet();
  EXPECT_FALSE(readable(wake));
  wake.ring();
  wake.ring();
  EXPECT_TRUE(readable(wake));
  wake.quiet();
  EXPECT_FALSE(readable(wake));
  wake.ring();
  EXPECT_TRUE(readable(wake));
}

TEST(Wake, NothingIsSleptThrough) {
  Wake wake;
  std::atomic<int> posted{0};
  constexpr int kLetters = 20'000;
  std::thread ringer([&] {
    for (int i = 0; i < kLetters; ++i) {
      ++posted;
      wake.ring();
    }
  });
  int seen = 0;
  while (seen < kLetters) {
    pollfd fd{wake.fd(), POLLIN, 0};
    const int ready = poll(&fd, 1, 10'000);
    EXPECT_EQ(ready, 1) << "asleep with " << posted << " posted and " << seen << " seen";
    if (ready != 1) break;
    wake.quiet();
    seen = posted;
  }
  ringer.join();
  wake.quiet();
  EXPECT_FALSE(readable(wake));
}

}  // namespace
}  // namespace sm::daemon
