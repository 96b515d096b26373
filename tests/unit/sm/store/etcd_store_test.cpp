// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/etcd_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "sm/store/etcd/batch_code.h"
#include "tests/unit/sm/store/etcd_fake.h"
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

BookOptions options(std::string holder = "a") {
  BookOptions o;
  o.prefix = "/ibkit/default/";
  o.fabric = "fe80000000000000";
  o.holder = std::move(holder);
  return o;
}

Opened open_well(FakeEtcd& etcd, BookOptions o) {
  auto opened = EtcdStore::open(std::move(o), std::make_unique<FakeCluster>(etcd));
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? *std::move(opened) : Opened{};
}
/// One that writes.
std::unique_ptr<Store> master(FakeEtcd& etcd, std::string holder = "a") {
  auto opened = open_well(etcd, options(std::move(holder)));
  EXPECT_TRUE(opened.store->take());
  return std::move(opened.store);
}
Contents kept_in(FakeEtcd& etcd) { return open_well(etcd, options("reader")).contents; }

Batch lid(std::uint64_t guid, std::uint16_t lid) {
  Batch batch;
  batch.lids = {{Guid{guid}, Lid{lid}, 0}};
  return batch;
}
std::string lines_of(Store& store) {
  std::string text;
  while (store.rest() == ib::Duration{0})
    for (const auto& line : store.on_time()) text += line.message + '\n';
  return text;
}
SharedStore& shared(Store& store) { return dynamic_cast<SharedStore&>(store); }
/// When it looks whether everything is still there.
std::string look(Store& store) {
  EXPECT_EQ(store.rest(), EtcdStore::kLookEvery);
  std::string text;
  for (const auto& line : store.on_time()) text += line.message + '\n';
  return text + lines_of(store);
}
/// When it tries again.
std::string retry(Store& store) {
  EXPECT_EQ(store.rest(), EtcdStore::kTryEvery);
  std::string text;
  for (const auto& line : store.on_time()) text += line.message + '\n';
  return text;
}

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

class EtcdJournal : public ::testing::Test {
 protected:
  Opened open(const std::string& holder) {
    auto opened =
        EtcdStore::open(options(holder), std::make_unique<FakeCluster>(etcd), {nullptr, path});
    EXPECT_TRUE(opened);
    return opened ? *std::move(opened) : Opened{};
  }
  /// Writes LID 1, and 2 and 3 while etcd is away; and dies.
  void leave_two() {
    auto opened = open("a");
    ASSERT_TRUE(opened.store->take());
    ASSERT_TRUE(opened.store->commit(lid(1, 1)));
    EXPECT_FALSE(std::filesystem::exists(path));
    etcd.always = Fault::Away;
    ASSERT_TRUE(opened.store->commit(lid(2, 2)));
    ASSERT_TRUE(opened.store->commit(lid(3, 3)));
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  FakeEtcd etcd;
  Directory directory;
  std::string path{directory.path() + "/etcd-journal"};
};

TEST_F(EtcdJournal, WhatWasCommittedWhileEtcdWasAwayOutlivesTheProcess) {
  leave_two();
  etcd.always = Fault::None;
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(1));
  auto opened = open("b");
  EXPECT_THAT(opened.contents.lids, SizeIs(3));
  const auto contents = opened.store->take();
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->lids, SizeIs(3));
  EXPECT_THAT(lines_of(*opened.store), HasSubstr("is in the store now"));
  EXPECT_EQ(kept_in(etcd), *contents);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(EtcdJournal, ButNotTheTermOfAnotherOne) {
  leave_two();
  etcd.always = Fault::None;
  ASSERT_TRUE(master(etcd, "host-b")->commit(lid(2, 9)));
  auto opened = open("c");
  const auto contents = opened.store->take();
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->lids,
              ElementsAre(LidClaim{Guid{1}, Lid{1}, 0}, LidClaim{Guid{2}, Lid{9}, 0}));
  EXPECT_THAT(lines_of(*opened.store), HasSubstr("is kept in " + path + ".dropped"));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(path + ".dropped"));
}

