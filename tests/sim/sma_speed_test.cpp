// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Slow subnet management agents and short queues: how often a whole bring-up repeats itself.
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"

namespace {

using namespace std::chrono_literals;
using sm::test::SmOnModel;
using sm::test::unconfigured;

ib::fabric::Fabric six_leaves() {
  ib::fabric::FatTree t;
  t.radix = 12;
  t.leaves = 6;
  t.spines = 3;
  t.hosts_per_leaf = 6;
  return unconfigured(t);
}

TEST(SmaSpeed, OneMillisecondAndSixteenPlacesRepeatUnderOnePerCent) {
  ib::sim::ModelOptions options;
  options.faults.sma_service = 1ms;
  options.faults.sma_queue = 16;
  SmOnModel run(six_leaves(), options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.not_active().empty());
  const auto& mads = run.sm().mad_counters();
  EXPECT_GT(mads.sends, 500U);
  RecordProperty("mads", std::to_string(mads.sends));
  RecordProperty("retries", std::to_string(mads.retries));
  EXPECT_LT(100 * mads.retries, mads.sends) << mads.retries << " of " << mads.sends;
}

TEST(SmaSpeed, AHundredAndFiftyMillisecondsRepeatOnceForEachTarget) {
  ib::sim::ModelOptions options;
  options.faults.sma_service = 150ms;
  SmOnModel run(six_leaves(), options);
  ASSERT_TRUE(run.run_until_reports(1, 600s));
  EXPECT_TRUE(run.not_active().empty());
  const auto& mads = run.sm().mad_counters();
  EXPECT_GT(mads.sends, 500U);
  RecordProperty("mads", std::to_string(mads.sends));
  RecordProperty("retries", std::to_string(mads.retries));
  EXPECT_LE(mads.spurious_retries, run.model().topology().nodes().size());
  EXPECT_LE(mads.retries, run.model().topology().nodes().size());
}

}  // namespace
