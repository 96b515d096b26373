// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/computing_thread.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <future>

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
  EXPECT_FALSE(computing.is_busy());
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

std::promise<void>* let_go = nullptr;

ib::Result<ib::route::Routes> when_let_go(const ib::route::Request&) {
  let_go->get_future().wait();
  return ib::fail(ib::ErrorKind::NotFound, "no routes");
}

TEST(ComputingThread, IsBusyUntilTheResultIsThere) {
  std::promise<void> gate;
  let_go = &gate;
  const ib::route::EngineEntry slow{"slow", "waits", when_let_go};
  auto request = test::fresh_request("updn", 1000);
  request.engine = &slow;
  ComputingThread computing;
  computing.start(request);
  EXPECT_TRUE(computing.is_busy());
  gate.set_value();
  ASSERT_TRUE(readable(computing, -1));
  EXPECT_FALSE(computing.is_busy());
  EXPECT_EQ(computing.take_result()->refused, "no routes");
  EXPECT_FALSE(computing.is_busy());
}

TEST(ComputingThread, EndsWithAResultThatNobodyFetched) {
  ComputingThread computing;
  computing.start(test::fresh_request("updn", 1000));
}

}  // namespace
}  // namespace sm::daemon
