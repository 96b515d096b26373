// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// guid2lid follows the store, and the one before is kept.
#include "sm/daemon/lid_backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "libdiag/base/text.h"
#include "sm/store/guid2lid.h"

namespace sm::daemon {
namespace {

using ib::Guid;
using ib::Lid;
using store::LidClaim;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LidBackupTest : public ::testing::Test {
 protected:
  LidBackupTest() { std::filesystem::create_directories(directory); }
  ~LidBackupTest() override { std::filesystem::remove_all(directory); }

  static std::vector<LidClaim> read(const std::string& path) {
    std::ifstream file(path);
    return store::salvage_guid2lid(std::string(std::istreambuf_iterator<char>(file), {})).lids;
  }
  static store::Batch claims(std::vector<LidClaim> lids) {
    store::Batch batch;
    batch.lids = std::move(lids);
    return batch;
  }

  std::filesystem::path directory{testing::TempDir() + "ibkit-lid-backup-" +
                                  std::to_string(::getpid())};
  std::string path{(directory / "guid2lid").string()};
};

TEST_F(LidBackupTest, HasWhatTheStoreHasAndKeepsTheOneBefore) {
  LidBackup backup(path, {{Guid{5}, Lid{8}, 2}}, std::launch::deferred);
  EXPECT_EQ(backup.finish(), std::nullopt);
  EXPECT_THAT(read(path), ElementsAre(LidClaim{Guid{5}, Lid{8}, 2}));

  backup.take(claims({{Guid{9}, Lid{1}, 0}, {Guid{2}, Lid{2}, 0}, {Guid{9}, Lid{3}, 0}}));
  EXPECT_EQ(backup.finish(), std::nullopt);
  EXPECT_THAT(read(path), ElementsAre(LidClaim{Guid{2}, Lid{2}, 0}, LidClaim{Guid{5}, Lid{8}, 2},
                                      LidClaim{Guid{9}, Lid{3}, 0}));
  EXPECT_THAT(read(path + ".1"), ElementsAre(LidClaim{Guid{5}, Lid{8}, 2}));

  // The same text again is no news.
  backup.take({});
  EXPECT_EQ(backup.finish(), std::nullopt);
  EXPECT_THAT(read(path + ".1"), ElementsAre(LidClaim{Guid{5}, Lid{8}, 2}));
}

TEST_F(LidBackupTest, NoLidsAreNoReasonToWrite) {
  std::ofstream(path) << "0x5 0x8 0x8\n";
  LidBackup backup(path, {}, std::launch::deferred);
  EXPECT_EQ(backup.finish(), std::nullopt);
  EXPECT_THAT(read(path), ElementsAre(LidClaim{Guid{5}, Lid{8}, 0}));
  EXPECT_FALSE(std::filesystem::exists(path + ".1"));
}

TEST_F(LidBackupTest, ForgetsWhatTheStoreForgets) {
  LidBackup backup(path, {{Guid{5}, Lid{8}, 2}}, std::launch::deferred);
  auto batch = claims({{Guid{6}, Lid{1}, 0}});
  batch.forget_lids = true;
  backup.take(batch);
  EXPECT_EQ(backup.finish(), std::nullopt);
  EXPECT_THAT(read(path), ElementsAre(LidClaim{Guid{6}, Lid{1}, 0}));
}

TEST(Guid2Lid, ASalvageReadsWhatOpensmWritesAndPassesOverTheRest) {
  const auto read = store::salvage_guid2lid(
      "0x0002c90300000002 0x0010 0x0013\n\n0x0002c90300000001 0x0001 0x0001\n\n"
      "# a comment\nnonsense\n0x1 0x5\n0x1 0x0005 0x0006\n0x1 0xc000 0xc000\n0x1 0x0 0x0\n"
      "0x1 0x2 0x2 more\n");
  EXPECT_THAT(read.lids, ElementsAre(LidClaim{Guid{0x0002c90300000001}, Lid{1}, 0},
                                     LidClaim{Guid{0x0002c90300000002}, Lid{16}, 2}));
  EXPECT_EQ(read.lines_not_read, 6U);
  EXPECT_EQ(store::write_guid2lid(read.lids),
            "0x0002c90300000001 0x0001 0x0001\n\n0x0002c90300000002 0x0010 0x0013\n\n");
}

TEST(Guid2Lid, AnImportTakesWhatOpensmWrites) {
  const auto lids = store::import_guid2lid(
      "0x0002c90300000002 0x0010 0x0013\n\n# a comment\n\n"
      "0x0002c90300000001\t0x0001 0x0001\r\n0x0002c90300000001 0x1 0x1\n");
  ASSERT_TRUE(lids) << lids.error().message;
  EXPECT_THAT(*lids, ElementsAre(LidClaim{Guid{0x0002c90300000001}, Lid{1}, 0},
                                 LidClaim{Guid{0x0002c90300000002}, Lid{16}, 2}));
  EXPECT_THAT(*store::import_guid2lid(""), IsEmpty());
}

TEST(Guid2Lid, AnImportThatIsRefusedNamesLineColumnAndWhatIsExpected) {
  const std::string range =
      "the last of 1, 2, 4 ... 128 LIDs that begin at a multiple of their number";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"nonsense", "1:1: expected a port GUID (0x...), got 'nonsense'"},
      {"\n  0x0 0x1 0x1", "2:3: expected a port GUID (0x...), got '0x0'"},
      {"5 0x1 0x1", "1:1: expected a port GUID (0x...), got '5'"},
      {"0x5", "1:4: expected the first LID, 0x0001 to 0xbfff, got ''"},
      {"0x5 0xc000 0xc000", "1:5: expected the first LID, 0x0001 to 0xbfff, got '0xc000'"},
      {"0x5 0x4 0x3",
       "1:9: expected the last LID, not below the first and up to 0xbfff, got '0x3'"},
      {"0x5 0x4 0x6", "1:9: expected " + range + ", got '0x6'"},
      {"0x5 0x5 0x6", "1:9: expected " + range + ", got '0x6'"},
      {"0x5 0x4 0x4 0x4", "1:13: expected the end of the line, got '0x4'"},
      {"0x5 0x4 0x4\n0x5 0x5 0x5",
       "2:1: expected a GUID that does not have other LIDs yet, got '0x5'"},
      {"0x5 0x4 0x7\n0x6 0x6 0x6",
       "2:5: expected LIDs that 0x0000000000000005 does not have yet, got '0x6'"},
      {"0x5 0x4\x01 0x4",
       "1:5: expected the first LID, 0x0001 to 0xbfff, got '" + ib::printable("0x4\x01") + "'"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto lids = store::import_guid2lid(text);
    ASSERT_FALSE(lids) << text;
    EXPECT_EQ(lids.error().message, wanted);
  }
}

TEST(Guid2Lid, OnlyWhatNobodyHasIsMissing) {
  const std::vector<LidClaim> lids{{Guid{1}, Lid{4}, 2}};
  EXPECT_THAT(store::lids_missing_from(lids, lids), IsEmpty());
  const std::vector<LidClaim> backup{
      {Guid{1}, Lid{9}, 0}, {Guid{2}, Lid{7}, 0}, {Guid{3}, Lid{8}, 0}, {Guid{4}, Lid{8}, 3}};
  EXPECT_THAT(store::lids_missing_from(lids, backup), ElementsAre(LidClaim{Guid{3}, Lid{8}, 0}));
}

}  // namespace
}  // namespace sm::daemon
