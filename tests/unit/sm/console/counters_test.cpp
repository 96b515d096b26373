// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// perfmgr and pm.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <tuple>

#include "tests/unit/sm/console/view.h"

namespace sm::console::test {
namespace {

using control::Request;
using managers::performance::PerformanceManager;
using managers::performance::StoredWindow;
using testing::HasSubstr;
using testing::StartsWith;

struct ConsoleCounters : testing::Test {
  ConsoleCounters() { view.performance = &manager; }
  /// Port 5 of leaf-001 counted errors, port 1 of host0001 none, and of a node that is gone too.
  void count() {
    const auto& fabric = view.snapshot->fabric();
    std::vector<StoredWindow> windows(3);
    windows[0].port = {fabric.node(node_named(fabric, "leaf-001")).guid, std::uint8_t{5}};
    windows[0].state.totals[0] = 7;
    windows[1].port = {fabric.node(node_named(fabric, "host0001 HCA-1")).guid, std::uint8_t{1}};
    windows[2].port = {ib::Guid{0xABC}, std::uint8_t{3}};
    manager.resume(ib::Instant{0}, windows);
  }
  /// What a listing asks the control socket for.
  Request listed(std::string_view line) { return ordered<AskVerb>(view, line).request; }
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
  for (const auto& [line, request, words] :
       {std::tuple{"pm sweep", Request{"counters", {"sweep"}, {}}, "sweep initiated...\n"},
        {"pm clear_counters", {"counters", {"clear"}, {}}, ""},
        {"pm dump_counters", {"counters", {"dump"}, {}}, ""},
        {"pm dump_counters mach", {"counters", {"dump", "mach"}, {}}, ""}}) {
    EXPECT_EQ(ordered<AskVerb>(view, line).request, request);
    EXPECT_EQ(ordered<AskVerb>(view, line).said, words) << "as opensm's console says it";
  }
  count();
  EXPECT_EQ(listed("pm pc"), (Request{"counters", {"list"}, {}}));
  EXPECT_EQ(listed("pm print_counters leaf-001"), (Request{"counters", {"list", "leaf-001"}, {}}));
  EXPECT_EQ(listed("pm pc leaf-001:5"), (Request{"counters", {"list", "leaf-001", "5"}, {}}));
  EXPECT_EQ(listed("pm pc 0xabc:3"), (Request{"counters", {"list", "0xabc", "3"}, {}}));
  EXPECT_EQ(listed("pm pe"), (Request{"counters", {"list"}, {{"errors", "TRUE"}}}));
  EXPECT_EQ(listed("pm print_errors leaf-001"),
            (Request{"counters", {"list", "leaf-001"}, {{"errors", "TRUE"}}}));
}

TEST_F(ConsoleCounters, WhereNothingIsCountedNothingIsSaid) {
  for (const char* line : {"pm pc", "pm pe", "pm pc leaf-001", "pm pc leaf-001:5"})
    EXPECT_FALSE(said(view, line).order) << line;
  count();
  for (const char* line : {"pm pe host0001 HCA-1", "pm pe 0xabc", "pm pc leaf-002:5"}) {
    const auto outcome = said(view, line);
    EXPECT_FALSE(outcome.order) << line;
    EXPECT_EQ(std::pair(outcome.text, outcome.status), std::pair(std::string(), 0)) << line;
  }
}

TEST_F(ConsoleCounters, APortThatThereIsNotIsWarnedOfAndTheNodeIsShown) {
  count();
  for (const char* port : {"99", "300", "x", ""}) {
    const auto outcome = said(view, fmt::format("pm pc 0xabc:{}", port));
    EXPECT_EQ(outcome.text, fmt::format("Warning: \"{}\" is not a valid port\n", port));
    ASSERT_TRUE(outcome.order) << port;
    EXPECT_EQ(std::get<AskVerb>(*outcome.order).request,
              (Request{"counters", {"list", "0xabc"}, {}}));
  }
  EXPECT_EQ(said(view, "pm pc host0001 HCA-1:0").text, "Warning: \"0\" is not a valid port\n");
  EXPECT_EQ(said(view, "pm pc leaf-001:0").text, "");
}

TEST_F(ConsoleCounters, NamesMayHaveColonsAndSemicolons) {
  auto named = small_tree();
  named.node(0).description = "MF0;switch:MSX6036/U1";
  view.snapshot = sa::test::snapshot_of(named);
  for (const char* line : {"pm pc MF0;switch:MSX6036/U1", "pm pc MF0;switch:MSX6036/U1:5"})
    EXPECT_EQ(said(view, line).text, "") << line << ": it is known, and nothing was counted";
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
