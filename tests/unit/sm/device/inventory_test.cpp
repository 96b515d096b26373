// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What an Inventory keeps of answers: the last block of each slot, apart for every table, and what
// was published before stays as it was.
#include "sm/device/inventory.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "sm/device/tables/kinds.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::device {
namespace {

using ib::Guid;

constexpr unsigned kPorts = 5;

Block filled(unsigned value) {
  Block block;
  block.fill(static_cast<std::byte>(value));
  return block;
}

Slot drawn_slot(const TableKind& kind, std::mt19937& random) {
  const auto port = static_cast<std::uint8_t>(random() % (kPorts + 1));
  if (kind.scope == Scope::PortPair)
    return {port, static_cast<std::uint8_t>(random() % (kPorts + 1)), 0};
  return {port, 0, static_cast<std::uint16_t>(random() % 7)};
}

TEST(NodeTables, HoldWhatWasPutLastAndNothingElse) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    BlockPool pool;
    NodeTables tables(kPorts);
    std::map<std::tuple<const TableKind*, Slot>, Block> expected;
    for (unsigned i = 0; i < 200; ++i) {
      const TableKind& kind = *table_kinds()[random() % table_kinds().size()];
      const Slot slot = drawn_slot(kind, random);
      const Block block = filled(random() % 4);
      tables.put(kind, slot, pool.stored(block));
      expected[{&kind, slot}] = block;
    }
    for (const TableKind* kind : table_kinds()) {
      for (unsigned i = 0; i < 200; ++i) {
        const Slot slot = drawn_slot(*kind, random);
        const auto at = expected.find({kind, slot});
        const Block* held = tables.held(*kind, slot);
        ASSERT_EQ(held != nullptr, at != expected.end()) << kind->name << ", seed " << seed;
        if (held == nullptr) continue;
        EXPECT_EQ(*held, at->second) << kind->name;
      }
    }
  }
}

TEST(NodeTables, AnyPortMayBeAskedForAndPut) {
  BlockPool pool;
  NodeTables tables(kPorts);
  const Block* block = pool.stored(filled(1));
  for (const TableKind* kind : table_kinds()) {
    for (const Slot slot :
         {Slot{kPorts + 1, 0, 0}, Slot{0, kPorts + 1, 0}, Slot{255, 255, 0xFFFF}}) {
      tables.put(*kind, slot, block);
      EXPECT_EQ(tables.held(*kind, slot), nullptr) << kind->name;
    }
  }
}

TEST(NodeTables, ForgetOneBlockOrATable) {
  BlockPool pool;
  NodeTables tables(kPorts);
  for (const TableKind* kind : table_kinds())
    for (const std::uint8_t port : {std::uint8_t{1}, std::uint8_t{2}})
      tables.put(*kind, {port, 0, 0}, pool.stored(filled(1)));
  for (const TableKind* kind : table_kinds()) {
    tables.forget(*kind, {1, 0, 0});
    tables.forget(*kind, {3, 0, 0});
    EXPECT_EQ(tables.held(*kind, {1, 0, 0}), nullptr) << kind->name;
    EXPECT_NE(tables.held(*kind, {2, 0, 0}), nullptr) << kind->name;
  }
  tables.forget(kPKeyTable);
  tables.forget(kSlToVl);
  EXPECT_EQ(tables.held(kPKeyTable, {2, 0, 0}), nullptr);
  EXPECT_EQ(tables.held(kSlToVl, {2, 0, 0}), nullptr);
  EXPECT_NE(tables.held(kGuidInfo, {2, 0, 0}), nullptr);
}

TEST(NodeTables, ABlockThatIsNotThereIsThereOnceItIsPutAndUnknownOnceItsTableIsForgotten) {
  BlockPool pool;
  NodeTables tables(kPorts);
  tables.put(kPKeyTable, {1, 0, 0}, pool.stored(filled(1)));
  for (const std::uint16_t block : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{1}})
    tables.note_absent(kPKeyTable, {1, 0, block});
  tables.note_absent(kGuidInfo, {1, 0, 1});
  EXPECT_FALSE(tables.is_absent(kPKeyTable, {1, 0, 0}));
  EXPECT_FALSE(tables.is_absent(kPKeyTable, {2, 0, 1})) << "another port";
  EXPECT_TRUE(tables.is_absent(kPKeyTable, {1, 0, 1}) && tables.is_absent(kPKeyTable, {1, 0, 2}));
  tables.put(kPKeyTable, {1, 0, 1}, pool.stored(filled(1)));
  EXPECT_FALSE(tables.is_absent(kPKeyTable, {1, 0, 1}));
  EXPECT_TRUE(tables.is_absent(kPKeyTable, {1, 0, 2}));
  tables.forget(kPKeyTable);
  EXPECT_FALSE(tables.is_absent(kPKeyTable, {1, 0, 2}));
  EXPECT_TRUE(tables.lacks_some());
  tables.forget(kGuidInfo);
  EXPECT_FALSE(tables.lacks_some());
}

