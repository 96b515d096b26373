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

TEST(Inventory, WhatWasPublishedStaysAsItWas) {
  Inventory inventory;
  const Guid node{7};
  EXPECT_FALSE(inventory.note(kPKeyTable, node, {1, 0, 0}, filled(1))) << "nothing was read of it";
  inventory.put(node, std::make_shared<NodeTables>(kPorts));
  EXPECT_TRUE(inventory.note(kPKeyTable, node, {1, 0, 0}, filled(1)));
  const Inventory published = inventory;
  EXPECT_TRUE(inventory.note(kPKeyTable, node, {1, 0, 0}, filled(2)));
  EXPECT_FALSE(inventory.note(kPKeyTable, node, {1, 0, 0}, filled(2))) << "no news";
  ASSERT_NE(published.held(kPKeyTable, node, {1, 0, 0}), nullptr);
  EXPECT_EQ(*published.held(kPKeyTable, node, {1, 0, 0}), filled(1));
  EXPECT_EQ(*inventory.held(kPKeyTable, node, {1, 0, 0}), filled(2));
  EXPECT_TRUE(inventory.forget(node));
  EXPECT_FALSE(inventory.forget(node));
  EXPECT_EQ(inventory.held(kPKeyTable, node, {1, 0, 0}), nullptr);
  EXPECT_NE(published.find(node), nullptr);
}

TEST(Inventory, EqualBlocksAreKeptOnce) {
  Inventory inventory;
  const Inventory copy = inventory;
  EXPECT_EQ(inventory.stored(filled(3)), inventory.stored(filled(3)));
  EXPECT_NE(inventory.stored(filled(3)), inventory.stored(filled(4)));
}

TEST(Inventory, ForgetsWhoMayHaveLostItsTables) {
  const auto snapshot = sa::test::snapshot_of(sa::test::small_tree());
  auto observed = *snapshot->observed;
  Inventory inventory;
  for (const auto& node : observed.fabric.nodes())
    inventory.put(node.guid, std::make_shared<NodeTables>(node.num_ports));
  const auto set_state = [&](ib::fabric::PortRef port, ib::wire::PortState state) {
    ib::wire::PortInfo info = observed.port(port).info();
    info.port_state = state;
    ib::wire::encode(info, observed.port(port).bytes.data());
  };
  for (const auto& host : sa::test::hosts_of(observed.fabric))
    set_state(host, ib::wire::PortState::Active);
  EXPECT_FALSE(inventory.forget_restarted(observed));
  const auto host = sa::test::hosts_of(observed.fabric)[2];
  set_state(host, ib::wire::PortState::Initialize);
  EXPECT_TRUE(inventory.forget_restarted(observed));
  EXPECT_EQ(inventory.find(observed.fabric.node(host.node).guid), nullptr);
  EXPECT_EQ(inventory.size(), observed.nodes.size() - 1);
}

}  // namespace
}  // namespace sm::device
