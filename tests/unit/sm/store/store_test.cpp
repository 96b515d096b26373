// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "sm/store/directory_lock.h"
#include "tests/unit/sm/store/samples.h"

namespace sm::store {
namespace {

namespace fs = std::filesystem;
using ib::ErrorKind;
using ib::Guid;
using ib::Lid;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::unique_ptr<Store> open_well(const Directory& directory) {
  auto opened = open_directory(directory.path());
  EXPECT_TRUE(opened) << opened.error().message;
  if (!opened) return nullptr;
  EXPECT_THAT(opened->lines, IsEmpty());
  return std::move(opened->store);
}

TEST(Store, KeepsEverythingAcrossReopening) {
  Directory directory;
  Batch batch;
  // The highest bit set: GUIDs and keys are unsigned.
  batch.lids = {{Guid{0xF00000000000000AULL}, Lid{0xBFFF}, 7}, {Guid{2}, Lid{1}, 0}};
  batch.groups = {group(0), group(1)};
  batch.members = {member(0, 0xF000000000000001ULL, 1), member(1, 4, 8)};
  batch.services = {service(0xF000000000000001ULL, 1), service(2, 0)};
  batch.subscriptions = {subscription(9, 3, true), subscription(9, 4, false)};
  batch.aliases = {{Guid{0xF000000000000001ULL}, 2047, Guid{0xE000000000000001ULL}},
                   {Guid{0xF000000000000001ULL}, 1, Guid{7}}};
  ASSERT_TRUE(open_well(directory)->commit(batch));

  const auto contents = open_well(directory)->load();
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->lids, ElementsAre(LidClaim{Guid{2}, Lid{1}, 0},
                                          LidClaim{Guid{0xF00000000000000AULL}, Lid{0xBFFF}, 7}));
  EXPECT_THAT(contents->groups, ElementsAre(group(0), group(1)));
  EXPECT_THAT(contents->members, ElementsAre(member(0, 0xF000000000000001ULL, 1), member(1, 4, 8)));
  EXPECT_THAT(contents->services, ElementsAre(service(2, 0), service(0xF000000000000001ULL, 1)));
  // The one without GID is first.
  EXPECT_THAT(contents->subscriptions,
              ElementsAre(subscription(9, 4, false), subscription(9, 3, true)));
  EXPECT_THAT(contents->aliases, ElementsAre(AliasGuid{Guid{0xF000000000000001ULL}, 1, Guid{7}},
                                             AliasGuid{Guid{0xF000000000000001ULL}, 2047,
                                                       Guid{0xE000000000000001ULL}}));
}

TEST(Store, RemembersThatAnAliasWasTakenBack) {
  Directory directory;
  Batch batch;
  batch.aliases = {{Guid{1}, 1, Guid{7}}};
  ASSERT_TRUE(open_well(directory)->commit(batch));
  batch.aliases = {{Guid{1}, 1, Guid{}}};
  ASSERT_TRUE(open_well(directory)->commit(batch));
  EXPECT_THAT(open_well(directory)->load()->aliases, ElementsAre(AliasGuid{Guid{1}, 1, Guid{}}));
}

TEST(Store, FullSyncKeepsTheSame) {
  Directory directory;
  Batch batch;
  batch.members = {member(1, 4, 8)};
  ASSERT_TRUE(open_directory(directory.path(), Sync::Full)->store->commit(batch));
  EXPECT_THAT(open_well(directory)->load()->members, ElementsAre(member(1, 4, 8)));
}

/// The first release kept LIDs, groups and members only.
TEST(Store, MigratesAFileOfTheFirstRelease) {
  Directory directory;
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(directory.database().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, R"sql(
CREATE TABLE lid (port_guid BLOB PRIMARY KEY CHECK(length(port_guid) = 8),
  lid INTEGER NOT NULL CHECK(lid BETWEEN 1 AND 49151),
  lmc INTEGER NOT NULL CHECK(lmc BETWEEN 0 AND 7)) WITHOUT ROWID;
CREATE TABLE mc_group (mgid BLOB PRIMARY KEY CHECK(length(mgid) = 16),
  mlid INTEGER NOT NULL, q_key INTEGER NOT NULL, p_key INTEGER NOT NULL, mtu INTEGER NOT NULL,
  rate INTEGER NOT NULL, packet_life INTEGER NOT NULL, traffic_class INTEGER NOT NULL,
  sl INTEGER NOT NULL, flow_label INTEGER NOT NULL, hop_limit INTEGER NOT NULL,
  scope INTEGER NOT NULL, well_known INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE mc_member (mgid BLOB NOT NULL CHECK(length(mgid) = 16),
  port_gid BLOB NOT NULL CHECK(length(port_gid) = 16),
  join_state INTEGER NOT NULL, proxy_join INTEGER NOT NULL,
  PRIMARY KEY (mgid, port_gid)) WITHOUT ROWID;
INSERT INTO lid VALUES (x'0000000000000007', 5, 2);
INSERT INTO mc_group VALUES (x'ff12401bffff00000000000000000001', 49153, 2147486491, 32769, 4, 3, 18, 7, 2,
  1048575, 9, 2, 0);
INSERT INTO mc_member VALUES (x'ff12401bffff00000000000000000001', x'fe800000000000000000000000000004', 8, 0);
PRAGMA user_version=1)sql",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);

  auto store = open_well(directory);
  ASSERT_TRUE(store);
  const auto before = store->load();
  EXPECT_THAT(before->lids, ElementsAre(LidClaim{Guid{7}, Lid{5}, 2}));
  EXPECT_THAT(before->groups, ElementsAre(group(1)));
  EXPECT_THAT(before->members, ElementsAre(member(1, 4, 8)));
  EXPECT_THAT(before->services, IsEmpty());
  Batch batch;
  batch.services = {service(2, 0)};
  ASSERT_TRUE(store->commit(batch));
  store.reset();
  EXPECT_THAT(open_well(directory)->load()->services, SizeIs(1));
}

TEST(Store, MigratesWhatWasProgrammed) {
  Directory directory;
  Batch batch;
  batch.vls = DeviceVls::Told;
  ASSERT_TRUE(open_well(directory)->commit(batch));
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(directory.database().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, R"sql(
DROP TABLE programmed;
CREATE TABLE programmed (
  what INTEGER PRIMARY KEY CHECK(what = 1),
  sum INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
INSERT INTO programmed (what) VALUES (1);
PRAGMA user_version=7; PRAGMA application_id=0x69620007)sql",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  EXPECT_EQ(open_well(directory)->load()->vls, DeviceVls::Told);
  batch.vls = DeviceVls::PutBack;
  ASSERT_TRUE(open_well(directory)->commit(batch));
  EXPECT_EQ(open_well(directory)->load()->vls, DeviceVls::PutBack);
  batch.vls = DeviceVls::Untouched;
  ASSERT_TRUE(open_well(directory)->commit(batch));
  EXPECT_EQ(open_well(directory)->load()->vls, DeviceVls::Untouched);
}

/// A batch that the schema refuses leaves nothing, and the next one is none the worse.
TEST(Store, KeepsNothingOfABatchThatFails) {
  Directory directory;
  auto store = open_well(directory);
  Batch bad;
  bad.groups = {group(1)};
  bad.aliases = {{Guid{1}, 1, Guid{2}}};
  bad.lids = {{Guid{9}, Lid{0xC000}, 0}};
  EXPECT_FALSE(store->commit(bad));
  EXPECT_EQ(*store->load(), Contents{});
  bad.lids[0].lid = Lid{5};
  EXPECT_TRUE(store->commit(bad));
  EXPECT_THAT(store->load()->aliases, SizeIs(1));
}

TEST(Store, KeepsWhoJoinedAnotherPort) {
  Directory directory;
  auto by_proxy = member(1, 4, 1);
  by_proxy.proxy_join = true;
  by_proxy.joined_by = Guid{0xF000000000000009};
  Batch batch;
  batch.groups = {group(1)};
  batch.members = {by_proxy, member(1, 6, 1)};
  ASSERT_TRUE(open_well(directory)->commit(batch));
  EXPECT_THAT(open_well(directory)->load()->members, ElementsAre(by_proxy, member(1, 6, 1)));
}

TEST(Store, RemovesWhatABatchNames) {
  Directory directory;
  auto store = open_well(directory);
  Batch first;
  first.lids = {{Guid{1}, Lid{1}, 0}, {Guid{2}, Lid{2}, 0}};
  first.groups = {group(1), group(2)};
  first.members = {member(1, 4, 1), member(1, 6, 1), member(2, 4, 1)};
  ASSERT_TRUE(store->commit(first));

  Batch second;
  second.lids_removed = {Guid{1}};
  second.groups_removed = {mgid(2)};
  second.members = {member(1, 4, 0)};
  ASSERT_TRUE(store->commit(second));
  auto contents = store->load();
  EXPECT_THAT(contents->lids, ElementsAre(LidClaim{Guid{2}, Lid{2}, 0}));
  EXPECT_THAT(contents->groups, ElementsAre(group(1)));
  EXPECT_THAT(contents->members, ElementsAre(member(1, 6, 1)));

  Batch forget;
  forget.forget_lids = true;
  forget.lids = {{Guid{9}, Lid{9}, 1}};
  ASSERT_TRUE(store->commit(forget));
  EXPECT_THAT(store->load()->lids, ElementsAre(LidClaim{Guid{9}, Lid{9}, 1}));
}

TEST(Store, AgreesWithItsTwinInMemory) {
  constexpr unsigned kSeed = 20261;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  Directory directory;
  auto disk = open_well(directory);
  auto memory = make_memory_store();
  for (int round = 0; round < 60; ++round) {
    const Batch batch = random_batch(random);
    ASSERT_TRUE(disk->commit(batch));
    ASSERT_TRUE(memory->commit(batch));
  }
  EXPECT_EQ(*disk->load(), *memory->load());
  disk.reset();
  disk = open_well(directory);
  EXPECT_EQ(*disk->load(), *memory->load());
  EXPECT_FALSE(disk->load()->members.empty());
  EXPECT_FALSE(disk->load()->services.empty());
  EXPECT_FALSE(disk->load()->subscriptions.empty());
  EXPECT_FALSE(disk->load()->aliases.empty());
  EXPECT_FALSE(disk->load()->partition_members.empty());
  EXPECT_FALSE(disk->load()->generated_p_keys.empty());
  EXPECT_GT(disk->load()->counted_windows.size(), 80U);
}

TEST(Store, RefusesASecondOwnerOfTheDirectory) {
  Directory directory;
  auto first = open_well(directory);
  const auto second = open_directory(directory.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::Unavailable);
  EXPECT_EQ(second.error().kind, ib::ErrorKind::Unavailable);
  EXPECT_THAT(second.error().message, HasSubstr(directory.path()));
  EXPECT_THAT(second.error().message, HasSubstr("another ibsm"));
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(::getpid())));

  first.reset();
  EXPECT_TRUE(open_directory(directory.path()));
}

TEST(Store, RefusesADirectoryThatCannotBe) {
  Directory directory;
  std::ofstream(directory.path() + "/file") << "in the way";
  const auto opened = open_directory(directory.path() + "/file/state");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::Io);
}

