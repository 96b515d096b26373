// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which P_Key stands at which index, what is left out where there is no room, and where switches
// check keys.
#include "sm/plan/p_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "sm/device/tables/kinds.h"
#include "sm/plan/partitions.h"
#include "tests/unit/sm/policy/policy_of.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::plan {
namespace {

using device::kPKeyTable;
using ib::PKey;
using ib::fabric::PortRef;
using policy::PortPartition;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<PortPartition> keys(std::initializer_list<std::uint16_t> values) {
  std::vector<PortPartition> out;
  for (const std::uint16_t value : values) out.push_back({PKey{value}, false});
  return out;
}
std::vector<PKey> table(std::initializer_list<std::uint16_t> values) {
  std::vector<PKey> out;
  for (const std::uint16_t value : values) out.push_back(PKey{value});
  return out;
}

TEST(PlaceKeys, InTheirOrderIntoAnEmptyTable) {
  const auto placed = place_keys(keys({0xFFFF, 0x8001, 0x0002}), table({0, 0, 0, 0}), true);
  EXPECT_EQ(placed.table, table({0xFFFF, 0x8001, 0x0002, 0}));
  EXPECT_THAT(placed.left_out, IsEmpty());
}

TEST(PlaceKeys, AKeyKeepsItsIndexAndOthersFillTheHoles) {
  const auto held = table({0xFFFF, 0x8005, 0x8001, 0x8007});
  EXPECT_EQ(place_keys(keys({0xFFFF, 0x8001, 0x8002, 0x8003}), held, true).table,
            table({0xFFFF, 0x8002, 0x8001, 0x8003}));
  EXPECT_EQ(place_keys(keys({0xFFFF, 0x8001, 0x8002, 0x8003}), held, false).table,
            table({0xFFFF, 0x8001, 0x8002, 0x8003}));
}

TEST(PlaceKeys, AChangedMembershipKeepsTheIndex) {
  EXPECT_EQ(place_keys(keys({0x7FFF, 0x8001}), table({0x8001, 0xFFFF, 0}), true).table,
            table({0x8001, 0x7FFF, 0}));
  // Both memberships of one partition: each finds its own first.
  EXPECT_EQ(place_keys(keys({0xFFFF, 0x8001, 0x0001}), table({0xFFFF, 0x0001, 0}), true).table,
            table({0xFFFF, 0x0001, 0x8001}));
}

TEST(PlaceKeys, Index0IsTakenAndWhoWasThereMoves) {
  auto wanted = keys({0xFFFF, 0x8001, 0x8002});
  wanted[2].index0 = true;
  EXPECT_EQ(place_keys(wanted, table({0xFFFF, 0x8001, 0x8002, 0}), true).table,
            table({0x8002, 0x8001, 0xFFFF, 0}));
  EXPECT_EQ(place_keys(wanted, table({0x8002, 0xFFFF, 0, 0}), true).table,
            table({0x8002, 0xFFFF, 0x8001, 0}));
  EXPECT_EQ(place_keys(wanted, table({0, 0, 0, 0}), true).table,
            table({0x8002, 0xFFFF, 0x8001, 0}));
}

/// As after a device told another table than it has, and was told its keys by that.
TEST(PlaceKeys, TheDefaultKeyIsAtIndex0WhereNothingIs) {
  EXPECT_EQ(place_keys(keys({0xFFFF, 0x8001}), table({0, 0x8001, 0, 0xFFFF}), true).table,
            table({0xFFFF, 0x8001, 0, 0}));
  EXPECT_EQ(place_keys(keys({0xFFFF, 0x8001}), table({0x8666, 0xFFFF, 0}), true).table,
            table({0x8001, 0xFFFF, 0}));
}

TEST(PlaceKeys, WhatDoesNotFitIsLeftOutFromTheEnd) {
  const auto placed = place_keys(keys({0xFFFF, 0x8001, 0x8002}), table({0x8002, 0x8001}), true);
  EXPECT_EQ(placed.table, table({0xFFFF, 0x8001}));
  EXPECT_EQ(placed.left_out, keys({0x8002}));
  EXPECT_EQ(place_keys(keys({0xFFFF}), {}, true).left_out, keys({0xFFFF}));
}

/// Whatever a table holds: every key that fits is there once, nothing else is, a key of before did
/// not move unless index 0 was taken from it, and the same again changes nothing.
TEST(PlaceKeys, HoldsForAnyTable) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    std::vector<PKey> held(1 + random() % 12, PKey{0});
    for (PKey& key : held)
      if (random() % 3 != 0)
        key = PKey{static_cast<std::uint16_t>(random() % 9 | (random() % 2) << 15)};
    std::vector<PortPartition> wanted;
    std::set<std::uint16_t> bases;
    for (unsigned i = 0; i < random() % 12; ++i) {
      const auto base = static_cast<std::uint16_t>(1 + random() % 12);
      if (!bases.insert(base).second) continue;
      wanted.push_back(
          {PKey{static_cast<std::uint16_t>(base | (random() % 2) << 15)}, random() % 8 == 0});
    }
    const auto placed = place_keys(wanted, held, true);
    ASSERT_EQ(placed.table.size(), held.size());
    std::vector<PKey> found;
    std::ranges::copy_if(placed.table, std::back_inserter(found),
                         [](PKey key) { return key.value != 0; });
    std::vector<PKey> expected;
    for (std::size_t i = 0; i < std::min(wanted.size(), held.size()); ++i)
      expected.push_back(wanted[i].p_key);
    EXPECT_EQ(placed.left_out.size(), wanted.size() - expected.size());
    std::ranges::sort(found);
    std::ranges::sort(expected);
    EXPECT_EQ(found, expected) << "seed " << seed;
    for (std::size_t i = 1; i < held.size(); ++i) {
      const bool first =
          std::ranges::find(held, held[i]) - held.begin() == static_cast<std::ptrdiff_t>(i);
      if (!first || !std::ranges::binary_search(expected, held[i]) || placed.table[0] == held[i])
        continue;
      EXPECT_EQ(placed.table[i], held[i]) << "seed " << seed;
    }
    EXPECT_EQ(place_keys(wanted, placed.table, true).table, placed.table) << "seed " << seed;
  }
}

