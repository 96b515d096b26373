// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What `ibsm plan` and `ibroutes plan` make of a saved sweep is what the subnet manager programs:
// LIDs and forwarding tables, byte for byte, on every kind of fabric, real ones
// (../shared/fabrics, or $IBKIT_FABRICS) where they are there.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/route/choose/plan.h"
#include "sm/daemon/plan_verb.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/unconfigured.h"
#include "tests/unit/sm/policy/policy_of.h"

namespace {

using ib::Guid;
using ib::Lid;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using sm::test::SmOnModel;
using sm::test::unconfigured;

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

/// `ibsm plan` of the file.
ib::plan::Planned ibsm_plan_of(const std::string& saved, const sm::core::Options& options) {
  sm::daemon::DaemonOptions daemon;
  daemon.core.plan = options.plan;
  ib::route::PlanOptions wanted;
  wanted.choice = options.plan.choice;
  wanted.lmc = options.plan.lmc;
  return sm::daemon::planner(daemon)(ib::fabric::read_topology(saved, "sweep").value(), wanted)
      .value();
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
  const auto by_ibsm = ibsm_plan_of(sweep_of(run), manager_options(engine, lmc)).plan;
  EXPECT_TRUE(by_ibsm.passed);
  EXPECT_EQ(by_ibsm.lids_given, 0U);
  EXPECT_EQ(by_ibsm.lids, plan.lids);
  EXPECT_EQ(by_ibsm.routes.engine, plan.routes.engine);
  EXPECT_EQ(planned(by_ibsm), planned(plan));
}

TEST(SavedSweep, PlansWhatIsProgrammedOnEveryKindOfFabric) {
  using namespace ib::fabric;
  const std::pair<const char*, Fabric> fabrics[] = {
      {"tree", unconfigured(FatTree{8})},
      {"tree with holes", unconfigured(FatTree{8}, 10)},
      {"tree of three levels", unconfigured(FatTree{4, 3})},
      {"torus", unconfigured(Grid{{4, 4}})},
      {"mesh", unconfigured(Grid{{3, 3, 2}, false})},
      {"hypercube", unconfigured(Hypercube{})},
      {"HyperX", unconfigured(HyperX{})},
      {"Dragonfly+", unconfigured(DragonflyPlus{})},
      {"Dragonfly", unconfigured(Dragonfly{})},
      {"random", unconfigured(RandomGraph{})},
      {"Kautz", unconfigured(Kautz{})},
      {"lab", generate_lab_like().value()}};
  for (const auto& [name, fabric] : fabrics) {
    SCOPED_TRACE(name);
    expect_the_same(fabric);
  }
}

TEST(SavedSweep, PlansWhatIsProgrammedByEveryEngine) {
  for (const char* engine : {"minhop", "updn", "dnup", "ftree", "sssp", "dfsssp", "lash", "nue"}) {
    SCOPED_TRACE(engine);
    expect_the_same(unconfigured(ib::fabric::FatTree{8}), engine, 1);
  }
  for (const char* engine : {"dor", "torus-2QoS"}) {
    SCOPED_TRACE(engine);
    expect_the_same(unconfigured(ib::fabric::Grid{{4, 4}}), engine);
  }
}

/// The saved sweep has the LIDs of before, and so have the ports.
TEST(SavedSweep, PlansWhatIsProgrammedWhenTheLmcChanges) {
  SmOnModel run(unconfigured(ib::fabric::FatTree{8}));
  ASSERT_TRUE(run.run_until_reports(1));
  const std::string before = sweep_of(run);
  run.boot_as(manager_options({}, 2));
  ASSERT_TRUE(run.run_until_reports(1));
  const auto plan = plan_of(before, {}, std::uint8_t{2});
  EXPECT_GT(plan.lids_given, 0U);
  EXPECT_EQ(planned(plan), programmed(run, plan.graph.max_lid()));
  const auto by_ibsm = ibsm_plan_of(before, manager_options({}, 2)).plan;
  EXPECT_EQ(by_ibsm.lids_given, plan.lids_given);
  EXPECT_EQ(planned(by_ibsm), planned(plan));
}

/// A block that `ibsm plan --dump` writes, as the device has it.
template <class Table>
std::string hexadecimal(const Table& table, std::size_t bytes) {
  std::array<std::byte, 64> block{};
  ib::wire::encode(table, block.data());
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i)
    out += fmt::format("{:02x}", std::to_integer<unsigned>(block[i]));
  return out;
}
std::string held_by_device(const ib::sim::Model& model, const std::string& table, NodeIndex node,
                           std::uint8_t port, unsigned other) {
  const ib::fabric::PortRef at{node, port};
  if (table == "SLtoVLMappingTable")
    return hexadecimal(model.sl_to_vl(at, static_cast<std::uint8_t>(other)), 8);
  if (table == "VLArbitrationTable") return hexadecimal(model.vl_arbitration(at, other), 64);
  ib::wire::PKeyTable block;
  const auto keys = model.p_keys(at);
  for (std::size_t i = 0; i < block.p_keys.size() && other * 32 + i < keys.size(); ++i)
    block.p_keys[i] = keys[other * 32 + i];
  return hexadecimal(block, 64);
}

