// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SL2VL and VL arbitration as the planner wants them: what devices can do and what the routes need
// go in, blocks come out.
#include "sm/plan/vl_tables.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "sm/device/tables/kinds.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::plan {
namespace {

using device::kSlToVl;
using device::kVlArbitration;
using device::Slot;
using device::TableKind;
using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::tables::SlToVlRow;
using ib::wire::PortInfo;
using Row = std::array<std::uint8_t, 16>;

class VlTables : public ::testing::Test {
 protected:
  VlTables() : observed(*sa::test::snapshot_of(sa::test::small_tree())->observed) {
    ports.resize(observed.ports.size());
    for (NodeIndex n = 0; n < observed.nodes.size(); ++n)
      for (unsigned p = 0; p <= observed.fabric.node(n).num_ports; ++p)
        set_port({n, static_cast<std::uint8_t>(p)}, 4, 8, 8);
  }
  /// VLCap as a code, entries of arbitration of low and high priority.
  void set_port(PortRef p, std::uint8_t vl_cap, std::uint8_t low, std::uint8_t high) {
    auto& port = observed.port(p);
    if (!port.known) return;
    PortInfo info = port.info();
    info.capability_mask |= ib::wire::port_cap::kSlMapping;
    info.vl_cap = vl_cap;
    info.vl_arbitration_low_cap = low;
    info.vl_arbitration_high_cap = high;
    ib::wire::encode(info, port.bytes.data());
  }
  void plan() {
    for (NodeIndex n = 0; n < observed.nodes.size(); ++n) {
      for (unsigned p = 1; p <= observed.fabric.node(n).num_ports; ++p) {
        const PortRef port{n, static_cast<std::uint8_t>(p)}, peer = observed.fabric.port(port).peer;
        if (!peer || !observed.port(port).known || !observed.port(peer).known) continue;
        PortWant& want = ports[observed.port_index(port)];
        want.managed = want.activate = true;
        want.operational_vls = std::min(observed.port(port).get<&PortInfo::vl_cap>(),
                                        observed.port(peer).get<&PortInfo::vl_cap>());
      }
    }
    tables = plan_vl_tables(observed, ports, routing);
  }

  NodeIndex first(bool is_switch) const {
    NodeIndex n = 0;
    while (observed.fabric.node(n).is_switch() != is_switch) ++n;
    return n;
  }
  /// A port of a switch that leads to another switch, or not.
  PortRef switch_port(bool to_switch) const {
    const NodeIndex n = first(true);
    for (unsigned p = 1; p <= observed.fabric.node(n).num_ports; ++p) {
      const PortRef peer = observed.fabric.port(n, p).peer;
      if (peer && observed.fabric.node(peer.node).is_switch() == to_switch)
        return {n, static_cast<std::uint8_t>(p)};
    }
    return {};
  }
  Row row(PortRef output, std::uint8_t input = 0) const {
    const auto* block = tables->find(kSlToVl, output.node, {output.port, input, 0});
    if (block == nullptr) return {};
    return ib::wire::decode<ib::wire::SlToVlTable>(block->data()).vl;
  }
  bool has(const TableKind& kind, PortRef p, std::uint16_t block = 0) const {
    return tables->find(kind, p.node, {p.port, 0, block}) != nullptr;
  }
  ib::wire::VlArbitrationTable arbitration(PortRef p, std::uint16_t block) const {
    const auto* held = tables->find(kVlArbitration, p.node, {p.port, 0, block});
    if (held == nullptr) return {};
    return ib::wire::decode<ib::wire::VlArbitrationTable>(held->data());
  }