class PlanPKeys : public ::testing::Test {
 protected:
  PlanPKeys()
      : observed(*sa::test::snapshot_of(sa::test::small_tree())->observed),
        hosts(sa::test::hosts_of(observed.fabric)) {
    for (auto& node : observed.nodes) {
      node.info.partition_cap = 40;
      if (!node.switch_info) continue;
      node.switch_info->partition_enforcement_cap = 32;
      node.switch_info->inbound_enforcement_cap = node.switch_info->outbound_enforcement_cap = true;
    }
  }
  PKeyPlan plan(const std::vector<EndPortKeys>& end_ports, PKeyOptions options = {}) {
    return plan_p_keys(observed, end_ports, inventory, options);
  }
  PortRef leaf_of(PortRef host) const { return observed.fabric.port(host).peer; }
  static std::vector<PKey> keys_of(const PKeyPlan& plan, PortRef port) {
    std::vector<PKey> out;
    for (const WantedBlock& want : plan.blocks) {
      if (want.node != port.node || want.slot.port != port.port) continue;
      EXPECT_EQ(want.kind, &kPKeyTable);
      const auto block = ib::wire::decode<ib::wire::PKeyTable>(want.block.data());
      std::ranges::copy_if(block.p_keys, std::back_inserter(out),
                           [](PKey key) { return key.value != 0; });
    }
    return out;
  }
  void hold(PortRef port, std::uint16_t block, std::initializer_list<std::uint16_t> values) {
    ib::wire::PKeyTable entries{};
    std::ranges::transform(values, entries.p_keys.begin(), [](auto v) { return PKey{v}; });
    device::Block bytes{};
    ib::wire::encode(entries, bytes.data());
    const auto& node = observed.fabric.node(port.node);
    inventory.put(kPKeyTable, node.guid, node.num_ports, {port.port, 0, block}, bytes);
  }

  ib::discover::Observed observed;
  std::vector<PortRef> hosts;
  device::Inventory inventory;
};

