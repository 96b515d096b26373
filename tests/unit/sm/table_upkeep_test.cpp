// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// When tables of devices are read, what takes a reading back, and when there is news of it.
#include "sm/core/table_upkeep.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sm/device/tables/kinds.h"
#include "tests/unit/sm/sa/subnet.h"

namespace sm::core {
namespace {

using ib::Instant;
using ib::kNever;
using ib::mad::Completion;
using ib::mad::Request;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr ib::mad::Cookie kOwner = ib::mad::Cookie{5} << 48;

class TableUpkeepTest : public ::testing::Test {
 protected:
  void begin(bool compare = false) { upkeep.begin(now, snapshot, managed, compare); }
  void answer(const Request& request) {
    Completion c;
    c.cookie = request.cookie;
    ib::mad::Packet packet;
    packet.mad = request.mad;
    packet.mad.data()[1] = low_byte;
    c.reply = std::move(packet);
    upkeep.on_completion(now, c);
  }
  /// Everything that is asked is answered.
  void read() {
    for (auto asked = upkeep.take_requests(); !asked.empty(); asked = upkeep.take_requests())
      for (const Request& request : asked) answer(request);
  }
  const ib::discover::Observed& observed() const { return *snapshot->observed; }

  const SnapshotPtr snapshot = sa::test::snapshot_of(sa::test::small_tree());
  const std::size_t nodes = snapshot->observed->nodes.size();
  const std::vector<bool> managed = std::vector<bool>(nodes, true);
  device::Inventory inventory;
  TableUpkeep upkeep{kOwner, milliseconds(100), inventory};
  Instant now{1'000'000'000};
  std::byte low_byte{0};  // of the first key in every answer
};

TEST_F(TableUpkeepTest, ReadsALittleAfterAFullSweep) {
  EXPECT_TRUE(upkeep.at_rest());
  EXPECT_EQ(upkeep.due(), kNever);
  const auto empty = upkeep.tables();
  EXPECT_EQ(empty->nodes_read(), 0U);
  EXPECT_EQ(upkeep.tables(), empty) << "nothing new, nothing copied";

  upkeep.on_sweep_done(now);
  EXPECT_FALSE(upkeep.at_rest());
  EXPECT_EQ(upkeep.due(), now + milliseconds(100));
  begin();
  EXPECT_FALSE(upkeep.at_rest());
  EXPECT_EQ(upkeep.due(), kNever);
  read();
  EXPECT_TRUE(upkeep.to_come());
  EXPECT_TRUE(upkeep.has_news(now));
  EXPECT_TRUE(upkeep.at_rest());
  EXPECT_EQ(upkeep.nodes_read(), nodes);
  const auto whole = upkeep.tables();
  EXPECT_EQ(whole->nodes_read(), nodes);
  EXPECT_EQ(empty->nodes_read(), 0U) << "who has the old ones keeps them";
  EXPECT_FALSE(upkeep.to_come());
  EXPECT_FALSE(upkeep.has_news(now));
  EXPECT_EQ(upkeep.tables(), whole);
  const auto said = upkeep.next_log();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->message, "read of " + std::to_string(nodes) + " nodes");
  EXPECT_FALSE(upkeep.next_log());
}

TEST_F(TableUpkeepTest, NeverReadsWhereItIsNotWanted) {
  TableUpkeep never(kOwner, std::nullopt, inventory);
  never.on_sweep_done(now);
  EXPECT_TRUE(never.at_rest());
  EXPECT_EQ(never.due(), kNever);
  EXPECT_FALSE(never.to_come());
}

TEST_F(TableUpkeepTest, ASweepTakesItBack) {
  upkeep.on_sweep_done(now);
  EXPECT_TRUE(upkeep.on_sweep_begun().empty());
  EXPECT_TRUE(upkeep.at_rest());

  // Halfway: some nodes were read, and some questions are under way.
  begin();
  auto asked = upkeep.take_requests();
  for (int turn = 0; turn < 20; ++turn) {
    answer(asked.front());
    asked.erase(asked.begin());
    for (Request& more : upkeep.take_requests()) asked.push_back(std::move(more));
  }
  std::vector<ib::mad::Cookie> under_way;
  under_way.reserve(asked.size());
  for (const Request& request : asked) under_way.push_back(request.cookie);
  std::ranges::sort(under_way);
  ASSERT_FALSE(under_way.empty());
  EXPECT_EQ(upkeep.on_sweep_begun(), under_way) << "nobody waits for these any more";
  EXPECT_TRUE(upkeep.at_rest());
  EXPECT_TRUE(upkeep.take_requests().empty());
  EXPECT_FALSE(upkeep.has_news(now));
  const auto some = upkeep.nodes_read();
  EXPECT_GT(some, 0U);
  EXPECT_LT(some, nodes);
  EXPECT_EQ(upkeep.tables()->nodes_read(), some) << "what was read is whole, and stays";
  EXPECT_TRUE(upkeep.to_come()) << "the rest";

  begin();
  read();
  EXPECT_TRUE(upkeep.has_news(now));
  EXPECT_EQ(upkeep.nodes_read(), nodes) << "each once";
}

TEST_F(TableUpkeepTest, TellsEverySecondOfALongReading) {
  begin();
  auto asked = upkeep.take_requests();
  while (upkeep.tables()->nodes_read() == 0) {
    ASSERT_FALSE(asked.empty());
    for (const Request& request : asked) answer(request);
    asked = upkeep.take_requests();
    EXPECT_FALSE(upkeep.has_news(now)) << "a second is not over";
    now = now + seconds(1);
    EXPECT_TRUE(upkeep.has_news(now));
  }
  EXPECT_LT(upkeep.tables()->nodes_read(), nodes);
  EXPECT_FALSE(upkeep.at_rest());
}

TEST_F(TableUpkeepTest, ReadsAgainWhatWasForgotten) {
  const auto read_now = [&] {
    const auto before = upkeep.nodes_read();
    begin();
    read();
    EXPECT_TRUE(upkeep.has_news(now));
    return upkeep.nodes_read() - before;
  };
  EXPECT_EQ(read_now(), nodes);
  EXPECT_EQ(read_now(), 0U);
  inventory.forget(observed().fabric.node(3).guid);
  EXPECT_EQ(upkeep.tables()->nodes_read(), nodes - 1);
  EXPECT_FALSE(upkeep.to_come()) << "all but one is known";
  EXPECT_EQ(read_now(), 1U);
  upkeep.on_found(observed(), false);
  EXPECT_EQ(read_now(), 0U) << "nobody restarted";
  upkeep.on_found(observed(), true);
  EXPECT_EQ(upkeep.tables()->nodes_read(), 0U);
  EXPECT_TRUE(upkeep.to_come());
  EXPECT_EQ(read_now(), nodes);
}

TEST_F(TableUpkeepTest, TellsWhatSomebodyElseWrote) {
  begin(true);
  read();
  EXPECT_TRUE(upkeep.has_news(now));
  EXPECT_FALSE(upkeep.take_rewritten()) << "nothing was known before";
  while (upkeep.next_log()) {
  }

  begin(true);
  read();
  EXPECT_TRUE(upkeep.has_news(now));
  EXPECT_FALSE(upkeep.take_rewritten());
  EXPECT_FALSE(upkeep.next_log());
  EXPECT_EQ(upkeep.nodes_read(), nodes) << "each once";

  low_byte = std::byte{2};
  const auto& all = observed().fabric.nodes();
  const auto& host = *std::ranges::find_if(all, [](const auto& n) { return !n.is_switch(); });
  begin(true);
  for (auto asked = upkeep.take_requests(); !asked.empty(); asked = upkeep.take_requests())
    for (const Request& request : asked) {
      EXPECT_EQ(request.mad.attribute_id(), ib::wire::attr::kPKeyTable);
      answer(request);
    }
  EXPECT_TRUE(upkeep.has_news(now));
  EXPECT_TRUE(upkeep.take_rewritten());
  EXPECT_FALSE(upkeep.take_rewritten()) << "once";
  const auto said = upkeep.next_log();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->level, ib::LogLevel::Warning);
  EXPECT_NE(said->message.find("P_KeyTable of "), std::string::npos) << said->message;
  EXPECT_FALSE(upkeep.next_log());
  const auto* held = inventory.held(device::kPKeyTable, host.guid, {1, 0, 0});
  ASSERT_NE(held, nullptr);
  EXPECT_EQ((*held)[1], std::byte{2});

  begin();
  EXPECT_TRUE(upkeep.take_requests().empty()) << "not asked for";
}

}  // namespace
}  // namespace sm::core
