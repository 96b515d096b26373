// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The store on etcd: what is committed is there, of one writer at a time, and an etcd that is away,
// full or slow loses nothing while the process lives.
#include "sm/store/etcd/etcd_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "tests/unit/sm/store/etcd_fake.h"
#include "tests/unit/sm/store/etcd_stores.h"
#include "tests/unit/sm/store/samples.h"

namespace sm::store::etcd {
namespace {

using ib::ErrorKind;
using ib::Guid;
using ib::Lid;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Fault = FakeEtcd::Fault;

TEST(EtcdStore, IsTheTwinInMemoryOnRandomBatches) {
  constexpr unsigned kSeed = 20262;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  FakeEtcd etcd;
  auto o = options();
  o.log_most = 7;
  o.part_most = 500;  // snapshots of many parts
  auto opened = open_well(etcd, o);
  EXPECT_EQ(opened.found, Found::Nothing);
  ASSERT_TRUE(opened.store->take());
  auto memory = make_memory_store();
  for (int round = 0; round < 60; ++round) {
    const Batch batch = random_batch(random);
    ASSERT_TRUE(opened.store->commit(batch));
    ASSERT_TRUE(memory->commit(batch));
    ASSERT_EQ(kept_in(etcd), *memory->load()) << round;
  }
  EXPECT_FALSE(memory->load()->services.empty());
  EXPECT_EQ(open_well(etcd, options("b")).found, Found::All);
  EXPECT_LE(etcd.most_operations, 128U);
  // Nothing of older snapshots and logs is left behind.
  EXPECT_LE(etcd.keys.size(), 2U + 7U + 60U);
}

TEST(EtcdStore, ALargeBatchIsNoValueOfMoreThanEtcdTakes) {
  FakeEtcd etcd;
  auto store = master(etcd);
  Batch large;
  for (std::uint64_t i = 1; i <= 40'000; ++i)
    large.lids.push_back({Guid{0x0002c90300000000 + i}, Lid{static_cast<std::uint16_t>(i)}, 0});
  ASSERT_TRUE(store->commit(large));
  EXPECT_LE(etcd.largest, 256U << 10);
  EXPECT_EQ(kept_in(etcd).lids, large.lids);
}

TEST(EtcdStore, ADeposedWriterIsRefusedAndWhatItWantedIsNotMerged) {
  FakeEtcd etcd;
  auto first = master(etcd, "host-a");
  ASSERT_TRUE(first->commit(lid(1, 1)));
  auto second = master(etcd, "host-b");
  ASSERT_TRUE(second->commit(lid(2, 2)));

  const auto refused = first->commit(lid(1, 9));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Refused);
  EXPECT_THAT(refused.error().message, HasSubstr("host-b"));
  EXPECT_THAT(lines_of(*first), HasSubstr("another subnet manager has taken the store"));
  EXPECT_FALSE(first->commit(lid(3, 3)));
  EXPECT_EQ(first->rest(), std::nullopt);  // it does not try either
  EXPECT_THAT(kept_in(etcd).lids,
              ElementsAre(LidClaim{Guid{1}, Lid{1}, 0}, LidClaim{Guid{2}, Lid{2}, 0}));

  // Master again, it has what the other one wrote.
  first->stand_by();
  const auto contents = first->take();
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->lids, SizeIs(2));
  EXPECT_TRUE(first->commit(lid(3, 3)));
  EXPECT_FALSE(second->commit(lid(4, 4)));
}

TEST(EtcdStore, OneThatStandsByWritesNothing) {
  FakeEtcd etcd;
  auto first = master(etcd, "host-a");
  ASSERT_TRUE(first->commit(lid(1, 1)));
  auto standby = open_well(etcd, options("host-b"));
  EXPECT_THAT(standby.contents.lids, SizeIs(1));
  const auto before = etcd.keys;
  EXPECT_TRUE(standby.store->commit(lid(1, 5)));
  EXPECT_TRUE(standby.store->commit(lid(6, 6)));
  EXPECT_EQ(etcd.keys, before);
  ASSERT_TRUE(first->commit(lid(2, 2)));
  // What the master wrote stands above it; what only it knows is added.
  const auto contents = standby.store->take();
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->lids,
              ElementsAre(LidClaim{Guid{1}, Lid{1}, 0}, LidClaim{Guid{2}, Lid{2}, 0},
                          LidClaim{Guid{6}, Lid{6}, 0}));
  EXPECT_EQ(kept_in(etcd), *contents);
}