TEST_F(PlanPKeys, TheWholeTableOfAHostAndThePortItHangsFrom) {
  const auto p = plan({{hosts[2], keys({0xFFFF, 0x8001})}});
  EXPECT_THAT(p.blocks, SizeIs(2 + 1));
  EXPECT_THAT(keys_of(p, hosts[2]), ElementsAre(PKey{0xFFFF}, PKey{0x8001}));
  EXPECT_THAT(keys_of(p, leaf_of(hosts[2])), ElementsAre(PKey{0xFFFF}, PKey{0x8001}));
  ASSERT_THAT(p.enforcement, SizeIs(1));
  EXPECT_EQ(p.enforcement[0].port, leaf_of(hosts[2]));
  EXPECT_TRUE(p.enforcement[0].inbound && p.enforcement[0].outbound);
  EXPECT_THAT(p.alarms, IsEmpty());
  EXPECT_TRUE(std::ranges::is_sorted(p.blocks, {}, &WantedBlock::node));
}

TEST_F(PlanPKeys, WhatSomebodyElseWroteGoesAndIndexesStay) {
  hold(hosts[0], 0, {0xFFFF, 0x8666, 0x8002});
  hold(hosts[0], 1, {0x8667});
  const auto p = plan({{hosts[0], keys({0xFFFF, 0x8001, 0x8002})}});
  EXPECT_THAT(keys_of(p, hosts[0]), ElementsAre(PKey{0xFFFF}, PKey{0x8001}, PKey{0x8002}));
}

TEST_F(PlanPKeys, EnforcementAsAskedAndAsTheSwitchCan) {
  const std::vector<EndPortKeys> ends{{hosts[0], keys({0xFFFF})}};
  const auto check = [&](Enforcement enforcement) {
    return plan(ends, {enforcement, true}).enforcement.at(0);
  };
  EXPECT_TRUE(check(Enforcement::In).inbound && !check(Enforcement::In).outbound);
  EXPECT_TRUE(!check(Enforcement::Out).inbound && check(Enforcement::Out).outbound);
  EXPECT_FALSE(check(Enforcement::Off).inbound || check(Enforcement::Off).outbound);
  EXPECT_THAT(keys_of(plan(ends, {Enforcement::Off, true}), leaf_of(hosts[0])), IsEmpty());
  auto& info = *observed.nodes[leaf_of(hosts[0]).node].switch_info;
  info.inbound_enforcement_cap = false;
  EXPECT_TRUE(!check(Enforcement::Both).inbound && check(Enforcement::Both).outbound);
  info.partition_enforcement_cap = 0;
  EXPECT_FALSE(check(Enforcement::Both).outbound);
}

TEST_F(PlanPKeys, ATableThatIsTooSmallIsSaid) {
  observed.nodes[hosts[1].node].info.partition_cap = 2;
  auto& info = *observed.nodes[leaf_of(hosts[1]).node].switch_info;
  info.partition_enforcement_cap = 1;
  const auto p = plan({{hosts[1], keys({0xFFFF, 0x8001, 0x8002})}});
  EXPECT_THAT(keys_of(p, hosts[1]), ElementsAre(PKey{0xFFFF}, PKey{0x8001}));
  ASSERT_THAT(p.alarms, SizeIs(2));
  EXPECT_THAT(p.alarms[0], HasSubstr("its table holds 2 P_Keys; these did not fit: 0x8002"));
  EXPECT_THAT(p.alarms[1], HasSubstr("it does not enforce partitions"));
  EXPECT_FALSE(p.enforcement.at(0).inbound);
}

TEST_F(PlanPKeys, ATableEndsBeforeABlockThatIsNotThereAndHasItsFirst) {
  observed.nodes[hosts[0].node].info.partition_cap = 128;
  const auto& node = observed.fabric.node(hosts[0].node);
  std::vector<PortPartition> many;
  for (std::uint16_t key = 1; key <= 70; ++key) many.push_back({PKey{key}, false});
  const auto plan_without = [&](std::uint16_t block) {
    inventory.note_absent(kPKeyTable, node.guid, node.num_ports, {hosts[0].port, 0, block});
    const auto p = plan({{hosts[0], many}});
    std::vector<std::uint16_t> behind;
    behind.reserve(p.behind.size());
    for (const WantedBlock& want : p.behind) behind.push_back(want.slot.block);
    return std::tuple(keys_of(p, hosts[0]).size(), behind, p.left_out.size());
  };
  using Blocks = std::vector<std::uint16_t>;
  EXPECT_EQ(plan_without(0), std::tuple(70U, Blocks{}, 0U));
  EXPECT_EQ(plan_without(2), std::tuple(64U, (Blocks{2, 3}), 1U));
  EXPECT_EQ(plan_without(1), std::tuple(32U, (Blocks{1, 2, 3}), 1U));
}

