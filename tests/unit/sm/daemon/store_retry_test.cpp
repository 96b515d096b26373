// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/store_retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using ib::Guid;
using ib::Instant;
using ib::Lid;
using sm::daemon::StoreRetry;
using sm::store::Batch;

/// A disk that is full, or not, with a store on it.
struct Disk {
  bool full{false};
  unsigned tried{0};
  sm::store::Contents contents;
  StoreRetry lids{[this](const Batch& batch) -> ib::Result<void> {
    ++tried;
    if (full) return ib::fail(ib::ErrorKind::Io, "cannot write ibsm.db: database or disk is full");
    sm::store::apply(batch, contents);
    return {};
  }};

  std::uint16_t lid_of(std::uint64_t guid) const {
    for (const auto& claim : contents.lids)
      if (claim.port_guid == Guid{guid}) return claim.lid.value;
    return 0;
  }
};
Batch claim(std::uint64_t guid, std::uint16_t lid) {
  Batch batch;
  batch.lids.push_back({Guid{guid}, Lid{lid}, 0});
  return batch;
}

TEST(StoreRetry, SaysNothingWhileAllIsWell) {
  Disk disk;
  EXPECT_FALSE(disk.lids.commit(Instant{0}, claim(1, 11)));
  EXPECT_EQ(disk.lid_of(1), 11);
  EXPECT_EQ(disk.lids.next_deadline(), ib::kNever);
  EXPECT_FALSE(disk.lids.on_time(Instant{0} + 2 * StoreRetry::kEvery));
  EXPECT_EQ(disk.tried, 1U);
}

TEST(StoreRetry, WhoIsInDoubtAndWhoWroteAreMadeUpFor) {
  Disk disk;
  disk.full = true;
  Batch batch;
  batch.clients_in_doubt = {Guid{5}};
  batch.writers = {Guid{6}};
  EXPECT_TRUE(disk.lids.commit(Instant{0}, batch));
  disk.full = false;
  EXPECT_TRUE(disk.lids.on_time(Instant{0} + StoreRetry::kEvery));
  EXPECT_EQ(disk.contents.clients_in_doubt, std::vector{Guid{5}});
  EXPECT_EQ(disk.contents.writers, std::vector{Guid{6}});
}

TEST(StoreRetry, OfWhomToAskTheLastWordCounts) {
  Disk disk;
  disk.full = true;
  const auto batch = [](std::vector<Guid> to_ask, std::vector<Guid> asked) {
    Batch clients;
    clients.clients_to_ask = std::move(to_ask);
    clients.clients_asked = std::move(asked);
    return clients;
  };
  disk.contents.clients_to_ask = {Guid{1}, Guid{2}};
  EXPECT_TRUE(disk.lids.commit(Instant{0}, batch({Guid{3}, Guid{4}}, {Guid{1}, Guid{2}})));
  EXPECT_TRUE(disk.lids.commit(Instant{0}, batch({Guid{1}}, {Guid{3}})));
  disk.full = false;
  EXPECT_TRUE(disk.lids.on_time(disk.lids.next_deadline()));
  EXPECT_EQ(disk.contents.clients_to_ask, (std::vector{Guid{1}, Guid{4}}));
}

TEST(StoreRetry, OfWhoIsInDoubtTheLastWordCounts) {
  Disk disk;
  disk.full = true;
  disk.contents.clients_in_doubt = {Guid{1}, Guid{2}};
  Batch doubts, sure;
  doubts.clients_in_doubt = {Guid{3}, Guid{4}};
  sure.clients_sure = {Guid{1}, Guid{2}, Guid{3}};
  EXPECT_TRUE(disk.lids.commit(Instant{0}, doubts));
  EXPECT_TRUE(disk.lids.commit(Instant{0}, sure));
  doubts.clients_in_doubt = {Guid{1}};
  EXPECT_TRUE(disk.lids.commit(Instant{0}, doubts));
  disk.full = false;
  EXPECT_TRUE(disk.lids.on_time(disk.lids.next_deadline()));
  EXPECT_EQ(disk.contents.clients_in_doubt, (std::vector{Guid{1}, Guid{4}}));
}

TEST(StoreRetry, WritesWhatItCouldNotWhenThereIsRoom) {
  Disk disk;
  disk.full = true;
  const auto failed = disk.lids.commit(Instant{0}, claim(1, 11));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->level, ib::LogLevel::Error);
  EXPECT_THAT(
      failed->message,
      testing::HasSubstr("disk is full; LIDs in use that may be others after a restart: 1 ("));
  const Instant due = disk.lids.next_deadline();
  EXPECT_EQ(due, Instant{0} + StoreRetry::kEvery);
  EXPECT_FALSE(disk.lids.on_time(due - ib::Duration{1}));
  EXPECT_TRUE(disk.lids.on_time(due));
  disk.full = false;
  const auto written = disk.lids.on_time(disk.lids.next_deadline());
  ASSERT_TRUE(written);
  EXPECT_EQ(written->level, ib::LogLevel::Info);
  EXPECT_EQ(disk.lid_of(1), 11);
  EXPECT_EQ(disk.lids.next_deadline(), ib::kNever);
}

TEST(StoreRetry, WhatCameMeanwhileIsWrittenInItsOrder) {
  Disk disk;
  EXPECT_FALSE(disk.lids.commit(Instant{0}, claim(9, 99)));
  disk.full = true;
  EXPECT_TRUE(disk.lids.commit(Instant{0}, claim(1, 11)));
  Batch forget = claim(2, 22);
  forget.forget_lids = true;
  EXPECT_TRUE(disk.lids.commit(Instant{1}, forget));
  EXPECT_TRUE(disk.lids.commit(Instant{2}, claim(2, 23)));
  disk.full = false;
  EXPECT_TRUE(disk.lids.commit(Instant{3}, claim(3, 33)));
  EXPECT_EQ(disk.contents.lids.size(), 2U);
  EXPECT_EQ(disk.lid_of(2), 23);
  EXPECT_EQ(disk.lid_of(3), 33);
}

}  // namespace
