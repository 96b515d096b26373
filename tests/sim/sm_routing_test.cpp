// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Routing as the subnet manager programs it: engines and their fallback, the operator's files, SL
// to VL mapping and arbitration, on simulated fabrics in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/route/reroute/reroute.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace {

using ib::fabric::Fabric;
using ib::route::OptionFile;
using sm::test::small_tree;
using sm::test::SmOnModel;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

template <class Kind>
Fabric make(const Kind& kind) {
  ib::fabric::GenerateCommon common;
  common.lids = false;
  return ib::fabric::generate(kind, common).value();
}
Fabric ring(unsigned switches) {
  ib::fabric::Grid grid;
  grid.sizes = {switches};
  return make(grid);
}

ib::route::ReadOptions roots(const std::string& text) {
  ib::route::ReadOptions read;
  read.mentions.push_back(
      ib::route::read_option_text(OptionFile::Roots, text, "roots", read.options).value());
  return read;
}
std::string spine_of(const Fabric& f) {
  for (const auto& node : f.nodes())
    if (node.is_switch()) return to_string(node.guid);
  return {};
}

/// One more full sweep because the operator asked; what it logged.
std::vector<std::string> sweep(SmOnModel& run) {
  const std::size_t before = run.log().size();
  const std::size_t reports = run.reports();
  run.sm().sweep_now(run.now(), sm::core::Reason::Operator);
  EXPECT_TRUE(run.run_until_reports(reports + 1));
  return {run.log().begin() + static_cast<std::ptrdiff_t>(before), run.log().end()};
}

