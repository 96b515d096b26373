// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The rows of the device tables: what they are called on the wire, which slots a node has, and by
// which way it is asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sm/device/tables/kinds.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::device {
namespace {

using ib::discover::Observed;
using ib::fabric::NodeIndex;
using ib::wire::PortInfo;
namespace attr = ib::wire::attr;

/// A tree whose ports have 8 VLs, SL to VL mapping and 40 entries of arbitration a priority.
class Tables : public ::testing::Test {
 protected:
  Tables() : observed(*sa::test::snapshot_of(sa::test::small_tree())->observed) {
    for (auto& port : observed.ports) {
      PortInfo info = port.info();
      info.capability_mask |= ib::wire::port_cap::kSlMapping;
      info.vl_cap = 4;
      info.vl_arbitration_low_cap = 40;
      info.vl_arbitration_high_cap = 8;
      info.guid_cap = 9;
      ib::wire::encode(info, port.bytes.data());
    }
    for (auto& node : observed.nodes) {
      node.info.partition_cap = 33;
      if (node.switch_info) node.switch_info->partition_enforcement_cap = 32;
    }
  }
  NodeIndex first(bool is_switch) const {
    NodeIndex n = 0;
    while (observed.fabric.node(n).is_switch() != is_switch) ++n;
    return n;
  }
  std::vector<Slot> slots(const TableKind& kind, NodeIndex n) const {
    std::vector<Slot> out;
    kind.slots(observed, n, out);
    return out;
  }
  void set_known(NodeIndex n, std::uint8_t port, bool known) {
    observed.port({n, port}).known = known;
  }

