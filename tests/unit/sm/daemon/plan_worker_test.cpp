// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/plan_worker.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace sm::daemon {
namespace {

core::PlanJob job(std::uint64_t generation) {
  core::PlanJob job;
  job.generation = generation;
  job.request.observed = std::make_shared<ib::discover::Observed>();
  return job;
}

core::PlanResult wait_for(PlanWorker& worker) {
  while (true) {
    pollfd fd{worker.readable_fd(), POLLIN, 0};
    poll(&fd, 1, -1);
    if (auto result = worker.take()) return *std::move(result);
  }
}

TEST(PlanWorker, MakesOnePlanAfterTheOther) {
  PlanWorker worker;
  EXPECT_FALSE(worker.take());
  for (const std::uint64_t generation : {7U, 8U}) {
    worker.post(job(generation));
    const core::PlanResult result = wait_for(worker);
    EXPECT_EQ(result.generation, generation);
    ASSERT_FALSE(result.planned.desired);
    EXPECT_EQ(result.planned.desired.error().message, "the local port does not answer");
  }
}

TEST(PlanWorker, AResultThatNobodyTakesIsNoReasonToLeaveTheThreadAlone) {
  {
    PlanWorker worker;
    worker.post(job(1));
    pollfd fd{worker.readable_fd(), POLLIN, 0};
    poll(&fd, 1, -1);
  }
  EXPECT_FALSE(PlanWorker::abandoned());
}

TEST(PlanWorker, EndsWithoutWork) {
  const PlanWorker worker;
  EXPECT_FALSE(PlanWorker::abandoned());
}

}  // namespace
}  // namespace sm::daemon
