// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SL to VL mapping and VL arbitration as the subnet manager programs them for the routes: before
// the routes, only where needed, and mended where another wrote them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "libdiag/tables/verify.h"
#include "tests/sim/routing_runs.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace {

using sm::test::count;
using sm::test::several_vls;
using sm::test::small_tree;
using sm::test::SmOnModel;
using sm::test::sweep;
using sm::test::torus;

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

}  // namespace
