// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The journal beside a store on etcd: what was committed while etcd was away outlives the process,
// unless another subnet manager has written the store since.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sm/store/etcd/etcd_store.h"
#include "tests/unit/sm/store/etcd_fake.h"
#include "tests/unit/sm/store/etcd_stores.h"
#include "tests/unit/sm/store/samples.h"

namespace sm::store::etcd {
namespace {

using ib::Guid;
using ib::Lid;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Fault = FakeEtcd::Fault;

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

}  // namespace
}  // namespace sm::store::etcd
