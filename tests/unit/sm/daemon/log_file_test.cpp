// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/log_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "sm/daemon/line_file.h"

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

struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  /// All that is in it.
  std::string take() const {
    std::string text(1 << 20, '\0');
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    const ssize_t got = read(ends[0], text.data(), text.size());
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }
  int ends[2]{};
};

TEST(LogFile, NobodyWaitsForAReaderWhoStoppedAndHeIsToldWhatHeMissed) {
  const Pipe out;
  auto log = LogFile::open("/dev/fd/" + std::to_string(out.ends[1]), 3, true);
  ASSERT_TRUE(log) << log.error().message;
  const std::string filler(100, 'x');
  constexpr int kLines = 2000;  // a pipe holds 64 KiB
  for (int i = 0; i < kLines; ++i) log->write({ib::LogLevel::Info, "test", filler});
  const std::string before = out.take();
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  EXPECT_LT(lines(before), kLines);
  log->write({ib::LogLevel::Info, "test", "goes on"});
  const std::string after = out.take();
  EXPECT_NE(after.find(" W log: " + std::to_string(kLines - lines(before)) +
                       " lines are missing here: nobody read them\n"),
            std::string::npos)
      << after;
  EXPECT_NE(after.find("test: goes on\n"), std::string::npos);
}

TEST(LineFile, WhatAnotherDescriptorIsOpenForIsWrittenWithoutWaitingAndLeftAsItIs) {
  const Pipe out;
  LineFile file;
  file.open_as(out.ends[1]);
  ASSERT_TRUE(file.is_open());
  const std::string filler(1000, 'x');
  int written = 0;
  while (written < 1000 && file.write(filler)) ++written;
  EXPECT_LT(written, 1000);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(fcntl(out.ends[1], F_GETFL) & O_NONBLOCK, 0);
  out.take();
  EXPECT_TRUE(file.write("again"));
  EXPECT_EQ(out.take(), "again\n");
}

TEST(LineFile, NorForThePeerOfASocket) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  LineFile file;
  file.open_as(ends[1]);
  const std::string filler(1000, 'x');
  int written = 0;
  while (written < 10'000 && file.write(filler)) ++written;
  EXPECT_GT(written, 0);
  EXPECT_LT(written, 10'000);
  close(ends[0]);
  close(ends[1]);
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