  Observed observed;
};

TEST_F(Tables, StandInTheOrderOfTheirAttributesEachOnce) {
  EXPECT_TRUE(std::ranges::is_sorted(table_kinds(), std::ranges::less_equal{},
                                     [](const TableKind* kind) { return kind->attribute; }) ||
              table_kinds().size() < 2);
  std::set<std::string_view> names;
  for (const TableKind* kind : table_kinds()) {
    EXPECT_TRUE(names.insert(kind->name).second) << kind->name;
    EXPECT_GE(kind->bytes, 1);
    EXPECT_LE(kind->bytes, 64);
  }
}

TEST_F(Tables, SlotsAscendAndAreOfPortsThatAreKnown) {
  for (const TableKind* kind : table_kinds()) {
    for (NodeIndex n = 0; n < observed.nodes.size(); ++n) {
      const auto all = slots(*kind, n);
      EXPECT_TRUE(std::ranges::is_sorted(all)) << kind->name;
      EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << kind->name;
    }
  }
  const NodeIndex host = first(false);
  set_known(host, 1, false);
  for (const TableKind* kind : table_kinds()) EXPECT_TRUE(slots(*kind, host).empty()) << kind->name;
}

TEST_F(Tables, PKeysOfEndPortsAndOfPortsThatEnforcePartitions) {
  const NodeIndex host = first(false), leaf = first(true);
  EXPECT_EQ(slots(kPKeyTable, host), (std::vector<Slot>{{1, 0, 0}, {1, 0, 1}}));
  EXPECT_EQ(slots(kPKeyTable, leaf).size(), 2U + 8U);
  EXPECT_EQ(kPKeyTable.modifier(observed, host, {1, 0, 1}), 1U);
  EXPECT_EQ(kPKeyTable.modifier(observed, leaf, {5, 0, 1}), 0x50001U);
  observed.nodes[leaf].switch_info->partition_enforcement_cap = 0;
  EXPECT_EQ(slots(kPKeyTable, leaf).size(), 2U);
}

TEST_F(Tables, PKeysAreTheSameWhereTheValidOnesOfTheTableAre) {
  const NodeIndex host = first(false);
  const auto block = [](std::initializer_list<std::uint16_t> keys) {
    ib::wire::PKeyTable table;
    std::size_t i = 0;
    for (const std::uint16_t key : keys) table.p_keys[i++] = ib::PKey{key};
    Block out{};
    ib::wire::encode(table, out.data());
    return out;
  };
  const auto same = [&](std::uint16_t b, const Block& x, const Block& y) {
    return means_the_same(kPKeyTable, observed, host, {1, 0, b}, x, y);
  };
  EXPECT_TRUE(same(0, block({0xFFFF, 0x8001}), block({0xFFFF, 0x8001, 0x8000})));
  EXPECT_FALSE(same(0, block({0xFFFF, 0x8001}), block({0xFFFF, 0x0001})));
  EXPECT_FALSE(same(0, block({0xFFFF, 0x8001}), block({0xFFFF, 0x8000})));
  EXPECT_FALSE(same(1, block({0x8001}), block({0x8002})));
  EXPECT_TRUE(same(1, block({0x8001}), block({0x8001, 0x8002}))) << "33 keys: one in block 1";
}

TEST_F(Tables, GuidsOfEndPorts) {
  const NodeIndex host = first(false), leaf = first(true);
  EXPECT_EQ(slots(kGuidInfo, host), (std::vector<Slot>{{1, 0, 0}, {1, 0, 1}}));
  EXPECT_EQ(slots(kGuidInfo, leaf), (std::vector<Slot>{{0, 0, 0}, {0, 0, 1}}));
  EXPECT_EQ(kGuidInfo.modifier(observed, leaf, {0, 0, 1}), 1U);
}

TEST_F(Tables, ArbitrationWhereThereIsMoreThanOneVl) {
  const NodeIndex host = first(false), leaf = first(true);
  EXPECT_EQ(slots(kVlArbitration, host), (std::vector<Slot>{{1, 0, 1}, {1, 0, 2}, {1, 0, 3}}));
  EXPECT_EQ(kVlArbitration.modifier(observed, host, {1, 0, 3}), 0x30000U);
  EXPECT_EQ(kVlArbitration.modifier(observed, leaf, {7, 0, 3}), 0x30007U);
  for (auto& port : observed.ports) {
    PortInfo info = port.info();
    info.vl_cap = 1;
    ib::wire::encode(info, port.bytes.data());
  }
  EXPECT_TRUE(slots(kVlArbitration, host).empty());
  EXPECT_TRUE(slots(kSlToVl, host).empty());
}

TEST_F(Tables, SlToVlOfEveryPairOfASwitchAndOfAHostsPort) {
  const NodeIndex host = first(false), leaf = first(true);
  EXPECT_EQ(slots(kSlToVl, host), (std::vector<Slot>{{1, 0, 0}}));
  EXPECT_EQ(slots(kSlToVl, leaf).size(), 81U);
  EXPECT_EQ(kSlToVl.modifier(observed, host, {1, 0, 0}), 0U);
  EXPECT_EQ(kSlToVl.modifier(observed, leaf, {7, 3, 0}), 0x307U);
}

TEST_F(Tables, AHostIsAskedByThePortThatTheTableIsOf) {
  const NodeIndex host = first(false);
  observed.nodes[host].info.local_port_num = ib::PortNum{1};
  EXPECT_EQ(route_to(observed, host, kPKeyTable, {1, 0, 0}), observed.nodes[host].route);
  // Reached by another port, it answers for that one: the way leads over the switch at port 1.
  observed.nodes[host].info.local_port_num = ib::PortNum{2};
  const auto peer = observed.fabric.port(host, 1).peer;
  ASSERT_TRUE(peer);
  EXPECT_EQ(route_to(observed, host, kPKeyTable, {1, 0, 0}),
            observed.nodes[peer.node].route.extended(peer.port));
  observed.fabric.disconnect({host, 1});
  EXPECT_EQ(route_to(observed, host, kPKeyTable, {1, 0, 0}), std::nullopt);
}

}  // namespace
}  // namespace sm::device