TEST_F(EtcdJournal, ASecondProcessThatFindsEtcdAwayAddsToIt) {
  leave_two();
  {
    auto opened = open("b");
    EXPECT_EQ(opened.found, Found::Part);
    EXPECT_THAT(opened.contents.lids, SizeIs(2)) << "LID 1 is in etcd alone";
    EXPECT_FALSE(opened.store->take());
    ASSERT_TRUE(opened.store->commit(lid(4, 4)));
  }
  etcd.always = Fault::None;
  auto opened = open("c");
  const auto contents = opened.store->take();
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->lids, SizeIs(4));
  EXPECT_EQ(kept_in(etcd), *contents);
}

TEST_F(EtcdJournal, ATakeWhoseWriteFailedKeepsEverything) {
  leave_two();
  etcd.always = Fault::None;
  {
    auto opened = open("b");
    // Two reads and the epoch, and then it is away again.
    etcd.next = {Fault::None, Fault::None, Fault::None};
    etcd.always = Fault::Away;
    (void)opened.store->take();
    etcd.next.clear();
    Batch gone;
    gone.lids_removed = {Guid{3}};
    ASSERT_TRUE(opened.store->commit(gone));
  }
  etcd.always = Fault::None;
  auto opened = open("c");
  const auto contents = opened.store->take();
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->lids,
              ElementsAre(LidClaim{Guid{1}, Lid{1}, 0}, LidClaim{Guid{2}, Lid{2}, 0}));
}