TEST(Store, LeavesAFileOfANewerReleaseAlone) {
  Directory directory;
  open_well(directory);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(directory.database().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA user_version=99; PRAGMA application_id=0x69620063", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  const auto opened = open_directory(directory.path());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::Unavailable);
  EXPECT_THAT(opened.error().message, HasSubstr("newer release"));
  EXPECT_FALSE(fs::exists(directory.database() + ".damaged-1"));
}

/// A child commits one LID after the other and says so through a pipe each time; it is killed in
/// the middle of its work. Every LID it told of is there, and never half a batch.
TEST(Store, SurvivesKill9) {
  Directory directory;
  for (int round = 0; round < 3; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto opened = open_directory(directory.path());
      if (!opened || !opened->lines.empty()) ::_exit(1);
      for (std::uint16_t i = 1;; ++i) {
        Batch batch;  // both or none
        batch.lids = {{Guid{i}, Lid{i}, 0}, {Guid{0x10000ULL + i}, Lid{i}, 0}};
        if (!opened->store->commit(batch)) ::_exit(2);
        if (::write(pipe_ends[1], &i, sizeof i) != sizeof i) ::_exit(3);
      }
    }
    ::close(pipe_ends[1]);
    std::uint16_t told = 0;
    const std::uint16_t enough = static_cast<std::uint16_t>(40 + 35 * round);
    while (told < enough && ::read(pipe_ends[0], &told, sizeof told) == sizeof told) {
    }
    ASSERT_EQ(told, enough);
    ::kill(child, SIGKILL);
    while (::read(pipe_ends[0], &told, sizeof told) == sizeof told) {
    }
    ::close(pipe_ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));

    const auto contents = open_well(directory)->load();
    ASSERT_TRUE(contents);
    EXPECT_EQ(contents->lids.size() % 2, 0U) << "half a batch";
    for (std::uint16_t i = 1; i <= told; ++i)
      EXPECT_THAT(contents->lids, ::testing::Contains(LidClaim{Guid{i}, Lid{i}, 0}));
  }
}

TEST(StateDirectory, WithoutARightToItTheWayOutIsSaid) {
  EXPECT_EQ(advice_on_directory(EACCES), "; run as root or give --state-dir DIR");
  EXPECT_EQ(advice_on_directory(EPERM), advice_on_directory(EACCES));
  EXPECT_EQ(advice_on_directory(ENOSPC), "");
}

}  // namespace
}  // namespace sm::store