  Observed observed;
  Routing routing{ib::fabric::CompactGraph(observed.fabric), {}, {}, {}, {}};
  std::vector<PortWant> ports;
  std::shared_ptr<const WantedTables> tables;
};

TEST_F(VlTables, RoutesOnOneVlGetTheMappingOfNewHardware) {
  plan();
  const Row eight = SlToVlRow::modulo(8).vl;
  const PortRef host{first(false), 1}, down = switch_port(false), up = switch_port(true);
  EXPECT_EQ(row(host), eight);
  EXPECT_EQ(row(down), eight);
  EXPECT_EQ(row(up, down.port), eight);
  EXPECT_FALSE(has(kSlToVl, {down.node, 0})) << "port 0 is no port with a link";
}

TEST_F(VlTables, RowsAreThoseOfTheRoutesFoldedToTheVlsOfTheLink) {
  SlToVlRow inject, turn;
  inject.vl = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  turn.vl.fill(5);
  const PortRef down = switch_port(false), up = switch_port(true);
  routing.virtual_lanes.sl_to_vl = ib::tables::SlToVl(routing.graph, inject);
  const auto s = routing.graph.switch_of(down.node);
  routing.virtual_lanes.sl_to_vl.set(s, down.port, up.port, turn);
  set_port(observed.fabric.port(down).peer, 2, 8, 8);
  plan();
  EXPECT_EQ(row(up, down.port), turn.vl) << "8 VLs";
  EXPECT_EQ(row(up), (Row{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 15})) << "15 drops";
  const Row two{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 15};
  EXPECT_EQ(row(down, up.port), two);
  EXPECT_EQ(row(observed.fabric.port(down).peer), two) << "what a host injects";
}

TEST_F(VlTables, ArbitrationServesEveryVlOfTheLink) {
  const PortRef up = switch_port(true), down = switch_port(false);
  set_port(observed.fabric.port(down).peer, 3, 8, 0);
  plan();
  EXPECT_EQ(arbitration(up, 1), default_arbitration(8, Arbitrated::Low));
  EXPECT_EQ(arbitration(up, 3), default_arbitration(8, Arbitrated::High));
  EXPECT_EQ(arbitration(down, 1), default_arbitration(4, Arbitrated::Low));
  const PortRef host = observed.fabric.port(down).peer;
  EXPECT_FALSE(has(kVlArbitration, host, 3)) << "it has no such table";
  EXPECT_EQ(arbitration(host, 1), default_arbitration(4, Arbitrated::All));
}

TEST_F(VlTables, WhatADeviceHasNotIsNotWanted) {
  const PortRef host{first(false), 1};
  set_port(host, 1, 0, 0);
  PortInfo port0 = observed.port({first(true), 0}).info();
  port0.capability_mask &= ~ib::wire::port_cap::kSlMapping;
  ib::wire::encode(port0, observed.port({first(true), 0}).bytes.data());
  plan();
  EXPECT_FALSE(has(kSlToVl, host)) << "one data VL";
  EXPECT_FALSE(has(kVlArbitration, host, 1));
  EXPECT_FALSE(has(kVlArbitration, observed.fabric.port(host).peer, 1)) << "nor at the far end";
  EXPECT_FALSE(has(kSlToVl, switch_port(true))) << "the switch maps no SLs";
  EXPECT_TRUE(has(kVlArbitration, switch_port(true), 1));
}

TEST_F(VlTables, PortsThatAreNotBroughtUpKeepWhatTheyHold) {
  plan();
  const PortRef up = switch_port(true);
  ports[observed.port_index(up)].activate = false;
  tables = plan_vl_tables(observed, ports, routing);
  EXPECT_FALSE(has(kSlToVl, up));
  EXPECT_FALSE(has(kVlArbitration, up, 1));
  EXPECT_EQ(tables->find(kSlToVl, up.node, {switch_port(false).port, up.port, 0}), nullptr)
      << "nor is a row of such an input anybody's";
}

/// Every wanted block names VLs in operation alone.
void expect_in_operation(const Observed& observed, const std::vector<PortWant>& ports,
                         const WantedTables& tables) {
  for (const TableKind* kind : {&kSlToVl, &kVlArbitration}) {
    for (NodeIndex n = 0; n < observed.nodes.size(); ++n) {
      std::vector<Slot> slots;
      kind->slots(observed, n, slots);
      for (const Slot slot : slots) {
        const auto* block = tables.find(*kind, n, slot);
        if (block == nullptr) continue;
        const unsigned vls =
            ib::wire::data_vls(ports[observed.port_index({n, slot.port})].operational_vls);
        if (kind == &kSlToVl) {
          for (const unsigned vl : ib::wire::decode<ib::wire::SlToVlTable>(block->data()).vl)
            ASSERT_TRUE(vl < vls || vl == 15) << vl << " of " << vls;
        } else {
          const auto table = ib::wire::decode<ib::wire::VlArbitrationTable>(block->data());
          for (std::size_t i = 0; i < 32; ++i)
            ASSERT_TRUE(table.weight[i] == 0 || table.vl[i] < vls) << +table.vl[i];
        }
      }
    }
  }
}

/// Every VL that a row maps to has weight, where the port has a table.
void expect_weight(const Observed& observed, const WantedTables& tables) {
  for (NodeIndex n = 0; n < observed.nodes.size(); ++n) {
    std::vector<Slot> slots;
    kSlToVl.slots(observed, n, slots);
    for (const Slot slot : slots) {
      const auto* row = tables.find(kSlToVl, n, slot);
      std::set<unsigned> weighted;
      bool any = false;
      for (std::uint16_t number = 1; number <= 4; ++number) {
        const auto* block = tables.find(kVlArbitration, n, {slot.port, 0, number});
        if (block == nullptr) continue;
        any = true;
        const auto& port = observed.port({n, slot.port});
        const unsigned entries = number <= 2 ? port.get<&PortInfo::vl_arbitration_low_cap>()
                                             : port.get<&PortInfo::vl_arbitration_high_cap>();
        const auto table = ib::wire::decode<ib::wire::VlArbitrationTable>(block->data());
        for (unsigned i = 0; i < 32 && i + (number % 2 == 0 ? 32 : 0) < entries; ++i)
          if (table.weight[i] != 0) weighted.insert(table.vl[i]);
      }
      if (row == nullptr || !any) continue;
      for (const unsigned vl : ib::wire::decode<ib::wire::SlToVlTable>(row->data()).vl)
        if (vl != 15) {
          ASSERT_TRUE(weighted.contains(vl)) << vl;
        }
    }
  }
}

TEST_F(VlTables, NoTableNamesAVlThatIsNotInOperation) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    SlToVlRow some;
    const auto any_row = [&] {
      for (auto& vl : some.vl) vl = static_cast<std::uint8_t>(random() % 16);
      return some;
    };
    routing.virtual_lanes.sl_to_vl = ib::tables::SlToVl(routing.graph, any_row());
    for (NodeIndex n = 0; n < observed.nodes.size(); ++n)
      for (unsigned p = 0; p <= observed.fabric.node(n).num_ports; ++p)
        set_port({n, static_cast<std::uint8_t>(p)}, static_cast<std::uint8_t>(1 + random() % 5),
                 static_cast<std::uint8_t>(random() % 65),
                 static_cast<std::uint8_t>(random() % 65));
    for (ib::fabric::SwitchIndex s = 0; s < routing.graph.switch_count(); ++s)
      for (std::uint8_t in = 0; in <= 8; ++in)
        for (std::uint8_t out = 1; out <= 8; ++out)
          routing.virtual_lanes.sl_to_vl.set(s, in, out, any_row());
    plan();
    expect_in_operation(observed, ports, *tables);
    expect_weight(observed, *tables);
  }
}

}  // namespace
}  // namespace sm::plan
