// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A state directory that cannot be used: a store in memory stands in, says so, and hands over.
#include "sm/store/stand_in_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/base/log_matchers.h"
#include "tests/unit/sm/store/samples.h"

namespace sm::store {
namespace {

namespace fs = std::filesystem;
using ib::Guid;
using ib::Lid;
using ib::test::says;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Batch one_lid(std::uint64_t guid, std::uint16_t lid) {
  Batch batch;
  batch.lids = {{Guid{guid}, Lid{lid}, 0}};
  return batch;
}

class StandIn : public ::testing::Test {
 protected:
  StandIn() { std::ofstream(blocked) << "a file where a directory should be"; }
  void unblock() const { fs::remove(blocked); }

  Directory directory;
  std::string blocked{directory.path() + "/blocked"};
  std::string state{blocked + "/state"};
};

TEST_F(StandIn, KeepsAllInMemoryAndWritesItWhenItCan) {
  auto opened = open_or_stand_in(state);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->found, Found::Nothing);
  EXPECT_THAT(opened->lines, ElementsAre(says(ib::LogLevel::Error, "is managed from memory")));
  Store& store = *opened->store;
  ASSERT_TRUE(store.commit(one_lid(1, 11)));
  Batch joined;
  joined.groups = {group(1)};
  joined.members = {member(1, 4, 1)};
  ASSERT_TRUE(store.commit(joined));
  const Contents kept = *store.load();
  EXPECT_THAT(kept.members, SizeIs(1));

  ASSERT_TRUE(store.rest());
  EXPECT_THAT(store.on_time(), SizeIs(1)) << "why it still cannot";
  EXPECT_THAT(store.on_time(), IsEmpty()) << "once for each reason";
  unblock();
  EXPECT_THAT(store.on_time(), ElementsAre(says(ib::LogLevel::Warning, "can be written now")));
  EXPECT_EQ(store.rest(), std::nullopt);
  EXPECT_EQ(*store.load(), kept);
  ASSERT_TRUE(store.commit(one_lid(2, 12)));

  EXPECT_EQ(open_directory(state).error().kind, ib::ErrorKind::Unavailable) << "it has the lock";
  opened->store.reset();
  const auto again = open_directory(state);
  ASSERT_TRUE(again);
  EXPECT_THAT(again->lines, IsEmpty());
  EXPECT_THAT(again->contents.lids, SizeIs(2));
  EXPECT_EQ(again->contents.members, kept.members);
}

/// A file system that is mounted late: what is on it is not lost, and not used either.
TEST_F(StandIn, AStoreThatItDidNotKnowIsKeptUnderAnotherName) {
  auto opened = open_or_stand_in(state);
  ASSERT_TRUE(opened->store->commit(one_lid(1, 11)));
  unblock();
  ASSERT_TRUE(open_directory(state)->store->commit(one_lid(9, 99)));
  EXPECT_THAT(opened->store->on_time(),
              Contains(says(ib::LogLevel::Warning, "is kept as " + state + "/ibsm.db.kept-1")));
  EXPECT_EQ(opened->store->load()->lids, one_lid(1, 11).lids);
  opened->store.reset();
  fs::rename(state + "/ibsm.db.kept-1", state + "/ibsm.db");
  EXPECT_EQ(open_directory(state)->contents.lids, one_lid(9, 99).lids);
}

TEST_F(StandIn, AnotherIbsmInTheDirectoryIsNoReasonForOne) {
  unblock();
  const auto first = open_directory(state);
  ASSERT_TRUE(first);
  const auto second = open_or_stand_in(state);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ib::ErrorKind::Unavailable);
}

/// A disk without room for the log of SQLite.
TEST_F(StandIn, BeginsWithWhatTheFileThereHas) {
  unblock();
  ASSERT_TRUE(open_directory(state)->store->commit(one_lid(9, 99)));
  fs::create_directory(state + "/ibsm.db-wal");  // so that SQLite cannot open it
  auto opened = open_or_stand_in(state);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->found, Found::All);
  EXPECT_EQ(opened->contents.lids, one_lid(9, 99).lids);
  ASSERT_TRUE(opened->store->commit(one_lid(1, 11)));
  fs::remove(state + "/ibsm.db-wal");
  EXPECT_THAT(opened->store->on_time(), ElementsAre(says(ib::LogLevel::Warning, "2 LIDs")));
  opened->store.reset();
  EXPECT_THAT(open_directory(state)->contents.lids, SizeIs(2));
}

}  // namespace
}  // namespace sm::store
