// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The SA dump: written after a change, again and again while it cannot be, and read at the start.
#include "sm/daemon/sa_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sm::daemon {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

class SaDumpTest : public ::testing::Test {
 protected:
  SaDumpTest() { std::filesystem::remove_all(directory); }
  ~SaDumpTest() override { std::filesystem::remove_all(directory); }

  std::filesystem::path directory{testing::TempDir() + "ibkit-sa-dump-" +
                                  std::to_string(::getpid())};
  std::string path{(directory / "opensm-sa.dump").string()};
  sa::Server server{{}};
  ib::Instant now = ib::Instant{} + minutes(1);
};

TEST_F(SaDumpTest, WhatFailedIsTriedAgainAfterEverLongerRests) {
  SaDump dump(path, seconds(30), std::launch::deferred);
  std::vector<std::int64_t> rests;
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(dump.look(now, server), std::nullopt) << "it begins";
    ASSERT_EQ(dump.next_deadline(server), now);
    const auto event = dump.look(now, server);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->level, ib::LogLevel::Error);
    EXPECT_THAT(event->message, HasSubstr("cannot open " + path));
    const auto next = dump.next_deadline(server);
    rests.push_back(std::chrono::duration_cast<seconds>(next - now).count());
    EXPECT_EQ(dump.look(now, server), std::nullopt) << "not before";
    now = next;
  }
  EXPECT_THAT(rests, ::testing::ElementsAre(30, 60, 120, 240, 480, 600, 600, 600));

  std::filesystem::create_directory(directory);
  EXPECT_EQ(dump.look(now, server), std::nullopt);
  const auto event = dump.look(now, server);
  ASSERT_TRUE(event);
  EXPECT_THAT(event->message, HasSubstr("is written again"));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(dump.next_deadline(server), ib::kNever) << "until something changes";
  EXPECT_EQ(dump.finish(server), std::nullopt);
}

TEST_F(SaDumpTest, TheLastFailureIsToldAtTheEnd) {
  SaDump dump(path, seconds(30), std::launch::deferred);
  EXPECT_EQ(dump.look(now, server), std::nullopt);
  const auto why = dump.finish(server);
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("cannot open"));
}

/// The state at the start of a run, after the store was lost.
TEST_F(SaDumpTest, AnEmptyStateNeverTakesThePlaceOfADump) {
  std::filesystem::create_directory(directory);
  std::ofstream(path) << "what there was\n";
  SaDump dump(path, seconds(30), std::launch::deferred);
  EXPECT_EQ(dump.look(now, server), std::nullopt);
  EXPECT_EQ(dump.next_deadline(server), ib::kNever);
  EXPECT_EQ(dump.finish(server), std::nullopt);
  std::ifstream file(path);
  std::string line;
  EXPECT_TRUE(std::getline(file, line));
  EXPECT_EQ(line, "what there was");
}

TEST_F(SaDumpTest, LinesThatCannotBeReadAreWarnedOfAndCounted) {
  std::filesystem::create_directory(directory);
  {
    std::ofstream file(path);
    for (int i = 0; i < 50; ++i) file << "nonsense\n";
  }
  const auto store = store::make_memory_store();
  store::Contents contents;
  const auto events = take_dump(path, read_dump_file(path).value(), 1, *store, contents);
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 22U);
  EXPECT_EQ(events->front().level, ib::LogLevel::Warning);
  EXPECT_THAT(events->front().message, HasSubstr(path + ": line 1: "));
  EXPECT_EQ((*events)[20].level, ib::LogLevel::Warning);
  EXPECT_EQ((*events)[20].message, path + ": 50 lines could not be read and are skipped");
  EXPECT_EQ(events->back().level, ib::LogLevel::Info);
  EXPECT_THAT(events->back().message, HasSubstr("took 0 groups"));
}

}  // namespace
}  // namespace sm::daemon
