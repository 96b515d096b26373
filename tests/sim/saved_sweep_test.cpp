// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What `ibsm plan` and the subnet manager's planner make of a saved sweep is what the subnet
// manager programs: LIDs and forwarding tables, byte for byte, on every kind of fabric, real ones
// (../shared/fabrics, or $IBKIT_FABRICS) where they are there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/route/plan.h"
#include "sm/daemon/offline_subnet.h"
#include "tests/sim/sm_on_model.h"

namespace {

using ib::Guid;
using ib::Lid;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using sm::test::SmOnModel;

/// Entries from LID 0 on, by GUID of the switch.
using Tables = std::map<Guid, std::vector<std::uint8_t>>;

Tables programmed(SmOnModel& run, Lid last) {
  Tables tables;
  const Fabric& fabric = run.sm().snapshot()->fabric();
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    if (!fabric.node(n).is_switch()) continue;
    const NodeIndex device = run.model().topology().find_node(fabric.node(n).guid).value();
    auto& table = tables[fabric.node(n).guid];
    for (unsigned lid = 0; lid <= last.value; ++lid)
      table.push_back(run.model().lft(device, Lid{static_cast<std::uint16_t>(lid)}));
  }
  return tables;
}

Tables planned(const ib::route::Plan& plan) {
  Tables tables;
  for (ib::fabric::SwitchIndex s = 0; s < plan.graph.switch_count(); ++s) {
    auto& table = tables[plan.graph.guid(s)];
    for (unsigned lid = 0; lid <= plan.graph.max_lid().value; ++lid)
      table.push_back(plan.routes.lfts.at(s, Lid{static_cast<std::uint16_t>(lid)}));
  }
  return tables;
}

ib::route::Plan plan_of(const std::string& saved, const std::string& engine,
                        std::optional<std::uint8_t> lmc = {}) {
  ib::route::PlanOptions options;
  options.lmc = lmc;
  options.verify.loads = false;
  if (!engine.empty()) options.choice.engines = {engine};
  return ib::route::plan_routes(ib::fabric::read_topology(saved, "sweep").value(), options).value();
}

sm::core::Options manager_options(const std::string& engine, std::uint8_t lmc) {
  sm::core::Options options;
  if (!engine.empty()) options.plan.choice.engines = {engine};
  options.plan.lmc = lmc;
  return options;
}

std::string sweep_of(SmOnModel& run) {
  return ib::fabric::topology_text(run.sm().snapshot()->fabric(), {true, {}, nullptr});
}

/// What the subnet manager's own planner makes of the file, on an Inventory without answers.
Tables planned_offline(const std::string& saved, const std::string& engine, std::uint8_t lmc,
                       Lid last) {
  sm::daemon::DaemonOptions options;
  options.core.plan.lmc = lmc;
  if (!engine.empty()) options.core.plan.choice.engines = {engine};
  const auto subnet =
      sm::daemon::plan_offline(ib::fabric::read_topology(saved, "sweep").value(), options).value();
  const auto& routing = *subnet.desired->routing;
  Tables tables;
  for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s) {
    auto& table = tables[routing.graph.guid(s)];
    for (unsigned lid = 0; lid <= last.value; ++lid)
      table.push_back(routing.lfts.at(s, Lid{static_cast<std::uint16_t>(lid)}));
  }
  return tables;
}

/// No engine: what is tried by default.
void expect_the_same(const Fabric& fabric, const std::string& engine = {}, std::uint8_t lmc = 0) {
  SmOnModel run(fabric, {}, manager_options(engine, lmc));
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.last().up());
  const auto plan = plan_of(sweep_of(run), engine);
  EXPECT_EQ(plan.lids_given, 0U);
  EXPECT_EQ(plan.routes.engine, run.sm().snapshot()->routing->engine);
  EXPECT_EQ(planned(plan), programmed(run, plan.graph.max_lid()));
  EXPECT_EQ(planned_offline(sweep_of(run), engine, lmc, plan.graph.max_lid()), planned(plan));
}

template <class Kind>
Fabric made(const Kind& kind, double missing = 0) {
  ib::fabric::GenerateCommon common;
  common.lids = false;
  common.missing_links_percent = missing;
  return ib::fabric::generate(kind, common).value();
}

TEST(SavedSweep, PlansWhatIsProgrammedOnEveryKindOfFabric) {
  using namespace ib::fabric;
  const std::pair<const char*, Fabric> fabrics[] = {{"tree", made(FatTree{8})},
                                                    {"tree with holes", made(FatTree{8}, 10)},
                                                    {"tree of three levels", made(FatTree{4, 3})},
                                                    {"torus", made(Grid{{4, 4}})},
                                                    {"mesh", made(Grid{{3, 3, 2}, false})},
                                                    {"hypercube", made(Hypercube{})},
                                                    {"HyperX", made(HyperX{})},
                                                    {"Dragonfly+", made(DragonflyPlus{})},
                                                    {"Dragonfly", made(Dragonfly{})},
                                                    {"random", made(RandomGraph{})},
                                                    {"Kautz", made(Kautz{})},
                                                    {"lab", generate_lab_like().value()}};
  for (const auto& [name, fabric] : fabrics) {
    SCOPED_TRACE(name);
    expect_the_same(fabric);
  }
}

TEST(SavedSweep, PlansWhatIsProgrammedByEveryEngine) {
  for (const char* engine : {"minhop", "updn", "dnup", "ftree", "sssp", "dfsssp", "lash", "nue"}) {
    SCOPED_TRACE(engine);
    expect_the_same(made(ib::fabric::FatTree{8}), engine, 1);
  }
  for (const char* engine : {"dor", "torus-2QoS"}) {
    SCOPED_TRACE(engine);
    expect_the_same(made(ib::fabric::Grid{{4, 4}}), engine);
  }
}

/// The saved sweep has the LIDs of before, and so have the ports.
TEST(SavedSweep, PlansWhatIsProgrammedWhenTheLmcChanges) {
  SmOnModel run(made(ib::fabric::FatTree{8}));
  ASSERT_TRUE(run.run_until_reports(1));
  const std::string before = sweep_of(run);
  run.boot_as(manager_options({}, 2));
  ASSERT_TRUE(run.run_until_reports(1));
  const auto plan = plan_of(before, {}, std::uint8_t{2});
  EXPECT_GT(plan.lids_given, 0U);
  EXPECT_EQ(planned(plan), programmed(run, plan.graph.max_lid()));
}

TEST(SavedSweep, PlansWhatIsProgrammedOnRealFabrics) {
  const char* dir = std::getenv("IBKIT_FABRICS");
  const std::filesystem::path fabrics =
      dir != nullptr ? dir : std::string(IBKIT_SOURCE_DIR "/../shared/fabrics");
  for (const char* file : {"janus-qdr-1356.topo", "dgx-ndr-582.topo", "lab-mixed-13.topo"}) {
    if (!std::filesystem::exists(fabrics / file)) continue;
    SCOPED_TRACE(file);
    auto fabric = ib::fabric::read_topology_file((fabrics / file).string());
    ASSERT_TRUE(fabric);
    expect_the_same(*fabric);
  }
}

}  // namespace