TEST_F(EtcdJournal, AnElectionWhileEtcdIsAwayLosesNothing) {
  for (const bool stands_by : {false, true}) {
    SCOPED_TRACE(stands_by);
    etcd = {};
    auto opened = open("a");
    Store& store = *opened.store;
    ASSERT_TRUE(store.take());
    ASSERT_TRUE(store.commit(lid(1, 1)));
    etcd.always = Fault::Away;
    ASSERT_TRUE(store.commit(lid(2, 2)));
    if (stands_by) store.stand_by();
    EXPECT_FALSE(store.take());
    ASSERT_TRUE(store.commit(lid(3, 3)));
    EXPECT_FALSE(store.take()) << "and once more";
    etcd.always = Fault::None;
    lines_of(store);
    retry(store);
    EXPECT_THAT(kept_in(etcd).lids, SizeIs(3));
    EXPECT_EQ(kept_in(etcd), *store.load());
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST_F(EtcdJournal, WhatOneThatWasBehindHasIsNotWrittenOverTheTermOfAnotherOne) {
  auto opened = open("a");
  Store& store = *opened.store;
  ASSERT_TRUE(store.take());
  etcd.always = Fault::Away;
  ASSERT_TRUE(store.commit(lid(2, 2)));
  store.stand_by();
  etcd.always = Fault::None;
  ASSERT_TRUE(master(etcd, "host-b")->commit(lid(2, 9)));
  const auto contents = store.take();
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->lids, ElementsAre(LidClaim{Guid{2}, Lid{9}, 0}));
}

/// It hung while etcd was away, and another one took over meanwhile.
TEST_F(EtcdJournal, WhatADeposedOneHadAnsweredStaysAndTheOtherIsToldOfIt) {
  auto opened = open("a");
  ASSERT_TRUE(opened.store->take());
  etcd.always = Fault::Away;
  ASSERT_TRUE(opened.store->commit(lid(2, 2)));
  lines_of(*opened.store);
  etcd.always = Fault::None;
  auto other = master(etcd, "host-b");
  EXPECT_FALSE(shared(*other).take_lacks());
  retry(*opened.store);
  EXPECT_TRUE(shared(*opened.store).is_deposed());
  EXPECT_TRUE(std::filesystem::exists(path + ".dropped"));
  look(*other);
  EXPECT_TRUE(shared(*other).take_lacks());
  look(*other);
  look(*other);
  EXPECT_FALSE(shared(*other).take_lacks()) << "once";
  EXPECT_FALSE(shared(*master(etcd, "host-c")).take_lacks());
}

TEST_F(EtcdJournal, OneThatIsCutOffGoesOnFromMemoryAndAddsThatLater) {
  auto opened = open("a");
  Store& store = *opened.store;
  ASSERT_TRUE(store.take());
  ASSERT_TRUE(store.commit(lid(1, 1)));
  auto other = master(etcd, "host-b");
  ASSERT_TRUE(other->commit(lid(2, 2)));
  look(store);
  ASSERT_TRUE(shared(store).is_deposed());
  EXPECT_FALSE(store.commit(lid(3, 3)));
  EXPECT_EQ(shared(store).go_apart().lids, (std::vector{LidClaim{Guid{1}, Lid{1}, 0}}));
  EXPECT_THAT(lines_of(store), HasSubstr("cut in two"));
  ASSERT_TRUE(store.commit(lid(4, 4)));
  EXPECT_EQ(store.rest(), std::nullopt);
  EXPECT_TRUE(other->commit(lid(5, 5))) << "the other one writes";
  EXPECT_EQ(Journal(path).read().entries.size(), 2U);
  // One again.
  const auto contents = store.take();
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->lids, SizeIs(4));
  EXPECT_TRUE(shared(store).take_lacks());
  EXPECT_EQ(kept_in(etcd), *contents);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(EtcdJournal, OneThatWasCutOffAndStandsByTellsWhoeverWrites) {
  auto opened = open("a");
  ASSERT_TRUE(opened.store->take());
  auto other = master(etcd, "host-b");
  look(*opened.store);
  (void)shared(*opened.store).go_apart();
  ASSERT_TRUE(opened.store->commit(lid(4, 4)));
  opened.store->stand_by();
  look(*other);
  EXPECT_TRUE(shared(*other).take_lacks());
}

TEST_F(EtcdJournal, OfOneThatIsCutThereIsAllThatIsWhole) {
  leave_two();
  const auto size = std::filesystem::file_size(path);
  std::size_t before = 2;
  for (auto bytes = size; bytes-- > 0;) {
    std::filesystem::resize_file(path, bytes);
    const auto left = Journal(path).read();
    EXPECT_LE(left.entries.size(), before) << bytes;
    before = left.entries.size();
  }
  EXPECT_EQ(before, 0U);
}

TEST_F(EtcdJournal, OneThatCannotBeWrittenIsSaidAndHoldsNothingUp) {
  path = directory.path() + "/no folder/etcd-journal";
  auto opened = open("a");
  ASSERT_TRUE(opened.store->take());
  etcd.always = Fault::Away;
  ASSERT_TRUE(opened.store->commit(lid(2, 2)));
  ASSERT_TRUE(opened.store->commit(lid(3, 3)));
  EXPECT_THAT(lines_of(*opened.store), HasSubstr("is lost when ibsm ends"));
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

TEST(EtcdStore, WhatItDoesNotKnowItLeavesAlone) {
  struct Case {
    const char* what;
    std::function<void(FakeEtcd::Keys&)> change;
    ErrorKind kind;
    const char* word;
  };
  const std::string head = head_key("/ibkit/default/"), epoch = epoch_key("/ibkit/default/");
  const std::string entry = log_key("/ibkit/default/", 3);
  const Case cases[] = {
      {"newer head", [&](auto& k) { k[head].replace(0, 13, "ibkit-store=2"); },
       ErrorKind::Unavailable, "newer release"},
      {"newer epoch", [&](auto& k) { k[epoch].replace(0, 13, "ibkit-store=2"); },
       ErrorKind::Unavailable, "newer release"},
      {"other fabric",
       [&](auto& k) {
         k[head] = text_of(Head{"fe80000000000001", 0, 0, 0, 0});
       },
       ErrorKind::Unavailable, "another fabric"},
      {"head", [&](auto& k) { k[head] = "x"; }, ErrorKind::Malformed, "etcdctl del --prefix"},
      {"entry", [&](auto& k) { k.at(entry)[6] ^= 1; }, ErrorKind::Malformed, "damaged"},
      {"no entry", [&](auto& k) { k.erase(entry); }, ErrorKind::Malformed, "lacks an entry"},
      {"newer entry",
       [&](auto& k) {
         std::string& bytes = k.at(entry);
         bytes = encode(Batch{});
         bytes[4] = 2;
         std::uint64_t sum = 0xCBF29CE484222325ULL;
         for (std::size_t i = 0; i < 5; ++i)
           sum = (sum ^ static_cast<std::uint8_t>(bytes[i])) * 0x100000001B3ULL;
         for (std::size_t i = 0; i < 8; ++i) bytes[5 + i] = static_cast<char>(sum >> (56 - 8 * i));
       },
       ErrorKind::Unavailable, "newer release"},
      {"no part",
       [&](auto& k) {
         std::erase_if(
             k, [](const auto& one) { return one.first.starts_with("/ibkit/default/snapshot/"); });
       },
       ErrorKind::Malformed, "lacks a part"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    FakeEtcd etcd;
    auto store = master(etcd);
    for (std::uint16_t i = 1; i < 5; ++i) ASSERT_TRUE(store->commit(lid(i, i)));
    c.change(etcd.keys);
    const auto before = etcd.keys;
    const auto opened = EtcdStore::open(options("b"), std::make_unique<FakeCluster>(etcd));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, c.kind);
    EXPECT_THAT(opened.error().message, HasSubstr(c.word));
    EXPECT_EQ(etcd.keys, before);
  }
}

TEST(EtcdStore, AStoreThatBecameUnreadableIsNotOverwrittenByATake) {
  FakeEtcd etcd;
  auto store = master(etcd);
  ASSERT_TRUE(store->commit(lid(1, 1)));
  auto standby = open_well(etcd, options("b"));
  etcd.keys[head_key("/ibkit/default/")].replace(0, 13, "ibkit-store=2");
  const auto before = etcd.keys;
  EXPECT_FALSE(standby.store->take());
  EXPECT_TRUE(standby.store->commit(lid(2, 2)));
  EXPECT_THAT(lines_of(*standby.store), HasSubstr("newer release"));
  EXPECT_THAT(retry(*standby.store), IsEmpty());
  EXPECT_EQ(etcd.keys, before);
}

TEST(EtcdStore, KeysThatAreGoneAreWrittenAgain) {
  FakeEtcd etcd;
  auto store = master(etcd);
  ASSERT_TRUE(store->commit(lid(1, 1)));
  etcd.keys.clear();  // etcdctl del --prefix, or another data directory
  EXPECT_TRUE(store->commit(lid(2, 2)));
  EXPECT_THAT(lines_of(*store), HasSubstr("was gone"));
  EXPECT_EQ(kept_in(etcd), *store->load());
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(2));
  ASSERT_TRUE(store->commit(lid(3, 3)));
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(3));
}