TEST(EtcdStore, WhoLooksTakesNothing) {
  FakeEtcd etcd;
  auto writer = master(etcd);
  auto next = std::move(open_well(etcd, options("b")).store);
  ASSERT_TRUE(writer->commit(lid(1, 10)));
  auto there = shared(*next).look();
  ASSERT_TRUE(there);
  EXPECT_THAT(there->lids, SizeIs(1));
  ASSERT_TRUE(writer->commit(lid(2, 20))) << "it is the writer's all the same";
  EXPECT_FALSE(shared(*writer).is_deposed());
  const auto taken = next->take();
  ASSERT_TRUE(taken);
  EXPECT_THAT(taken->lids, SizeIs(2));
  EXPECT_FALSE(writer->commit(lid(3, 30)));
}

TEST(EtcdStore, WhileEtcdIsAwayMemoryIsEnoughAndThenAllIsWritten) {
  FakeEtcd etcd;
  auto store = master(etcd);
  ASSERT_TRUE(store->commit(lid(1, 1)));
  etcd.always = Fault::Away;
  EXPECT_TRUE(store->commit(lid(2, 2)));
  EXPECT_THAT(lines_of(*store), HasSubstr("managed from memory"));
  const auto asked = etcd.txns;
  EXPECT_TRUE(store->commit(lid(3, 3)));
  EXPECT_EQ(etcd.txns, asked);            // nobody waits for it again
  EXPECT_THAT(retry(*store), IsEmpty());  // said once
  etcd.always = Fault::None;
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(1));
  EXPECT_THAT(retry(*store), HasSubstr("can be written again"));
  EXPECT_TRUE(store->is_whole());
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(3));
  ASSERT_TRUE(store->commit(lid(4, 4)));
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(4));
}

/// The master before may have answered clients while etcd had no leader, and died before it could
/// write that.
TEST(EtcdStore, WhoTakesOverAfterEtcdWasAwayKnowsThatRegistrationsMayBeMissing) {
  FakeEtcd etcd;
  auto first = master(etcd, "host-a");
  EXPECT_FALSE(shared(*master(etcd, "host-b")).take_lacks());
  etcd.term = 2;
  {
    auto next = master(etcd, "host-c");
    EXPECT_TRUE(shared(*next).take_lacks());
    EXPECT_TRUE(shared(*master(etcd, "host-d")).take_lacks()) << "and so does the next one";
  }
  auto last = master(etcd, "host-e");
  EXPECT_TRUE(shared(*last).take_lacks());
  look(*last);
  EXPECT_FALSE(shared(*master(etcd, "host-f")).take_lacks()) << "it found that nothing is missing";
}

TEST(EtcdStore, ThatOfAnotherFabricIsNotTaken) {
  FakeEtcd etcd;
  auto first = master(etcd, "host-a");
  for (std::uint16_t i = 1; i <= 4; ++i) ASSERT_TRUE(first->commit(lid(i, i)));
  const auto before = etcd.keys;
  auto opened = open_well(etcd, options("host-b"));
  shared(*opened.store).set_ports({Guid{7}, Guid{8}, Guid{9}, Guid{10}});
  const auto taken = opened.store->take();
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("is that of another one"));
  ASSERT_TRUE(opened.store->commit(lid(7, 1)));
  lines_of(*opened.store);
  retry(*opened.store);
  EXPECT_EQ(etcd.keys, before);
  // One node that is known is enough: the rest was replaced.
  shared(*opened.store).set_ports({Guid{7}, Guid{8}, Guid{9}, Guid{1}});
  EXPECT_TRUE(opened.store->take());
  // And an empty one is anybody's.
  FakeEtcd empty;
  auto fresh = open_well(empty, options("host-b"));
  shared(*fresh.store).set_ports({Guid{7}, Guid{8}, Guid{9}, Guid{10}});
  EXPECT_TRUE(fresh.store->take());
}

TEST(EtcdStore, AFullDiskIsSaidAndSurvived) {
  FakeEtcd etcd;
  auto store = master(etcd);
  etcd.always = Fault::Full;
  EXPECT_TRUE(store->commit(lid(2, 2)));
  EXPECT_THAT(lines_of(*store), HasSubstr("database space exceeded"));
  etcd.always = Fault::None;
  retry(*store);
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(1));
}