TEST(SavedSweep, PlansTheTablesThatPartitionsAndQosBring) {
  sm::core::Options options = manager_options("minhop", 0);
  options.plan.qos = true;
  options.plan.partitions = sm::policy::test::policy_of(
      "Default=0x7fff, ipoib : ALL=limited, SELF=full ;\nlab=0x1234 : ALL=full ;\n");
  SmOnModel run(unconfigured(ib::fabric::FatTree{8}), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  ASSERT_TRUE(run.last().up());
  const auto plan = ibsm_plan_of(sweep_of(run), options);
  const std::string folder = testing::TempDir() + "saved-sweep-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(plan.dump_tables(folder));
  std::ifstream file(folder + "/device-tables.dump");
  std::map<std::string, std::size_t> seen;
  std::string table, guid, word, bytes;
  unsigned port = 0, other = 0;
  while (file >> table >> guid >> word >> port >> word >> other >> bytes) {
    ++seen[table];
    ib::Guid node;
    ASSERT_TRUE(ib::parse_guid(guid, node)) << guid;
    const auto n = run.model().topology().find_node(node).value();
    ASSERT_EQ(bytes, held_by_device(run.model(), table, n, static_cast<std::uint8_t>(port), other))
        << table << ' ' << guid << ' ' << port << ' ' << other;
  }
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(plan.tables);
  std::map<std::string, std::size_t> told;
  for (const auto& sum : *plan.tables) told[sum.table] = sum.blocks;
  EXPECT_EQ(seen, told);
  for (const char* kind : {"P_KeyTable", "SLtoVLMappingTable", "VLArbitrationTable"})
    EXPECT_GT(seen[kind], 0U) << kind;
}

/// What is left out keeps the LIDs that it has before.
TEST(SavedSweep, LidsAreGivenBeforeAnythingIsLeftOut) {
  const Fabric fabric = unconfigured(ib::fabric::FatTree{8});
  const auto plan_without = [&](std::vector<std::string> names) {
    ib::route::PlanOptions wanted;
    wanted.choice.engines = {"minhop"};
    wanted.what_if.without = std::move(names);
    return sm::daemon::planner({})(fabric, wanted).value().plan;
  };
  const auto lids = [](const Fabric& of) {
    std::map<Guid, Lid> out;
    for (NodeIndex n = 0; n < of.nodes().size(); ++n)
      for (const auto& port : of.ports(n))
        if (port.lid.is_unicast()) out[port.guid] = port.lid;
    return out;
  };
  NodeIndex spine = 0;
  while (!fabric.node(spine).is_switch()) ++spine;
  const Guid gone = fabric.node(spine).guid;
  const auto all = lids(plan_without({}).fabric);
  const auto rest = lids(plan_without({to_string(gone)}).fabric);
  EXPECT_LT(rest.size(), all.size());
  for (const auto& [guid, lid] : rest) EXPECT_EQ(lid, all.at(guid)) << to_string(guid);
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
