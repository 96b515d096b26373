// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/log_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace sm::daemon {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "ibsm-log-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

std::string text_in(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(LogFile, AMissingFolderIsNamedAndNotMade) {
  const Folder folder;
  const auto path = folder.path / "mistyped" / "log";
  const auto log = LogFile::open(path.string(), 3, false);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().kind, ib::ErrorKind::Usage);
  EXPECT_EQ(log.error().message, "cannot log to " + path.string() + ": there is no folder " +
                                     path.parent_path().string() +
                                     "; make it first, or name another file (--log_file)");
  EXPECT_FALSE(fs::exists(path.parent_path()));
}

TEST(LogFile, AFolderThatWentAwayLeavesTheFileThatIsOpen) {
  const Folder folder;
  const auto inner = folder.path / "logs";
  fs::create_directory(inner);
  auto log = LogFile::open((inner / "log").string(), 3, true);
  ASSERT_TRUE(log);
  fs::rename(inner, folder.path / "moved");
  const auto reopened = log->reopen();
  ASSERT_FALSE(reopened);
  EXPECT_NE(reopened.error().message.find("there is no folder"), std::string::npos);
  EXPECT_FALSE(fs::exists(inner));
  log->write({ib::LogLevel::Info, "test", "goes on"});
  EXPECT_NE(text_in(folder.path / "moved" / "log").find("test: goes on"), std::string::npos);
}

TEST(LogFile, WhoFollowsTheFileSeesWhatHappensAndLinesOfDetailWait) {
  const Folder folder;
  const auto path = folder.path / "log";
  auto log = LogFile::open(path.string(), 7, false);
  ASSERT_TRUE(log);
  log->write({ib::LogLevel::Verbose, "test", "a detail"});
  EXPECT_EQ(text_in(path), "");
  log->write({ib::LogLevel::Info, "test", "trap"});
  EXPECT_NE(text_in(path).find("test: trap"), std::string::npos);
}

TEST(LogFile, WhatIsNoFolderIsSaid) {
  const Folder folder;
  std::ofstream(folder.path / "file") << "here";
  const auto log = LogFile::open((folder.path / "file" / "log").string(), 3, false);
  ASSERT_FALSE(log);
}

TEST(LogFile, WhatTheFlagsLeaveOutCostsNobodyLinesAndIsInNoSummary) {
  const Folder folder;
  auto log = LogFile::open((folder.path / "log").string(), 3, true, [] { return ib::Instant{1}; });
  ASSERT_TRUE(log);
  const ib::LogCause cause{"trap", ib::Lid{7}};
  for (int i = 0; i < 1000; ++i)
    log->write({ib::LogLevel::Verbose, "test", "verbose " + std::to_string(i), cause});
  EXPECT_EQ(log->next_deadline(), ib::kNever);
  log->write({ib::LogLevel::Info, "test", "is written", cause});
  log->finish();
  const auto text = text_in(folder.path / "log");
  EXPECT_NE(text.find("test: is written"), std::string::npos);
  EXPECT_EQ(text.find("left out"), std::string::npos);
}

TEST(LogFile, BringUpsAndErrorsAreToldToTheSystemWhateverTheLog) {
  const Folder folder;
  auto log = LogFile::open((folder.path / "log").string(), 3, true);
  ASSERT_TRUE(log);
  std::vector<std::pair<ib::LogLevel, std::string>> told;
  log->tell_major(
      [&](ib::LogLevel level, const std::string& line) { told.emplace_back(level, line); });
  log->write({ib::LogLevel::Info, "plan", "routes are those of ftree"});
  log->write({ib::LogLevel::Warning, "apply", "a port refuses"});
  log->write({ib::LogLevel::Error, "store", "it is lost"});
  log->write_always("SUBNET UP switches=1");
  EXPECT_EQ(told, (std::vector<std::pair<ib::LogLevel, std::string>>{
                      {ib::LogLevel::Error, "store: it is lost"},
                      {ib::LogLevel::Info, "SUBNET UP switches=1"}}));
}

TEST(LogFile, BeginsAnewWhenItIsAsLargeAsItMayBe) {
  const Folder folder;
  const auto path = folder.path / "log";
  auto log = LogFile::open(path.string(), 3, true, ib::monotonic_now, {4096, ""});
  ASSERT_TRUE(log);
  const std::string filler(100, 'x');
  std::uintmax_t largest = 0;
  bool shrank = false;
  for (int line = 0; line < 100; ++line) {
    const auto before = fs::file_size(path);
    log->write({ib::LogLevel::Info, "test", filler});
    const auto now = fs::file_size(path);
    largest = std::max(largest, now);
    shrank = shrank || now < before;
  }
  EXPECT_LE(largest, 4096U);
  EXPECT_TRUE(shrank);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 1) << "no older one is kept";
}

TEST(LogFile, PutsThePrefixBeforeWhatALineSaysAlsoAfterItWasOpenedAgain) {
  const Folder folder;
  const auto path = folder.path / "log";
  auto log = LogFile::open(path.string(), 3, true, ib::monotonic_now, {0, "100% fabric A: "});
  ASSERT_TRUE(log);
  log->write({ib::LogLevel::Info, "test", "one"});
  EXPECT_NE(text_in(path).find(" I 100% fabric A: test: one\n"), std::string::npos);
  fs::remove(path);
  ASSERT_TRUE(log->reopen());
  log->write({ib::LogLevel::Info, "test", "two"});
  EXPECT_NE(text_in(path).find(" I 100% fabric A: test: two\n"), std::string::npos);
}

TEST(LogFile, TheSummaryComesByItsDeadlineOrAtTheEnd) {
  const Folder folder;
  ib::Instant now{1};
  auto log = LogFile::open((folder.path / "log").string(), 3, true, [&] { return now; });
  ASSERT_TRUE(log);
  const auto flood = [&] {
    for (int i = 0; i < 1000; ++i)
      log->write({ib::LogLevel::Info, "test", std::to_string(i), ib::LogCause{"trap", ib::Lid{7}}});
  };
  flood();
  ASSERT_EQ(log->next_deadline(), now + std::chrono::seconds(1));
  now = log->next_deadline();
  log->on_time(now);
  EXPECT_EQ(log->next_deadline(), ib::kNever);
  EXPECT_NE(text_in(folder.path / "log")
                .find("log: 990 more lines were left out in 1 s: 990 of \"trap\" from LID 7"),
            std::string::npos);
  flood();
  log->finish();
  EXPECT_NE(text_in(folder.path / "log").find("log: 1000 more lines were left out"),
            std::string::npos);
}

}  // namespace
}  // namespace sm::daemon