TEST_F(PlanPKeys, PortZeroOfASwitchIsAnEndPort) {
  const PortRef port0{leaf_of(hosts[0]).node, 0};
  const auto p = plan({{port0, keys({0xFFFF})}});
  EXPECT_THAT(p.blocks, SizeIs(2));
  EXPECT_THAT(keys_of(p, port0), ElementsAre(PKey{0xFFFF}));
  EXPECT_THAT(p.enforcement, IsEmpty());
}

TEST_F(PlanPKeys, APortWithASwitchWhereAHostWasChecksNoMore) {
  const auto leaf = leaf_of(hosts[0]).node;
  PortRef uplink{};
  for (unsigned p = 1; p <= observed.fabric.node(leaf).num_ports; ++p) {
    const PortRef peer = observed.fabric.port(leaf, p).peer;
    if (peer && observed.fabric.node(peer.node).is_switch()) uplink = {leaf, std::uint8_t(p)};
  }
  ASSERT_TRUE(uplink);
  EXPECT_THAT(plan({{hosts[0], keys({0xFFFF})}}).enforcement, SizeIs(1));
  sa::test::fields_of(observed.port(uplink))
      .set<&ib::wire::PortInfo::partition_enforcement_outbound>(true);
  const auto p = plan({{hosts[0], keys({0xFFFF})}});
  ASSERT_THAT(p.enforcement, SizeIs(2));
  EXPECT_EQ(p.enforcement[1].port, uplink);
  EXPECT_FALSE(p.enforcement[1].inbound || p.enforcement[1].outbound);
}

TEST_F(PlanPKeys, APortLetsPassWhatVirtualPortsBehindItHave) {
  const auto p = plan({{hosts[0], keys({0xFFFF, 0x8001}), keys({0xFFFF, 0x8012, 0x8012})}});
  EXPECT_THAT(keys_of(p, hosts[0]), ElementsAre(PKey{0xFFFF}, PKey{0x8001}));
  EXPECT_THAT(keys_of(p, leaf_of(hosts[0])), ElementsAre(PKey{0xFFFF}, PKey{0x8001}, PKey{0x8012}));
}

TEST_F(PlanPKeys, KeysAreGivenToThePortsThatThePolicyNamesAndThroughThoseOfVirtualPorts) {
  const ib::Guid of_host = observed.fabric.port(hosts[1]).guid;
  Desired desired;
  desired.lids = {{hosts[0], observed.fabric.port(hosts[0]).guid, ib::Lid{1}, 0},
                  {hosts[1], of_host, ib::Lid{2}, 0},
                  {hosts[2], observed.fabric.port(hosts[2]).guid, ib::kNoLid, 0}};
  desired.sm_port = hosts[0];
  VirtualPort vport;
  vport.state = ib::wire::PortState::Active;
  vport.guid = ib::Guid{0x77};
  const VirtualPorts virtual_ports{{of_host, {true, 1, {vport}}}};
  const auto policy = policy::test::policy_of(
      "Default=0x7fff : ALL, SELF=full;\n"
      "red=0x1 : " +
      to_string(of_host) +
      "=full;\n"
      "blue=0x2 : 0x77;\n");
  EXPECT_EQ(given_keys(desired, observed, *policy, &virtual_ports),
            (GivenKeys{{hosts[0], PKey{0xFFFF}},
                       {hosts[1], PKey{0x7FFF}},
                       {hosts[1], PKey{0x8001}},
                       {hosts[1], PKey{0x0002}}}));
}

}  // namespace
}  // namespace sm::plan
