// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libdiag/fabric/generate.h"

namespace sm::daemon {
namespace {

using testing::HasSubstr;

ib::fabric::Fabric two_levels() { return ib::fabric::generate(ib::fabric::FatTree{4}).value(); }

TEST(DryRunReport, HasTheSlotsByTableAndNodeAfterTheSums) {
  core::Report report;
  report.differences = {{1, "SwitchInfo", ""},
                        {0, "PortInfo", "port 2"},
                        {1, "LinearForwardingTable", "block 0"},
                        {0, "LinearForwardingTable", "block 0"}};
  const auto fabric = two_levels();
  const DryRunReport dry = dry_run_report(report, fabric);
  EXPECT_EQ(dry.exit_status(), 1);
  const auto who = [&](ib::fabric::NodeIndex n) {
    return to_string(fabric.node(n).guid) + " \"" + fabric.node(n).description + '"';
  };
  EXPECT_EQ(dry_run_text(dry),
            "DRY RUN slots=4 nodes=2\n"
            "table: LinearForwardingTable slots=2 nodes=2\n"
            "table: PortInfo slots=1 nodes=1\n"
            "table: SwitchInfo slots=1 nodes=1\n"
            "differs: " +
                who(0) +
                " LinearForwardingTable block 0\n"
                "differs: " +
                who(1) +
                " LinearForwardingTable block 0\n"
                "differs: " +
                who(0) +
                " PortInfo port 2\n"
                "differs: " +
                who(1) + " SwitchInfo\n");
  const std::string json = dry_run_json(dry, "1");
  EXPECT_THAT(json, HasSubstr("\"schema\": \"ibkit.ibsm-dry-run/2\""));
  EXPECT_THAT(json, HasSubstr("\"slots\": 4"));
}

TEST(DryRunReport, WhatWasNotComparedIsSaidBeforeWhatDiffers) {
  core::Report report;
  EXPECT_EQ(dry_run_report(report, two_levels()).exit_status(), 0);
  report.unmanaged = 1;
  report.lines = {"unmanaged: one"};
  const DryRunReport dry = dry_run_report(report, two_levels());
  EXPECT_EQ(dry.exit_status(), 3);
  EXPECT_EQ(dry_run_text(dry), "DRY RUN slots=0 nodes=0\nunmanaged: one\n");
  EXPECT_THAT(dry_run_json(dry, "1"), HasSubstr("\"complete\": false"));
}

}  // namespace
}  // namespace sm::daemon
