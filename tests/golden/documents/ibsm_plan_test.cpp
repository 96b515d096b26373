// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm plan`, text and JSON.
#include <gtest/gtest.h>

#include <sstream>

#include "sm/daemon/plan_command.h"
#include "tests/golden/documents/golden.h"

namespace sm::daemon {
namespace {

std::string plan(bool json, int status, const std::string& topology = "topology/small.topo") {
  PlanCommand command;
  command.topology = ib::golden::path(topology);
  // The default is what suits the fabric, and may be another one day.
  command.choice.engines = {"minhop"};
  command.choice.no_fallback = true;
  command.json = json;
  command.version = "0";
  std::ostringstream out, complaints;
  EXPECT_EQ(run_plan_command(command, out, complaints), status) << complaints.str();
  return out.str();
}

TEST(IbsmPlanGolden, Json) { ib::golden::expect_same(plan(true, 0), "ibsm-plan.json"); }
TEST(IbsmPlanGolden, Text) { ib::golden::expect_same(plan(false, 0), "ibsm-plan.txt"); }

/// Two switches without a cable between them: findings, and status 1.
TEST(IbsmPlanGolden, JsonWithFindings) {
  ib::golden::expect_same(plan(true, 1, "documents/apart.topo"), "ibsm-plan-findings.json");
}

}  // namespace
}  // namespace sm::daemon
