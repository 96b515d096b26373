// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// perfmgr and pm.
#include <gmock/gmock.h>

#include "tests/unit/sm/console/view.h"

namespace sm::console::test {
namespace {

using control::Request;
using managers::performance::PerformanceManager;
using testing::HasSubstr;
using testing::StartsWith;

struct ConsoleCounters : testing::Test {
  ConsoleCounters() { view.performance = &manager; }
  PerformanceManager manager{managers::performance::Options{}};
  View view = view_of(sa::test::snapshot_of(small_tree()));
};

TEST_F(ConsoleCounters, TheStateOfTheManager) {
  EXPECT_EQ(said(view, "perfmgr").text,
            "Performance Manager status:\n"
            "state                        : Enabled\n"
            "sweep state                  : Sleeping\n"
            "sweep time                   : 180s\n"
            "outstanding queries/max      : 0/500\n"
            "remove missing nodes from DB : TRUE\n"
            "query ClassPortInfo          : TRUE\n");
  manager.set_enabled(ib::Instant{0}, false);
  manager.set_sweep_time(ib::Instant{0}, std::chrono::seconds(30));
  manager.set_forget_gone_nodes(false);
  manager.set_ask_capabilities(false);
  const auto text = said(view, "pm").text;
  for (const char* line : {"state                        : Disabled\n", ": 30s\n", "DB : FALSE\n",
                           "ClassPortInfo          : FALSE\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(said(view, "status").text,
              HasSubstr("   PerfMgr state/sweep state : Disabled/Sleeping\n"));
}

TEST_F(ConsoleCounters, WhatItIsToBeIsOrdered) {
  EXPECT_EQ(ordered<SetCounters>(view, "pm enable").is_enabled, true);
  EXPECT_EQ(ordered<SetCounters>(view, "pm disable").is_enabled, false);
  EXPECT_EQ(ordered<SetCounters>(view, "pm set_rm_nodes").forget_gone_nodes, true);
  EXPECT_EQ(ordered<SetCounters>(view, "pm clear_rm_nodes").forget_gone_nodes, false);
  EXPECT_EQ(ordered<SetCounters>(view, "pm set_query_cpi").ask_capabilities, true);
  EXPECT_EQ(ordered<SetCounters>(view, "pm clear_query_cpi").ask_capabilities, false);
  EXPECT_EQ(ordered<SetCounters>(view, "perfmgr sweep_time 30").sweep_time_s, 30);
  for (const char* line : {"pm sweep_time", "pm sweep_time 0", "pm sweep_time 65536"})
    EXPECT_THAT(said(view, line).text, StartsWith("sweep_time requires a time period")) << line;
  EXPECT_EQ(said(view, "pm clear_inactive").text, "Removed 0 nodes from Database\n");
  ordered<ForgetGoneNodes>(view, "pm clear_inactive");
  EXPECT_EQ(ordered<ForgetRedirections>(view, "pm clear_redir host0001 HCA-1").node,
            "host0001 HCA-1");
}

TEST_F(ConsoleCounters, WhatTheControlSocketDoesTooIsAskedThere) {
  EXPECT_EQ(ordered<Request>(view, "pm sweep"), (Request{"counters", {"sweep"}, {}}));
  EXPECT_EQ(ordered<Request>(view, "pm clear_counters"), (Request{"counters", {"clear"}, {}}));
  EXPECT_EQ(ordered<Request>(view, "pm dump_counters"), (Request{"counters", {"dump"}, {}}));
  EXPECT_EQ(ordered<Request>(view, "pm dump_counters mach"),
            (Request{"counters", {"dump", "mach"}, {}}));
  EXPECT_EQ(ordered<Request>(view, "pm pc"), (Request{"counters", {"list"}, {}}));
  EXPECT_EQ(ordered<Request>(view, "pm print_counters host0001 HCA-1"),
            (Request{"counters", {"list", "host0001 HCA-1"}, {}}));
  EXPECT_EQ(ordered<Request>(view, "pm pc leaf-001:5"),
            (Request{"counters", {"list", "leaf-001", "5"}, {}}));
  auto named = small_tree();
  named.node(0).description = "MF0;switch:MSX6036/U1";
  view.snapshot = sa::test::snapshot_of(named);
  EXPECT_EQ(ordered<Request>(view, "pm pc MF0;switch:MSX6036/U1"),
            (Request{"counters", {"list", "MF0;switch:MSX6036/U1"}, {}}));
  EXPECT_EQ(ordered<Request>(view, "pm pc MF0;switch:MSX6036/U1:5"),
            (Request{"counters", {"list", "MF0;switch:MSX6036/U1", "5"}, {}}));
  EXPECT_EQ(ordered<Request>(view, "pm pe"), (Request{"counters", {"list"}, {{"errors", "TRUE"}}}));
  EXPECT_EQ(ordered<Request>(view, "pm print_errors host0001 HCA-1"),
            (Request{"counters", {"list", "host0001 HCA-1"}, {{"errors", "TRUE"}}}));
}

TEST_F(ConsoleCounters, ANodeThatNobodyKnowsIsSaid) {
  for (const char* line :
       {"pm pc NOBODY", "pm pe NOBODY", "pm print_errors NOBODY", "pm pc NOBODY:3"}) {
    const auto outcome = said(view, line);
    EXPECT_EQ(outcome.text, "Node NOBODY not found...\n") << line;
    EXPECT_EQ(outcome.status, ib::cli::kExitFound) << line;
    EXPECT_FALSE(outcome.order) << line;
  }
  EXPECT_EQ(said(view, "pm pc 0xDEAD").text, "Node 0xdead not found...\n");
}

TEST_F(ConsoleCounters, Redirections) {
  EXPECT_EQ(said(view, "pm dump_redir").text, "\nRedirection Table\n-----------------\n");
  const auto unknown = said(view, "pm dump_redir nobody");
  EXPECT_THAT(unknown.text, HasSubstr("Node nobody not found...\n"));
  EXPECT_EQ(unknown.status, ib::cli::kExitFound);
  EXPECT_EQ(said(view, "pm clear_redir nobody").text, "Node nobody not found...\n");
}

TEST_F(ConsoleCounters, WhatItCannotDo) {
  const auto unknown = said(view, "pm nonsense");
  EXPECT_EQ(unknown.status, ib::cli::kExitUsage);
  EXPECT_EQ(unknown.text, "\"nonsense\" option not found\n");
  view.performance = nullptr;
  EXPECT_THAT(said(view, "pm").text, HasSubstr("state                        : Disabled\n"));
  const auto none = said(view, "pm enable");
  EXPECT_THAT(none.text, HasSubstr("start ibsm with --perfmgr"));
  EXPECT_EQ(none.status, ib::cli::kExitCannotRun);
  EXPECT_FALSE(none.order);
}

}  // namespace
}  // namespace sm::console::test
