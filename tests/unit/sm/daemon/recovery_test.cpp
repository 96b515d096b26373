// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What backups give after the store was lost, and what becomes of those that cannot be read.
#include "sm/daemon/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sm/sa/registry/dump_file.h"
#include "sm/store/guid2lid.h"
#include "tests/unit/base/log_matchers.h"

namespace sm::daemon {
namespace {

using ib::Gid;
using ib::Guid;
using ib::Lid;
using ib::LogLevel;
using ib::test::says;
using store::Found;
using store::LidClaim;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class RecoveryTest : public ::testing::Test {
 protected:
  RecoveryTest() { std::filesystem::create_directories(directory); }
  ~RecoveryTest() override { std::filesystem::remove_all(directory); }

  std::string in_directory(const std::string& name) const { return directory + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(in_directory(name)) << text;
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(in_directory(name)); }
  /// One group with one member, and two services.
  static std::string dump() {
    store::Contents c;
    store::McGroup group;
    group.mgid.bytes = {0xFF, 0x12, 0x40, 0x1b, 0xFF, 0xFF};
    group.mlid = Lid{0xC001};
    c.groups.push_back(group);
    c.members.push_back({group.mgid, Gid::from(ib::kDefaultSubnetPrefix, Guid{5}), 1});
    for (const std::uint64_t id : {1U, 2U}) {
      store::Service service;
      service.record.service_id = id;
      c.services.push_back(service);
    }
    return sa::write_dump(c);
  }
  std::vector<ib::LogEvent> recover(Found at_start) {
    found = at_start;
    return daemon::recover(directory, 1, found, *disk, contents, "ibsm.db is gone");
  }

  std::string directory{testing::TempDir() + "ibkit-recovery-" + std::to_string(::getpid())};
  std::unique_ptr<store::Store> disk{store::make_memory_store()};
  store::Contents contents;
  Found found{};
};

TEST_F(RecoveryTest, AfterALossTheBackupsAreRead) {
  write("opensm-sa.dump", dump());
  write("guid2lid", "0x5 0x8 0x8\n");
  const auto lines = recover(Found::Part);
  EXPECT_THAT(lines, ElementsAre(says(LogLevel::Info, "guid2lid: took the LIDs of 1 ports"),
                                 says(LogLevel::Info, "took 1 groups with 1 members, 2 services")));
  EXPECT_THAT(contents.lids, ElementsAre(LidClaim{Guid{5}, Lid{8}, 0}));
  EXPECT_THAT(contents.members, SizeIs(1));
  EXPECT_THAT(contents.services, SizeIs(2));
  EXPECT_EQ(*disk->load(), contents) << "and it is in the store";
}

TEST_F(RecoveryTest, WhatTheStoreHasStandsAboveItsBackups) {
  write("guid2lid", "0x5 0x8 0x8\n0x6 0x9 0x9\n");
  contents.lids = {{Guid{5}, Lid{1}, 0}};
  recover(Found::Part);
  EXPECT_THAT(contents.lids,
              ElementsAre(LidClaim{Guid{5}, Lid{1}, 0}, LidClaim{Guid{6}, Lid{9}, 0}));
}

TEST_F(RecoveryTest, ABackupThatCannotBeReadIsKeptAndTheOneBeforeItIsRead) {
  write("opensm-sa.dump", "# SA dump of ibsm, version 1\n\n\x01\x02 garbage\n");
  write("opensm-sa.dump.1", dump());
  const auto lines = recover(Found::Part);
  EXPECT_THAT(lines, Contains(says(LogLevel::Error, "opensm-sa.dump is kept as ")));
  EXPECT_TRUE(exists("opensm-sa.dump.unread-1"));
  EXPECT_FALSE(exists("opensm-sa.dump"));
  EXPECT_THAT(contents.services, SizeIs(2));
  EXPECT_THAT(lines, Contains(says(LogLevel::Warning, "guid2lid: there is no backup")));
}

TEST_F(RecoveryTest, ADumpOfOursTellsThatThereWasAStore) {
  write("opensm-sa.dump", dump());
  const auto lines = recover(Found::Nothing);
  EXPECT_EQ(found, Found::Part);
  EXPECT_THAT(lines, Contains(says(LogLevel::Error, "ibsm.db is gone, although an SA dump")));
  EXPECT_THAT(contents.services, SizeIs(2));
}

TEST_F(RecoveryTest, AtAFirstStartGuid2LidIsImportedAndADumpOfAnotherProgramIsKept) {
  write("opensm-sa.dump", "Service Record: id=0x1 ...\n");
  write("guid2lid", "0x0000000000000005 0x0008 0x0008\n\n0x0000000000000006 0x0010 0x0013\n\n");
  const auto lines = recover(Found::Nothing);
  EXPECT_EQ(found, Found::Nothing);
  EXPECT_THAT(lines, ElementsAre(says(LogLevel::Info, "opensm-sa.dump is kept as "),
                                 says(LogLevel::Info, "guid2lid: took the LIDs of 2 ports")));
  EXPECT_TRUE(exists("opensm-sa.dump.kept-1"));
  EXPECT_TRUE(exists("guid2lid"));
  EXPECT_THAT(contents.lids,
              ElementsAre(LidClaim{Guid{5}, Lid{8}, 0}, LidClaim{Guid{6}, Lid{16}, 2}));
  EXPECT_THAT(contents.services, IsEmpty());
  EXPECT_EQ(*disk->load(), contents) << "and it is in the store";
}

TEST_F(RecoveryTest, AnImportIsWholeOrNotAtAll) {
  write("guid2lid", "0x5 0x8 0x8\n\n0x6 0x9\n");
  const auto lines = recover(Found::Nothing);
  EXPECT_THAT(lines, ElementsAre(says(LogLevel::Error, "guid2lid:3:8: expected the last LID")));
  EXPECT_EQ(contents, store::Contents{});
  EXPECT_EQ(*disk->load(), contents);
  EXPECT_TRUE(exists("guid2lid.unread-1")) << "nothing overwrites what an administrator may mend";
  EXPECT_FALSE(exists("guid2lid"));
}

TEST_F(RecoveryTest, AWholeStoreNeedsNone) {
  write("opensm-sa.dump", dump());
  write("guid2lid", "0x5 0x8 0x8\n");
  EXPECT_THAT(recover(Found::All), IsEmpty());
  EXPECT_EQ(contents, store::Contents{});
  EXPECT_TRUE(exists("opensm-sa.dump"));
}

}  // namespace
}  // namespace sm::daemon