TEST(RoutingFiles, AColdStartGoesOnWithoutWhatIsNotThereAndSaysSoEverySweep) {
  sm::core::Options options;
  const auto read = roots("0x77\n");
  options.plan.choice.engine = read.options;
  options.plan.mentions = read.mentions;
  SmOnModel run(small_tree(), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  constexpr auto* kLine = "roots:1: no node has the GUID 0x0000000000000077; routed without it";
  EXPECT_THAT(run.log(), Contains(kLine));
  EXPECT_THAT(sweep(run), Contains(kLine));
}

TEST(RoutingFiles, ReadAnewWithAnUnknownGuidTheOldRoutingStaysUntilItIsThere) {
  const Fabric f = small_tree();
  const std::string spine = spine_of(f);
  SmOnModel run(f);
  ASSERT_TRUE(run.run_until_reports(1));
  run.sm().set_routing_files(roots(spine + "\n0x77\n"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(sweep(run), Contains(HasSubstr("roots:2: no node has the GUID 0x0000000000000077; "
                                               "the files as last read are not used")));
    EXPECT_EQ(run.last().sets, 0U);
  }
  run.sm().set_routing_files(roots(spine + "\n"));
  EXPECT_THAT(sweep(run), Not(Contains(HasSubstr("roots"))));
  EXPECT_THAT(sweep(run), Not(Contains(HasSubstr("roots"))));
}

TEST(RoutingFiles, AFileThatNamesNothingIsSaid) {
  sm::core::Options options;
  options.plan.mentions = roots("# none yet\n").mentions;
  SmOnModel run(small_tree(), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  EXPECT_THAT(run.log(), Contains("roots: names nothing (--root_guid_file): routed as without it"));
}

TEST(RoutingFiles, NamesThatAreNotThereLeaveWhatWasReadLastNotWhatTheStartHad) {
  const Fabric f = ring(6);
  std::vector<std::string> switches;
  for (const auto& node : f.nodes())
    if (node.is_switch()) switches.push_back(to_string(node.guid));
  sm::core::Options options;
  options.plan.choice.engines = {"updn"};
  const auto first = roots(switches[0] + "\n");
  options.plan.choice.engine = first.options;
  options.plan.mentions = first.mentions;
  SmOnModel run(f, {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  const auto tables = [&] { return run.sm().snapshot()->routing->lfts; };
  const auto at_start = tables();

  run.sm().set_routing_files(roots(switches[2] + "\n"));
  sweep(run);
  const auto changed = tables();
  ASSERT_NE(changed, at_start);

  run.sm().set_routing_files(roots("0x77\n"));
  EXPECT_THAT(sweep(run), Contains(HasSubstr("the current routing stays")));
  EXPECT_EQ(tables(), changed);
  EXPECT_EQ(run.last().sets, 0U);
}

TEST(SweepLog, RepetitionsAreThoseOfTheSweep) {
  const Fabric f = small_tree();
  SmOnModel run(f);
  ASSERT_TRUE(run.run_until_reports(1));
  const auto host = static_cast<ib::fabric::NodeIndex>(f.nodes().size() - 1);
  ASSERT_FALSE(f.node(host).is_switch());
  run.model().set_behaviour(host, ib::sim::Behaviour::Silent);
  EXPECT_THAT(sweep(run), Not(Contains(HasSubstr(" 0 of them retries"))));
  run.model().set_behaviour(host, ib::sim::Behaviour::Normal);
  sweep(run);
  EXPECT_THAT(sweep(run), Contains(HasSubstr(" 0 of them retries")));
}

TEST(Fallback, ARefusedEngineIsReplacedByOneWithoutCreditLoops) {
  sm::core::Options options;
  options.plan.choice.engines = {"minhop"};
  SmOnModel run(ring(6), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  EXPECT_NE(run.sm().snapshot()->routing->engine, "minhop");
  EXPECT_THAT(run.log(), Contains(HasSubstr("routing engine minhop is rejected: ")));
}

TEST(Fallback, NoFallbackLeavesAColdFabricUnrouted) {
  sm::core::Options options;
  options.plan.choice.engines = {"minhop"};
  options.plan.choice.no_fallback = true;
  SmOnModel run(ring(6), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_FALSE(run.last().up());
  EXPECT_THAT(run.last().lines, Contains(HasSubstr("missing: routes: ")));
  EXPECT_THAT(run.log(), Contains("no routing engine passes all checks; minhop fails least"));
  // One refusal is one line: nothing is gained by another round, and the finding is in the line.
  EXPECT_EQ(std::ranges::count_if(run.log(),
                                  [](const auto& line) {
                                    return line.find("credit loop through") != std::string::npos;
                                  }),
            1);
  // Not one forwarding entry leads anywhere.
  const auto& f = run.model().topology();
  for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n) {
    for (std::uint16_t lid = 1; f.node(n).is_switch() && lid < 20; ++lid)
      EXPECT_EQ(run.model().lft(n, ib::Lid{lid}), ib::tables::kNoPort);
  }
}

TEST(Fallback, AllowedCreditLoopsAreSaidAtEverySweep) {
  sm::core::Options options;
  options.plan.choice.engines = {"minhop"};
  options.plan.choice.allow_credit_loops = true;
  SmOnModel run(ring(6), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_EQ(run.sm().snapshot()->routing->engine, "minhop");
  EXPECT_THAT(run.log(), Contains(HasSubstr("can deadlock, which is allowed")));
  EXPECT_THAT(sweep(run), Contains(HasSubstr("can deadlock, which is allowed")));
}

Fabric torus() {
  ib::fabric::Grid grid;
  grid.sizes = {4, 4};
  grid.hosts = 2;
  return make(grid);
}
sm::core::Options several_vls() {
  sm::core::Options options;
  options.plan.choice.engines = {"torus-2QoS"};
  options.plan.choice.no_fallback = true;
  return options;
}

/// A row as a link of `vls` data VLs holds it.
std::array<std::uint8_t, 16> on_link(ib::tables::SlToVlRow row, unsigned vls) {
  for (std::uint8_t& vl : row.vl) vl = static_cast<std::uint8_t>(vl == 15 ? 15 : vl % vls);
  return row.vl;
}

/// Every pair of live ports of every device holds what the routes need, and arbitration serves each
/// VL in operation once.
void expect_vls_hold(SmOnModel& run) {
  const auto routing = run.sm().snapshot()->routing;
  const auto& map = routing->virtual_lanes.sl_to_vl;
  const auto& f = run.sm().snapshot()->fabric();  // nodes by GUID
  const auto& model = run.model();
  for (ib::fabric::NodeIndex m = 0; m < model.topology().nodes().size(); ++m) {
    const auto& node = model.topology().node(m);
    const auto live = [&](unsigned p) {
      return static_cast<bool>(model.topology().port(m, p).peer);
    };
    for (unsigned out = 1; out <= node.num_ports; ++out) {
      if (!live(out)) continue;
      const ib::fabric::PortRef port{m, static_cast<std::uint8_t>(out)};
      const unsigned vls = ib::wire::data_vls(model.port_info(port).operational_vls);
      const auto low = model.vl_arbitration(port, 1), high = model.vl_arbitration(port, 3);
      EXPECT_EQ(model.port_info(port).vl_high_limit, 0);
      std::vector<unsigned> served(16, 0);
      for (std::size_t i = 0; i < 32; ++i) {
        if (low.weight[i] != 0) ++served[low.vl[i]];
        if (high.weight[i] != 0) ++served[high.vl[i]];
      }
      for (unsigned vl = 0; vl < 16; ++vl) ASSERT_EQ(served[vl], vl < vls ? 1U : 0U) << vl;
      if (!node.is_switch()) {
        ASSERT_EQ(model.sl_to_vl(port).vl, on_link(map.injection(), vls));
        continue;
      }
      const auto s = routing->graph.switch_of(*f.find_node(node.guid));
      for (unsigned in = 0; in <= node.num_ports; ++in) {
        if (in != 0 && !live(in)) continue;
        const auto& row =
            in == 0 ? map.injection() : map.row(s, static_cast<std::uint8_t>(in), port.port);
        ASSERT_EQ(model.sl_to_vl(port, static_cast<std::uint8_t>(in)).vl, on_link(row, vls))
            << node.description << " from " << in << " to " << out;
      }
    }
  }
}

struct Sent {
  std::size_t rows{}, arbitration{}, lfts_before_last_row{}, lfts{};
};
/// Counts Sets as they leave.
std::shared_ptr<Sent> count(SmOnModel& run) {
  auto sent = std::make_shared<Sent>();
  run.watch([sent](const ib::mad::Packet& packet) {
    if (packet.mad.method() != ib::wire::Method::Set) return true;
    switch (packet.mad.attribute_id()) {
      case ib::wire::attr::kSlToVl:
        ++sent->rows;
        sent->lfts_before_last_row = sent->lfts;
        break;
      case ib::wire::attr::kVlArbitration:
        ++sent->arbitration;
        break;
      case ib::wire::attr::kLinearForwarding:
        ++sent->lfts;
        break;
      default:
        break;
    }
    return true;
  });
  return sent;
}

TEST(VirtualLanes, EveryPortHoldsWhatTheRoutesNeedBeforeTheyArrive) {
  for (std::uint8_t mask = 0; mask < 4; ++mask) {
    ib::sim::ModelOptions model;
    model.optimized_sl_to_vl = mask;
    SmOnModel run(torus(), model, several_vls());
    const auto sent = count(run);
    ASSERT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    EXPECT_GT(run.sm().snapshot()->routing->virtual_lanes.sl_to_vl.rows().size(), 1U);
    expect_vls_hold(run);
    EXPECT_EQ(sent->lfts_before_last_row, 0U);
    EXPECT_GT(sent->lfts, 0U);
    // 16 switches, 6 ports with a link each, 7 inputs, and 32 hosts.
    const std::size_t plain = 16 * 6 * 7 + 32;
    if ((mask & 1) != 0) {
      EXPECT_LT(sent->rows, plain);
    } else {
      EXPECT_EQ(sent->rows, plain);
    }
  }
}

TEST(VirtualLanes, NothingIsSentWhereNothingChanged) {
  SmOnModel run(torus(), {}, several_vls());
  ASSERT_TRUE(run.run_until_reports(1));
  sweep(run);
  EXPECT_EQ(run.last().sets, 0U);
}

TEST(VirtualLanes, ARestartReadsThemAndSendsNoSet) {
  for (std::uint8_t mask = 0; mask < 4; ++mask) {
    ib::sim::ModelOptions model;
    model.optimized_sl_to_vl = mask;
    SmOnModel run(torus(), model, several_vls());
    ASSERT_TRUE(run.run_until_reports(1));
    run.boot();
    const auto sent = count(run);
    ASSERT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up());
    EXPECT_EQ(run.last().sets, 0U);
    expect_vls_hold(run);
    sweep(run);
    EXPECT_EQ(sent->rows + sent->arbitration, 0U);
  }
}

/// A table of the switch next to the subnet manager becomes another while none runs.
template <class Table>
void spoil(SmOnModel& run, std::uint16_t attribute, std::uint32_t modifier, const Table& table) {
  const auto leaf = run.model().topology().port(run.at()).peer;
  const auto lid = run.model().port_info({leaf.node, 0}).lid;
  auto request = ib::mad::smp_request(0, 0, lid, ib::wire::Method::Set, attribute, modifier);
  ib::wire::set_body(request.mad, table);
  run.model().send(run.now(), run.at(), true, {request.address, request.mad, {}});
  run.model().advance(run.now() + std::chrono::milliseconds(1));
}

TEST(VirtualLanes, WhatOthersWroteWhileNobodyRanIsFoundAndPutRight) {
  SmOnModel run(torus(), {}, several_vls());
  ASSERT_TRUE(run.run_until_reports(1));
  const auto leaf = run.model().topology().port(run.at()).peer;
  std::uint8_t out = 0;  // another port with a link
  for (unsigned p = 1; p <= run.model().topology().node(leaf.node).num_ports; ++p)
    if (p != leaf.port && run.model().topology().port(leaf.node, p).peer)
      out = static_cast<std::uint8_t>(p);
  ib::wire::SlToVlTable row;
  row.vl.fill(1);
  spoil(run, ib::wire::attr::kSlToVl, static_cast<std::uint32_t>(leaf.port) << 8 | out, row);
  spoil(run, ib::wire::attr::kVlArbitration, 1U << 16 | out, ib::wire::VlArbitrationTable{});
  ASSERT_EQ(run.model().sl_to_vl({leaf.node, out}, leaf.port).vl, row.vl);
  run.boot();
  const auto sent = count(run);
  ASSERT_TRUE(run.run_until_reports(1));
  expect_vls_hold(run);
  EXPECT_EQ(sent->rows, 1U);
  EXPECT_EQ(sent->arbitration, 1U);
  EXPECT_EQ(run.last().sets, 2U);
}

TEST(VirtualLanes, ASwitchThatRebootsAndALinkThatComesBackGetTheirRowsAgain) {
  SmOnModel run(torus(), {}, several_vls());
  ASSERT_TRUE(run.run_until_reports(1));
  const auto& f = run.model().topology();
  ib::fabric::NodeIndex away = 0;
  for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (f.node(n).is_switch()) away = n;
  ASSERT_TRUE(run.model().reboot(run.now(), away).has_value());
  run.run_for(std::chrono::seconds(30));
  EXPECT_THAT(run.not_active(), testing::IsEmpty());
  expect_vls_hold(run);
}

TEST(VirtualLanes, AChangeElsewhereDoesNotWriteASwitchAnew) {
  SmOnModel run(torus(), {}, several_vls());
  ASSERT_TRUE(run.run_until_reports(1));
  const auto& f = run.model().topology();
  const ib::fabric::PortRef host{f.find_node(f.nodes().back().guid).value(), 1};
  ASSERT_FALSE(f.node(host.node).is_switch());
  const auto sent = count(run);
  ASSERT_TRUE(run.model().link_down(run.now(), host).has_value());
  run.run_for(std::chrono::seconds(5));
  EXPECT_EQ(sent->rows + sent->arbitration, 0U);
  ASSERT_TRUE(run.model().link_up(run.now(), host).has_value());
  run.run_for(std::chrono::seconds(5));
  EXPECT_THAT(run.not_active(), testing::IsEmpty());
  expect_vls_hold(run);
  EXPECT_GT(sent->rows, 0U);
  EXPECT_LE(sent->rows, 8U);  // the host, and the 7 inputs of its port
}

/// Answers of switches to Sets of SL2VL that `which` holds for say another row, and the switches
/// hold it.
void answer_otherwise(SmOnModel& run, std::function<bool(std::uint32_t modifier)> which) {
  run.listen([which = std::move(which)](ib::mad::Packet& packet) {
    if (packet.mad.method() != ib::wire::Method::GetResp ||
        packet.mad.attribute_id() != ib::wire::attr::kSlToVl ||
        !which(packet.mad.attribute_modifier()))
      return;
    ib::wire::SlToVlTable row;
    row.vl.fill(7);
    ib::wire::set_body(packet.mad, row);
  });
}

TEST(VirtualLanes, AWideSetThatIsAnsweredWithAnotherRowIsNotRepeatedAndRowsAreToldOneByOne) {
  SmOnModel run(torus(), {}, several_vls());
  answer_otherwise(run, [](std::uint32_t modifier) { return (modifier & 3U << 16) != 0; });
  const auto sent = count(run);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
  expect_vls_hold(run);
  const std::size_t rows = sent->rows;
  sweep(run);
  EXPECT_EQ(sent->rows, rows) << "and is not told again";
}

TEST(VirtualLanes, ARowForManyPairsOfPortsDoesNotArriveBehindThatOfOneOfThem) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    ib::sim::ModelOptions model;
    model.optimized_sl_to_vl = 1;
    model.faults.jitter = std::chrono::milliseconds(2);
    model.seed = seed;
    SmOnModel run(torus(), model, several_vls());
    ASSERT_TRUE(run.run_until_reports(1));
    EXPECT_TRUE(run.last().up()) << testing::PrintToString(run.last().lines);
    expect_vls_hold(run);
  }
}

TEST(VirtualLanes, OneVlNeedsNoTablesUnlessQosIsAskedFor) {
  SmOnModel plain(small_tree());
  const auto none = count(plain);
  ASSERT_TRUE(plain.run_until_reports(1));
  EXPECT_EQ(none->rows + none->arbitration, 0U);

  sm::core::Options options;
  options.plan.qos = true;
  SmOnModel run(small_tree(), {}, options);
  const auto sent = count(run);
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_TRUE(run.last().up());
  EXPECT_GT(sent->rows, 0U);
  EXPECT_GT(sent->arbitration, 0U);
}

TEST(VirtualLanes, PortsReachTheSubnetManagerBySlOfTheirPath) {
  SmOnModel run(torus(), {}, several_vls());
  ASSERT_TRUE(run.run_until_reports(1));
  const auto snapshot = run.sm().snapshot();
  const auto& f = snapshot->fabric();
  bool other = false;
  for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n) {
    const ib::fabric::PortRef port{n, static_cast<std::uint8_t>(f.node(n).is_switch() ? 0 : 1)};
    const auto sl = sm::path_sl(f, *snapshot->routing, port, snapshot->sm_port);
    EXPECT_EQ(snapshot->observed->port(port).info().master_sm_sl, sl);
    other |= sl != ib::Sl{};
  }
  EXPECT_TRUE(other);

  sm::core::Options options = several_vls();
  options.plan.sm_sl = ib::Sl{0};
  SmOnModel fixed(torus(), {}, options);
  ASSERT_TRUE(fixed.run_until_reports(1));
  const auto fixed_view = fixed.sm().snapshot();
  for (const auto& port : fixed_view->observed->ports)
    EXPECT_TRUE(!port.known || port.info().master_sm_sl == ib::Sl{0});
}

/// Every host of the fabric in one group.
sm::plan::MlidGroup everyone(const Fabric& f, std::uint16_t sls) {
  sm::plan::MlidGroup group{ib::Lid{0xC000}, {}, {}, sls};
  for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) group.receivers.push_back(f.port(n, 1).guid);
  return group;
}

TEST(Multicast, TreesThatAnEngineClaimsAreProvedAndOthersSaySo) {
  SmOnModel run(small_tree());
  run.sm().set_groups(run.now(), {everyone(run.model().topology(), 1)});
  ASSERT_TRUE(run.run_until_reports(1));
  EXPECT_THAT(run.log(), Not(Contains(HasSubstr("multicast"))));

  SmOnModel virtual_lanes(torus(), {}, several_vls());
  virtual_lanes.sm().set_groups(virtual_lanes.now(),
                                {everyone(virtual_lanes.model().topology(), 1U << 0)});
  ASSERT_TRUE(virtual_lanes.run_until_reports(1));
  EXPECT_THAT(virtual_lanes.log(), Not(Contains(HasSubstr("multicast"))));
  virtual_lanes.sm().set_groups(virtual_lanes.now(),
                                {everyone(virtual_lanes.model().topology(), 1U << 3)});
  EXPECT_THAT(sweep(virtual_lanes),
              Contains("multicast: 1 groups not proved free of credit loops: torus-2QoS says so of "
                       "SL 0 only"));

  // VLs that lash leaves free carry the default IPoIB group's SL as well as its own do.
  sm::core::Options beside = several_vls();
  beside.plan.choice.engines = {"lash"};
  beside.plan.choice.engine.lash_start_vl = 1;
  SmOnModel lash(torus(), {}, beside);
  lash.sm().set_groups(lash.now(), {everyone(lash.model().topology(), 1U << 0)});
  ASSERT_TRUE(lash.run_until_reports(1));
  EXPECT_EQ(lash.sm().snapshot()->routing->engine, "lash");
  EXPECT_THAT(lash.log(), Not(Contains(HasSubstr("multicast"))));
}

TEST(Multicast, TreesThatBreakTheClaimAreNotProgrammed) {
  sm::core::Options options;
  options.plan.choice.engines = {"updn"};
  SmOnModel run(ring(6), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  const auto snapshot = run.sm().snapshot();
  sm::plan::Desired desired;
  desired.verifier = std::make_shared<ib::tables::Verifier>(
      ib::tables::VerifyOptions{.credit_loops_are_must = true, .loads = false});
  const auto group = everyone(snapshot->fabric(), 1);
  desired.routing = snapshot->routing;
  EXPECT_THAT(want_multicast(desired, snapshot->fabric(), {&group, 1}).alarms, testing::IsEmpty());
  EXPECT_TRUE(desired.program_mfts);

  // The order turned round: valleys where updn has peaks.
  auto wrong = std::make_shared<sm::Routing>(*snapshot->routing);
  for (std::uint32_t& number : wrong->multicast.up_order) number = 1000 - number;
  desired.routing = wrong;
  EXPECT_THAT(want_multicast(desired, snapshot->fabric(), {&group, 1}).alarms,
              testing::ElementsAre(HasSubstr("multicast trees are not programmed: ")));
  EXPECT_FALSE(desired.program_mfts);
}

/// What a switch refuses would take the rest of its SwitchInfo along, LinearFDBTop among it.
TEST(Multicast, NoSwitchIsToldOfMlidsBeyondItsTable) {
  sm::core::Options options;
  options.plan.choice.engines = {"updn"};
  SmOnModel run(ring(6), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  const auto snapshot = run.sm().snapshot();
  sm::plan::Desired desired;
  desired.verifier = std::make_shared<ib::tables::Verifier>(
      ib::tables::VerifyOptions{.credit_loops_are_must = true, .loads = false});
  desired.routing = snapshot->routing;
  desired.switches.resize(6);
  for (auto& want : desired.switches) want.multicast_fdb_cap = 0x1000;
  desired.switches[4].multicast_fdb_cap = 0x40;
  desired.switches[5].multicast_fdb_cap = 0;
  auto group = everyone(snapshot->fabric(), 1);
  group.mlid = ib::Lid{0xC03F};
  EXPECT_THAT(want_multicast(desired, snapshot->fabric(), {&group, 1}).alarms, testing::IsEmpty());
  EXPECT_EQ(desired.switches[4].multicast_fdb_top, 0xC03F);
  EXPECT_EQ(desired.switches[5].multicast_fdb_top, 0xBFFF);

  group.mlid = ib::Lid{0xC040};
  const auto name = snapshot->fabric().node(desired.routing->graph.node_of(4)).description;
  EXPECT_THAT(want_multicast(desired, snapshot->fabric(), {&group, 1}).alarms,
              testing::ElementsAre(testing::AllOf(HasSubstr("MLID 0xc040 is beyond"),
                                                  HasSubstr(name), HasSubstr("ends at 0xc03f"))));
  EXPECT_EQ(desired.switches[0].multicast_fdb_top, 0xC040);
  EXPECT_EQ(desired.switches[4].multicast_fdb_top, 0xC03F);
}

TEST(Multicast, AMemberThatNoTreeReachesIsNamedAndTheOthersAreServed) {
  sm::core::Options options;
  options.plan.choice.engines = {"updn"};
  SmOnModel run(ring(6), {}, options);
  ASSERT_TRUE(run.run_until_reports(1));
  const auto snapshot = run.sm().snapshot();
  sm::plan::Desired desired;
  desired.verifier = std::make_shared<ib::tables::Verifier>(
      ib::tables::VerifyOptions{.credit_loops_are_must = true, .loads = false});
  const auto group = everyone(snapshot->fabric(), 1);
  // A rule that keeps a switch out of every tree: the one that nothing hangs below.
  auto wrong = std::make_shared<sm::Routing>(*snapshot->routing);
  auto& rule = wrong->multicast;
  ASSERT_EQ(rule.up_order.size(), 6U);
  rule.parent.assign(rule.up_order.size(), ib::fabric::kNoSwitch);
  for (ib::fabric::SwitchIndex s = 0; s < rule.up_order.size(); ++s)
    for (const auto& arc : wrong->graph.arcs(s))
      if (rule.up_order[arc.to] < rule.up_order[s]) rule.parent[s] = arc.to;
  for (ib::fabric::SwitchIndex s = 0; s < rule.parent.size(); ++s)
    if (std::ranges::count(rule.parent, s) == 0) {
      rule.parent[s] = ib::fabric::kNoSwitch;
      break;
    }
  desired.routing = wrong;
  EXPECT_THAT(want_multicast(desired, snapshot->fabric(), {&group, 1}).alarms,
              testing::ElementsAre(testing::AllOf(HasSubstr("multicast: somebody is left out: "),
                                                  HasSubstr("is not joined to"))));
  EXPECT_TRUE(desired.program_mfts);
}

/// The devices hold the routes, and those reach everything.
void expect_routed(SmOnModel& run) {
  const auto snapshot = run.sm().snapshot();
  const auto& f = snapshot->fabric();
  const auto& routing = *snapshot->routing;
  const auto verdict = ib::tables::verify(f, routing.graph, routing.lfts, routing.virtual_lanes, {},
                                          {.credit_loops_are_must = true, .loads = false});
  EXPECT_EQ(verdict.must_failures, 0U);
  EXPECT_EQ(verdict.unreachable, 0U);
  for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s) {
    const auto n = *run.model().topology().find_node(routing.graph.guid(s));
    for (std::uint16_t lid = 1; lid <= routing.graph.max_lid().value; ++lid)
      ASSERT_EQ(run.model().lft(n, ib::Lid{lid}), routing.lfts.at(s, ib::Lid{lid}))
          << s << " " << lid;
  }
}

/// What a computation from nothing would have changed instead.
ib::route::Difference fresh_difference(const sm::Routing& before, const sm::Snapshot& now) {
  const auto& graph = now.routing->graph;
  const auto fresh = ib::route::find_engine(before.engine)
                         ->compute({&now.fabric(), &graph, {}, nullptr, 8})
                         .value();
  return ib::route::difference(before.lfts, fresh.lfts);
}

TEST(Reroute, AfterALinkFailsAndComesBackOnlyWhatMustChangeIsWritten) {
  for (const char* engine : {"ftree", "updn", "minhop"}) {
    SCOPED_TRACE(engine);
    ib::fabric::FatTree tree;
    tree.radix = 12;
    tree.levels = 3;
    sm::core::Options options;
    options.plan.choice.engines = {engine};
    SmOnModel run(make(tree), {}, options);
    ASSERT_TRUE(run.run_until_reports(1));
    expect_routed(run);
    const auto whole = run.sm().snapshot()->routing;
    // An uplink of the switch that the last host hangs from.
    const auto& f = run.model().topology();
    ib::fabric::PortRef host;
    for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (!f.node(n).is_switch()) host = {n, 1};
    const ib::fabric::NodeIndex leaf = f.port(host).peer.node;
    ib::fabric::PortRef uplink;
    for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p)
      if (f.port(leaf, p).peer && f.node(f.port(leaf, p).peer.node).is_switch())
        uplink = {leaf, static_cast<std::uint8_t>(p)};

    auto sent = count(run);
    ASSERT_TRUE(run.model().link_down(run.now(), uplink).has_value());
    run.run_for(std::chrono::seconds(5));
    expect_routed(run);
    const auto less = run.sm().snapshot()->routing;
    EXPECT_EQ(less->engine, engine);
    const auto changed = ib::route::difference(whole->lfts, less->lfts);
    const auto fresh = fresh_difference(*whole, *run.sm().snapshot());
    EXPECT_GT(sent->lfts, 0U);
    // Some blocks are written twice, so that nothing loops on the way.
    EXPECT_GE(sent->lfts, changed.blocks.size());
    EXPECT_LE(sent->lfts * 10, changed.blocks.size() * 11);
    // What ftree recomputes differs no more than must be; see doc/routing.md.
    const bool deals = std::string_view(engine) == "ftree";
    EXPECT_LT(changed.blocks.size(), fresh.blocks.size() + (deals ? 1 : 0));
    EXPECT_LT(changed.entries.size() * (deals ? 1 : 4), fresh.entries.size());

    sent = count(run);
    ASSERT_TRUE(run.model().link_up(run.now(), uplink).has_value());
    run.run_for(std::chrono::seconds(5));
    expect_routed(run);
    const auto again = run.sm().snapshot()->routing;
    EXPECT_LE(sent->lfts * 10, ib::route::difference(less->lfts, again->lfts).blocks.size() * 11);
    EXPECT_LT(sent->lfts * 10, fresh.blocks.size() * (deals ? 11 : 10));
    EXPECT_THAT(run.not_active(), testing::IsEmpty());
  }
}

/// A link between the first two switches that have one.
ib::fabric::PortRef switch_link(const Fabric& f) {
  for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n)
    for (unsigned p = 1; f.node(n).is_switch() && p <= f.node(n).num_ports; ++p)
      if (f.port(n, p).peer && f.node(f.port(n, p).peer.node).is_switch())
        return {n, static_cast<std::uint8_t>(p)};
  return {};
}

TEST(Reroute, ACableThatWasDownAtTheStartComesInWithFewSets) {
  for (const char* engine : {"ftree", "updn", "minhop"}) {
    SCOPED_TRACE(engine);
    ib::fabric::FatTree tree;
    tree.radix = 12;
    tree.levels = 3;
    sm::core::Options options;
    options.plan.choice.engines = {engine};
    SmOnModel run(make(tree), {}, options);
    const auto link = switch_link(run.model().topology());
    ASSERT_TRUE(run.model().link_down(run.now(), link).has_value());
    ASSERT_TRUE(run.run_until_reports(1));
    const auto less = run.sm().snapshot()->routing;
    const auto sent = count(run);
    ASSERT_TRUE(run.model().link_up(run.now(), link).has_value());
    run.run_for(std::chrono::seconds(5));
    expect_routed(run);
    EXPECT_GT(run.sm().snapshot()->routing->graph.arc_count(), less->graph.arc_count());
    const auto fresh = fresh_difference(*less, *run.sm().snapshot());
    EXPECT_GT(sent->lfts, 0U);
    // What ftree recomputes differs little itself.
    EXPECT_LT(sent->lfts * (std::string_view(engine) == "ftree" ? 1 : 2), fresh.blocks.size());
  }
}

// Engines that route as a whole, and one that is taken because those before it do not fit.
TEST(Reroute, EveryEngineKeepsWhatStillFits) {
  using Names = std::vector<std::string>;
  for (const Names& engines : {Names{"dfsssp"}, Names{"lash"}, Names{"dfp"}, Names{"ftree", "dnup"},
                               Names{"torus-2QoS", "dfsssp"}}) {
    SCOPED_TRACE(testing::PrintToString(engines));
    sm::core::Options options;
    options.plan.choice.engines = engines;
    options.plan.choice.no_fallback = true;
    SmOnModel run(make(ib::fabric::RandomGraph{24, 72, 4}), {}, options);
    ASSERT_TRUE(run.run_until_reports(1));
    const auto whole = run.sm().snapshot()->routing;
    EXPECT_EQ(whole->engine, engines.back());
    const auto link = switch_link(run.model().topology());
    ASSERT_TRUE(run.model().link_down(run.now(), link).has_value());
    run.run_for(std::chrono::seconds(5));
    const auto less = run.sm().snapshot()->routing;
    EXPECT_EQ(less->engine, engines.back());
    expect_routed(run);
    const auto fresh = fresh_difference(*whole, *run.sm().snapshot());
    const auto changed = ib::route::difference(whole->lfts, less->lfts);
    EXPECT_GT(changed.entries.size(), 0U);
    EXPECT_LT(changed.entries.size() * 2, fresh.entries.size());
    ASSERT_TRUE(run.model().link_up(run.now(), link).has_value());
    run.run_for(std::chrono::seconds(5));
    expect_routed(run);
    const auto again = ib::route::difference(less->lfts, run.sm().snapshot()->routing->lfts);
    EXPECT_LT(again.entries.size() * 2, fresh.entries.size());
  }
}

/// LIDs that go round in circles in the devices' tables as they are at this moment.
std::size_t looping_lids(const ib::sim::Model& model, std::uint16_t lids) {
  const auto& f = model.topology();
  std::size_t loops = 0;
  for (std::uint16_t lid = 1; lid <= lids; ++lid) {
    for (ib::fabric::NodeIndex n = 0; n < f.nodes().size(); ++n) {
      ib::fabric::NodeIndex at = n;
      std::size_t hops = 0;
      while (hops <= f.nodes().size() && f.node(at).is_switch()) {
        const std::uint8_t port = model.lft(at, ib::Lid{lid});
        if (port == 0 || port > f.node(at).num_ports || !f.port(at, port).peer) break;
        at = f.port(at, port).peer.node;
        ++hops;
      }
      if (hops > f.nodes().size()) {
        ++loops;
        break;
      }
    }
  }
  return loops;
}

TEST(Transition, NoLidEverLoopsWhateverSetsAreLostOnTheWay) {
  // From one order of updn to others on a ring: LIDs change the direction they are reached in.
  std::size_t sets = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    sm::core::Options options;
    options.plan.choice.engines = {"updn"};
    SmOnModel run(ring(10), {}, options);
    ASSERT_TRUE(run.run_until_reports(1));
    std::vector<std::string> switches;
    for (const auto& node : run.model().topology().nodes())
      if (node.is_switch()) switches.push_back(to_string(node.guid));
    std::mt19937_64 random(seed);
    const auto lids = run.sm().snapshot()->routing->graph.max_lid().value;
    std::size_t loops = 0;
    run.watch([&](const ib::mad::Packet& packet) {
      if (packet.mad.method() != ib::wire::Method::Set ||
          packet.mad.attribute_id() != ib::wire::attr::kLinearForwarding)
        return true;
      ++sets;
      loops += looping_lids(run.model(), lids);
      return random() % 4 != 0;
    });
    for (int change = 0; change < 3; ++change) {
      run.sm().set_routing_files(roots(switches[random() % switches.size()] + "\n"));
      sweep(run);
      run.run_for(std::chrono::seconds(30));
      EXPECT_EQ(looping_lids(run.model(), lids), 0U);
      expect_routed(run);
    }
    EXPECT_EQ(loops, 0U);
  }
  EXPECT_GT(sets, 100U);
}

}  // namespace
