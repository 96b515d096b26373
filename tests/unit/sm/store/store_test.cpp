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

namespace sm::store {
namespace {

namespace fs = std::filesystem;
using ib::ErrorKind;
using ib::Gid;
using ib::Guid;
using ib::Lid;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A directory of its own for each test, gone afterwards.
class Directory {
 public:
  Directory() {
    auto pattern = (fs::temp_directory_path() / "ibkit-store-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string database() const { return path_ + "/ibsm.db"; }

 private:
  std::string path_;
};

std::unique_ptr<Store> open_well(const Directory& directory) {
  auto opened = open_directory(directory.path());
  EXPECT_TRUE(opened) << opened.error().message;
  if (!opened) return nullptr;
  EXPECT_THAT(opened->warnings, IsEmpty());
  return std::move(opened->store);
}

Gid mgid(std::uint8_t n) {
  Gid g;
  g.bytes = {0xFF, 0x12, 0x40, 0x1b, 0xFF, 0xFF};
  g.bytes[15] = n;
  return g;
}
McGroup group(std::uint8_t n) {
  McGroup g;
  g.mgid = mgid(n);
  g.mlid = Lid{static_cast<std::uint16_t>(0xC000 + n)};
  g.q_key = 0x80000b1b;
  g.p_key = ib::PKey{0x8001};
  g.mtu = 4;
  g.rate = 3;
  g.packet_life = 18;
  g.traffic_class = 7;
  g.sl = ib::Sl{2};
  g.flow_label = 0xFFFFF;
  g.hop_limit = 9;
  g.scope = 2;
  g.well_known = n == 0;
  return g;
}
McMember member(std::uint8_t g, std::uint64_t port, std::uint8_t state) {
  return {mgid(g), Gid::from(ib::kDefaultSubnetPrefix, Guid{port}), state, (port & 1) != 0};
}

TEST(Store, KeepsEverythingAcrossReopening) {
  Directory directory;
  Batch batch;
  // The highest bit set: GUIDs and keys are unsigned.
  batch.lids = {{Guid{0xF00000000000000AULL}, Lid{0xBFFF}, 7}, {Guid{2}, Lid{1}, 0}};
  batch.groups = {group(0), group(1)};
  batch.members = {member(0, 0xF000000000000001ULL, 1), member(1, 4, 8)};
  ASSERT_TRUE(open_well(directory)->commit(batch));

  const auto contents = open_well(directory)->load();
  ASSERT_TRUE(contents);
  EXPECT_THAT(contents->lids, ElementsAre(LidClaim{Guid{2}, Lid{1}, 0},
                                          LidClaim{Guid{0xF00000000000000AULL}, Lid{0xBFFF}, 7}));
  EXPECT_THAT(contents->groups, ElementsAre(group(0), group(1)));
  EXPECT_THAT(contents->members, ElementsAre(member(0, 0xF000000000000001ULL, 1), member(1, 4, 8)));
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
  const auto below = [&](unsigned n) { return static_cast<std::uint8_t>(random() % n); };
  Directory directory;
  auto disk = open_well(directory);
  auto memory = make_memory_store();
  for (int round = 0; round < 60; ++round) {
    Batch batch;
    batch.forget_lids = below(15) == 0;
    for (int i = below(4); i > 0; --i) batch.lids_removed.push_back(Guid{below(20)});
    for (int i = below(6); i > 0; --i)
      batch.lids.push_back({Guid{below(20)}, Lid{static_cast<std::uint16_t>(1 + below(90))}, 0});
    if (below(4) == 0) batch.groups_removed.push_back(mgid(below(5)));
    for (int i = below(3); i > 0; --i) batch.groups.push_back(group(below(5)));
    for (int i = below(8); i > 0; --i)
      batch.members.push_back(member(below(5), below(9), below(3)));
    ASSERT_TRUE(disk->commit(batch));
    ASSERT_TRUE(memory->commit(batch));
  }
  EXPECT_EQ(*disk->load(), *memory->load());
  EXPECT_FALSE(disk->load()->members.empty());
}

TEST(Store, RefusesASecondOwnerOfTheDirectory) {
  Directory directory;
  auto first = open_well(directory);
  const auto second = open_directory(directory.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::Unavailable);
  EXPECT_EQ(ib::exit_status(second.error().kind), 4);
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
  EXPECT_EQ(opened.error().kind, ErrorKind::Unavailable);
}

TEST(Store, PutsADamagedFileAside) {
  Directory directory;
  {
    auto store = open_well(directory);
    Batch batch;
    for (unsigned i = 1; i < 2000; ++i)
      batch.lids.push_back({Guid{i}, Lid{static_cast<std::uint16_t>(i)}, 0});
    ASSERT_TRUE(store->commit(batch));
  }
  {
    std::fstream file(directory.database(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4 * 4096 + 1000);  // inside a page of rows
    file << std::string(3000, '\x5a');
  }
  auto opened = open_directory(directory.path());
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_THAT(opened->warnings, SizeIs(1));
  EXPECT_THAT(opened->warnings[0], HasSubstr("damaged"));
  EXPECT_THAT(opened->warnings[0], HasSubstr("ibsm.db.damaged-1"));
  EXPECT_TRUE(fs::exists(directory.database() + ".damaged-1"));
  EXPECT_GT(fs::file_size(directory.database() + ".damaged-1"), 8000U);
  // The new one is empty and works.
  EXPECT_EQ(*opened->store->load(), Contents{});
  Batch batch;
  batch.lids = {{Guid{1}, Lid{1}, 0}};
  EXPECT_TRUE(opened->store->commit(batch));
  opened->store.reset();
  EXPECT_THAT(open_well(directory)->load()->lids, SizeIs(1));
}

TEST(Store, NeverOverwritesAnEarlierDamagedFile) {
  Directory directory;
  for (const char* text : {"first garbage, not a database", "second garbage, not a database"}) {
    std::ofstream(directory.database()) << text;
    ASSERT_THAT(open_directory(directory.path())->warnings, SizeIs(1)) << text;
  }
  EXPECT_TRUE(fs::exists(directory.database() + ".damaged-1"));
  EXPECT_TRUE(fs::exists(directory.database() + ".damaged-2"));
}

TEST(Store, LeavesAFileOfANewerReleaseAlone) {
  Directory directory;
  open_well(directory);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(directory.database().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA user_version=99", nullptr, nullptr, nullptr), SQLITE_OK);
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
      if (!opened || !opened->warnings.empty()) ::_exit(1);
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

}  // namespace
}  // namespace sm::store