TEST(Inventory, WhatWasPublishedStaysAsItWas) {
  Inventory inventory;
  const Guid node{7}, other{8};
  inventory.put(kPKeyTable, node, kPorts, {1, 0, 0}, filled(1));
  inventory.put(kPKeyTable, other, kPorts, {1, 0, 0}, filled(1));
  const auto published = inventory.publish();
  const auto revision = inventory.revision();
  inventory.put(kPKeyTable, node, kPorts, {1, 0, 0}, filled(1));
  EXPECT_EQ(inventory.revision(), revision) << "no news";
  inventory.put(kPKeyTable, node, kPorts, {1, 0, 0}, filled(2));
  EXPECT_GT(inventory.revision(), revision);
  const auto* changed = inventory.find(node);
  inventory.put(kPKeyTable, node, kPorts, {1, 0, 1}, filled(3));
  EXPECT_EQ(inventory.find(node), changed) << "copied once";
  inventory.forget(kPKeyTable, other, {1, 0, 0});
  EXPECT_EQ(*inventory.held(kPKeyTable, node, {1, 0, 0}), filled(2));
  EXPECT_EQ(inventory.held(kPKeyTable, other, {1, 0, 0}), nullptr);
  EXPECT_EQ(*published->held(kPKeyTable, node, {1, 0, 0}), filled(1));
  EXPECT_EQ(published->held(kPKeyTable, node, {1, 0, 1}), nullptr);
  EXPECT_EQ(*published->held(kPKeyTable, other, {1, 0, 0}), filled(1));
  inventory.clear();
  EXPECT_EQ(inventory.find(node), nullptr);
  EXPECT_NE(published->find(node), nullptr);
}

TEST(Inventory, ANodeIsReadUntilSomethingOfItIsForgotten) {
  Inventory inventory;
  const Guid node{7};
  EXPECT_FALSE(inventory.is_read(node));
  inventory.put(kPKeyTable, node, kPorts, {1, 0, 0}, filled(1));
  EXPECT_FALSE(inventory.is_read(node));
  inventory.mark_read(node, kPorts);
  EXPECT_TRUE(inventory.is_read(node));
  EXPECT_EQ(inventory.nodes_read(), 1U);
  inventory.forget(kGuidInfo, node, {1, 0, 0});
  EXPECT_TRUE(inventory.is_read(node)) << "nothing was known of that";
  inventory.forget(kPKeyTable, node, {1, 0, 0});
  EXPECT_FALSE(inventory.is_read(node));
}

TEST(Inventory, EqualBlocksAreKeptOnce) {
  Inventory inventory;
  EXPECT_EQ(inventory.stored(filled(3)), inventory.stored(filled(3)));
  EXPECT_NE(inventory.stored(filled(3)), inventory.stored(filled(4)));
}

TEST(Inventory, ForgetsWhoIsNotThereOrMayHaveLostItsTables) {
  const auto snapshot = sa::test::snapshot_of(sa::test::small_tree());
  auto observed = *snapshot->observed;
  Inventory inventory;
  for (const auto& node : observed.fabric.nodes()) inventory.mark_read(node.guid, node.num_ports);
  inventory.mark_read(Guid{0xA3A4}, 1);
  const auto set_state = [&](ib::fabric::PortRef port, ib::wire::PortState state) {
    ib::wire::PortInfo info = observed.port(port).info();
    info.port_state = state;
    ib::wire::encode(info, observed.port(port).bytes.data());
  };
  for (const auto& host : sa::test::hosts_of(observed.fabric))
    set_state(host, ib::wire::PortState::Active);
  inventory.forget_lost(observed);
  EXPECT_EQ(inventory.nodes_read(), observed.nodes.size());
  const auto host = sa::test::hosts_of(observed.fabric)[2];
  set_state(host, ib::wire::PortState::Initialize);
  inventory.forget_lost(observed);
  EXPECT_FALSE(inventory.is_read(observed.fabric.node(host.node).guid));
  EXPECT_EQ(inventory.nodes_read(), observed.nodes.size() - 1);
}

TEST(Inventory, ForwardingTablesStayAsTheyWerePublished) {
  Inventory inventory;
  const Guid a{1}, b{2};
  inventory.own_forwarding(a).lft = {7, 8};
  inventory.own_forwarding(b).lft = {9};
  const auto before = inventory.publish();
  EXPECT_EQ(inventory.forwarding(a), before->forwarding(a)) << "shared";
  const auto revision = inventory.revision();
  inventory.own_forwarding(a).lft[0] = 1;
  EXPECT_GT(inventory.revision(), revision);
  EXPECT_EQ(before->forwarding(a)->lft[0], 7);
  EXPECT_EQ(inventory.forwarding(a)->lft[0], 1);
  EXPECT_EQ(inventory.forwarding(b), before->forwarding(b)) << "nothing of it changed";
  EXPECT_EQ(inventory.forwarding(Guid{3}), nullptr);
}

/// Whether a switch lost its forwarding tables is seen by its LinearFDBTop and its ports.
TEST(Inventory, ForgettingOtherTablesLeavesForwardingTables) {
  Inventory inventory;
  const Guid node{1};
  inventory.put(kPKeyTable, node, kPorts, {1, 0, 0}, filled(1));
  inventory.own_forwarding(node).lft = {7};
  inventory.forget(node);
  EXPECT_EQ(inventory.find(node), nullptr);
  ASSERT_NE(inventory.forwarding(node), nullptr);
  inventory.clear();
  EXPECT_EQ(inventory.forwarding(node)->lft[0], 7);
}

}  // namespace
}  // namespace sm::device