TEST(EtcdStore, AWriteWithoutAnAnswerIsNotDoneTwice) {
  for (const Fault fault : {Fault::AnswerLost, Fault::Late}) {
    FakeEtcd etcd;
    auto store = master(etcd);
    ASSERT_TRUE(store->commit(lid(1, 1)));
    etcd.next = {fault};
    EXPECT_TRUE(store->commit(lid(1, 2)));
    lines_of(*store);
    EXPECT_TRUE(store->commit(lid(1, 3)));
    retry(*store);
    ASSERT_TRUE(store->commit(lid(2, 4)));
    etcd.deliver();  // too late: the head is another one
    const auto kept = kept_in(etcd);
    EXPECT_THAT(kept.lids, ElementsAre(LidClaim{Guid{1}, Lid{3}, 0}, LidClaim{Guid{2}, Lid{4}, 0}));
    ASSERT_TRUE(store->commit(lid(3, 5)));
    EXPECT_TRUE(store->is_whole());
    EXPECT_THAT(kept_in(etcd).lids, SizeIs(3));
  }
}

/// A snapshot of many parts that is cut off at each of its requests, in each way.
TEST(EtcdStore, HalfASnapshotIsNone) {
  for (const Fault fault : {Fault::Away, Fault::AnswerLost, Fault::Late, Fault::Full})
    for (std::size_t at = 0; at < 12; ++at) {
      SCOPED_TRACE(fmt::format("fault {} at request {}", static_cast<int>(fault), at));
      FakeEtcd etcd;
      auto o = options();
      o.log_most = 1;
      o.part_most = 40;
      auto opened = open_well(etcd, o);
      Store& store = *opened.store;
      ASSERT_TRUE(store.take());
      for (std::uint16_t i = 1; i < 9; ++i) ASSERT_TRUE(store.commit(lid(i, i)));
      const auto before = kept_in(etcd);
      etcd.next = std::vector<Fault>(at, Fault::None);
      etcd.next.push_back(fault);
      etcd.next.resize(at + 40, Fault::Away);
      ASSERT_TRUE(store.commit(lid(20, 20)));
      lines_of(store);
      etcd.next.clear();
      const auto now = kept_in(etcd);
      EXPECT_TRUE(now == before || now == *store.load());
      if (!store.is_whole()) retry(store);
      etcd.deliver();
      EXPECT_EQ(kept_in(etcd), *store.load());
      if (!store.is_whole()) retry(store);
      ASSERT_TRUE(store.commit(lid(21, 21)));
      if (store.rest() == ib::Duration{0}) lines_of(store);
      if (!store.is_whole()) retry(store);
      EXPECT_EQ(kept_in(etcd), *store.load());
      EXPECT_THAT(kept_in(etcd).lids, SizeIs(10));
    }
}

TEST(EtcdStore, OneThatBeganWithoutEtcdAddsToWhatIsThere) {
  FakeEtcd etcd;
  ASSERT_TRUE(master(etcd)->commit(lid(1, 1)));
  etcd.always = Fault::Away;
  auto opened = open_well(etcd, options("b"));
  EXPECT_EQ(opened.found, Found::Part);
  EXPECT_THAT(opened.lines, SizeIs(1));
  EXPECT_TRUE(opened.store->commit(lid(7, 7)));  // a backup
  EXPECT_FALSE(opened.store->take());
  lines_of(*opened.store);
  Batch gone;
  gone.lids_removed = {Guid{1}};
  EXPECT_TRUE(opened.store->commit(gone));
  EXPECT_TRUE(opened.store->commit(lid(2, 2)));
  etcd.always = Fault::None;
  EXPECT_THAT(retry(*opened.store), HasSubstr("can be written again"));
  EXPECT_THAT(kept_in(etcd).lids,
              ElementsAre(LidClaim{Guid{2}, Lid{2}, 0}, LidClaim{Guid{7}, Lid{7}, 0}));
}

TEST(EtcdStore, ATakeThatMeetsAWriteHasIt) {
  FakeEtcd etcd;
  auto first = master(etcd, "a");
  ASSERT_TRUE(first->commit(lid(1, 1)));
  auto standby = open_well(etcd, options("b"));
  etcd.before_range = [&] { ASSERT_TRUE(first->commit(lid(2, 2))); };
  const auto contents = standby.store->take();
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->lids, SizeIs(2));
}

TEST(EtcdStore, AReaderBesideOneThatTidiesUpReadsOneState) {
  FakeEtcd etcd;
  auto store = master(etcd);
  for (std::uint16_t i = 1; i < 9; ++i) ASSERT_TRUE(store->commit(lid(i, i)));
  // The log that it reads is replaced, and what it was is compacted.
  etcd.before_range = [&] {
    Batch large;
    for (std::uint16_t i = 1; i < 5000; ++i) large.lids.push_back({Guid{i}, Lid{i}, 0});
    ASSERT_TRUE(store->commit(large));
    etcd.compacted = etcd.revision();
  };
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(4999));
}

}  // namespace
}  // namespace sm::store::etcd
