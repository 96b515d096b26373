// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm plan`, text and JSON.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "libdiag/fabric/text_file.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/tables/dump.h"
#include "libdiag/tables/sl2vl_dump.h"
#include "sm/daemon/plan_verb.h"
#include "tests/golden/documents/golden.h"

namespace ib::plan {
namespace {

/// `ibsm plan` without options of partitions and QoS, what follows the reading of its words.
int run(const PlanCommand& command, std::ostream& out, std::ostream& complaints,
        bool json = false) {
  return sm::daemon::run_plan_verb({{}, command, json}, "0", out, complaints);
}

PlanCommand command(const std::string& topology = "topology/small.topo") {
  PlanCommand command;
  command.topology = ib::golden::path(topology);
  // The default is what suits the fabric, and may be another one day.
  command.plan.choice.engines = {"minhop"};
  command.plan.choice.no_fallback = true;
  return command;
}

std::string print(const PlanCommand& command, bool json, int status) {
  std::ostringstream out, complaints;
  EXPECT_EQ(run(command, out, complaints, json), status) << complaints.str();
  return out.str();
}

TEST(IbsmPlanGolden, Json) { ib::golden::expect_same(print(command(), true, 0), "ibsm-plan.json"); }
TEST(IbsmPlanGolden, Text) { ib::golden::expect_same(print(command(), false, 0), "ibsm-plan.txt"); }

/// A ring without the means against its credit loop: findings, and status 1.
TEST(IbsmPlanGolden, JsonWithFindings) {
  ib::golden::expect_same(print(command("documents/ring.topo"), true, 1),
                          "ibsm-plan-findings.json");
}

/// Two switches without a cable between them: each is routed, and the split named.
TEST(IbsmPlanGolden, Pieces) {
  ib::golden::expect_same(print(command("documents/apart.topo"), true, 0), "ibsm-plan-pieces.json");
  ib::golden::expect_same(print(command("documents/apart.topo"), false, 0), "ibsm-plan-pieces.txt");
}

/// Engines side by side on a ring with one VL, less a host: one passes, one is refused for a credit
/// loop, one does not fit.
PlanCommand comparison() {
  PlanCommand all = command("documents/ring.topo");
  all.plan.choice.engines = {"minhop", "updn", "dfsssp"};
  all.plan.choice.compare = true;
  all.plan.choice.vls_max = 1;
  all.plan.what_if.without = {"sw-0:1"};
  return all;
}
TEST(IbsmPlanGolden, ComparisonText) {
  ib::golden::expect_same(print(comparison(), false, 0), "ibsm-plan-compare.txt");
}
TEST(IbsmPlanGolden, ComparisonJson) {
  ib::golden::expect_same(print(comparison(), true, 0), "ibsm-plan-compare.json");
}

/// A cable less: what a manager that watches would do stands beside the plan.
TEST(IbsmPlanGolden, WithoutACable) {
  PlanCommand less = command("documents/ring.topo");
  less.plan.choice.engines = {"lash"};
  less.plan.what_if.without = {"sw-0:2"};
  ib::golden::expect_same(print(less, false, 0), "ibsm-plan-without.txt");
  ib::golden::expect_same(print(less, true, 0), "ibsm-plan-without.json");
}

TEST(IbsmPlanGolden, FiguresText) {
  PlanCommand figures = command();
  figures.figures = true;
  figures.figures_options.samples = 20;
  figures.plan.lmc = 1;
  ib::golden::expect_same(print(figures, false, 0), "ibsm-plan-figures.txt");
  ib::golden::expect_same(print(figures, true, 0), "ibsm-plan-figures.json");
}

TEST(IbsmPlanGolden, NoEngineFits) {
  PlanCommand none = command("documents/ring.topo");
  none.plan.choice.engines = {"dfsssp"};
  none.plan.choice.vls_max = 1;
  ib::golden::expect_same(print(none, false, 1), "ibsm-plan-none.txt");
  ib::golden::expect_same(print(none, true, 1), "ibsm-plan-none.json");
}

TEST(IbsmPlan, ComplainsOfWhatIsNotThereAndOfWhatCannotBeWritten) {
  std::ostringstream out, complaints;
  PlanCommand wrong = command();
  wrong.plan.what_if.without = {"nobody"};
  EXPECT_EQ(run(wrong, out, complaints), 1);
  EXPECT_EQ(complaints.str(), "ibsm: cannot take 'nobody' away: no node is named 'nobody'\n");
  EXPECT_EQ(out.str(), "");
  for (std::string PlanCommand::*file : {&PlanCommand::dump_dir, &PlanCommand::svg_file}) {
    PlanCommand unwritable = command();
    unwritable.*file = "/dev/null/x";
    complaints.str("");
    EXPECT_EQ(run(unwritable, out, complaints), 4);
    EXPECT_NE(complaints.str().find("/dev/null/x: Not a directory"), std::string::npos)
        << complaints.str();
  }
}

/// What is dumped is what was planned: tables as both programs print them,
/// and the SLs and VLs of routes on several VLs.
TEST(IbsmPlan, DumpsReadBackAsTheRoutes) {
  const std::string above = ::testing::TempDir() + "ibsm-plan-dump-" + std::to_string(::getpid());
  const std::string folder = above + "/sub";
  PlanCommand dump = command("documents/ring.topo");
  dump.plan.choice.engines = {"lash"};
  dump.plan.lmc = 1;
  dump.dump_dir = folder;
  dump.svg_file = folder + ".svg";
  print(dump, false, 0);
  auto fabric = ib::fabric::read_topology_file(folder + "/fabric.topo");
  ASSERT_TRUE(fabric) << fabric.error().message;
  const ib::fabric::CompactGraph graph(*fabric);
  const auto one = ib::tables::read_tables_file(folder + "/dump_fts.txt");
  const auto other = ib::tables::read_tables_file(folder + "/opensm-lfts.dump");
  ASSERT_TRUE(one && other);
  const auto tables = ib::tables::linear_tables(graph, *one);
  EXPECT_EQ(tables, ib::tables::linear_tables(graph, *other));
  const auto text = [&](const char* name) {
    return ib::fabric::read_file_or_pipe(folder + '/' + name).value();
  };
  const auto rows = ib::tables::read_sl2vl(text("opensm-sl2vl.dump"), "x", *fabric, graph);
  const auto sls = ib::tables::read_path_sls(text("path-sls.dump"), "x", *fabric, graph);
  ASSERT_TRUE(rows && sls);
  const auto verdict = ib::tables::verify(*fabric, graph, tables, {*sls, *rows}, {}, {true});
  EXPECT_TRUE(verdict.must_ok());
  EXPECT_GT(verdict.vls, 1U);
  const auto alone = ib::tables::verify(*fabric, graph, tables);
  EXPECT_GT(alone.credit_loop_channels, 0U);  // so the VLs matter
  const std::string picture = ib::fabric::read_file_or_pipe(dump.svg_file).value();
  EXPECT_NE(picture.find("routed by lash"), std::string::npos);
  EXPECT_NE(picture.find("routes over a link, floor "), std::string::npos);
  std::filesystem::remove_all(above);
}

}  // namespace
}  // namespace ib::plan