/// Nothing is committed meanwhile: a standby that takes over finds everything all the same.
TEST(EtcdStore, KeysThatAreGoneAreNoticedByAMasterThatWritesNothing) {
  FakeEtcd etcd;
  auto store = master(etcd);
  ASSERT_TRUE(store->commit(lid(1, 1)));
  EXPECT_THAT(look(*store), IsEmpty());
  etcd.keys.clear();
  etcd.always = Fault::Away;
  EXPECT_THAT(look(*store), IsEmpty());
  etcd.always = Fault::None;
  EXPECT_THAT(look(*store), HasSubstr("was gone"));
  EXPECT_EQ(kept_in(etcd), *store->load());
  EXPECT_THAT(kept_in(etcd).lids, SizeIs(1));
}

/// Likewise: it learns that the store is another one's.
TEST(EtcdStore, ADeposedWriterThatWritesNothingLearnsOfIt) {
  FakeEtcd etcd;
  auto first = master(etcd, "host-a");
  auto second = master(etcd, "host-b");
  EXPECT_THAT(look(*first), HasSubstr("host-b"));
  EXPECT_EQ(first->rest(), std::nullopt);
  EXPECT_FALSE(first->commit(lid(3, 3)));
}

TEST(EtcdStore, KeysThatAreGoneAfterEtcdWasAwayAreWrittenAgainToo) {
  FakeEtcd etcd;
  auto store = master(etcd);
  ASSERT_TRUE(store->commit(lid(1, 1)));
  etcd.always = Fault::Away;
  ASSERT_TRUE(store->commit(lid(2, 2)));
  lines_of(*store);
  etcd.keys.clear();
  etcd.always = Fault::None;
  EXPECT_THAT(retry(*store), HasSubstr("was gone"));
  EXPECT_EQ(kept_in(etcd), *store->load());
}

TEST(EtcdStore, WhoTookAStoreThatWasGoneKeepsIt) {
  FakeEtcd etcd;
  auto first = master(etcd, "host-a");
  ASSERT_TRUE(first->commit(lid(1, 1)));
  etcd.keys.clear();
  auto second = master(etcd, "host-b");
  ASSERT_TRUE(second->commit(lid(2, 2)));
  EXPECT_FALSE(first->commit(lid(3, 3)));
  EXPECT_THAT(kept_in(etcd).lids, ElementsAre(LidClaim{Guid{2}, Lid{2}, 0}));
}

}  // namespace
}  // namespace sm::store::etcd
