// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/verdict.h"

#include <gtest/gtest.h>

namespace ib::report {
namespace {

TEST(RoutesVerdict, NamesLoopsByPathsToSwitches) {
  tables::Verdict verdict;
  verdict.pairs = 1;
  EXPECT_EQ(routes_verdict(verdict), "routes are verified");
  verdict.switch_turns_refused = 3;
  EXPECT_EQ(routes_verdict(verdict),
            "paths to or from LIDs of switches can deadlock (3 dependencies)");
  verdict.credit_loop_channels = 14;
  EXPECT_EQ(routes_verdict(verdict),
            "routes can deadlock (14 channels), paths to or from LIDs of switches can deadlock "
            "(3 dependencies)");
}

}  // namespace
}  // namespace ib::report
