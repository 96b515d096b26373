// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/computing_thread.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/unit/sm/fresh_request.h"

namespace sm::daemon {
namespace {

bool readable(const ComputingThread& computing, int ms) {
  pollfd fd{computing.readable_fd(), POLLIN, 0};
  return poll(&fd, 1, ms) == 1;
}

TEST(ComputingThread, IsReadableWhenTheResultIsThereAndComputesOneAfterTheOther) {
  ComputingThread computing;
  EXPECT_FALSE(readable(computing, 0));
  EXPECT_FALSE(computing.take_result());
  for (const char* engine : {"updn", "dnup", "ftree"}) {
    const auto request = test::fresh_request(engine, 1000);
    computing.start(request);
    ASSERT_TRUE(readable(computing, -1));
    const auto result = computing.take_result();
    ASSERT_TRUE(result);
    const auto same = plan::compute_afresh(request);
    EXPECT_EQ(result->load, same.load);
    EXPECT_EQ(result->refused, same.refused);
    ASSERT_EQ(result->routing != nullptr, same.routing != nullptr);
    if (same.routing) {
      EXPECT_EQ(result->routing->lfts, same.routing->lfts);
    }
    EXPECT_FALSE(readable(computing, 0));
  }
}

TEST(ComputingThread, EndsWithAResultThatNobodyFetched) {
  ComputingThread computing;
  computing.start(test::fresh_request("updn", 1000));
}

}  // namespace
}  // namespace sm::daemon
