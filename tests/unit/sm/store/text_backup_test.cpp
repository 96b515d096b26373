// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/text_backup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

namespace {
int directories_written_through = 0;
}

/// The C library's, with an eye on what it is asked for.
extern "C" int fsync(int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode)) ++directories_written_through;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace sm::store {
namespace {

TEST(TextBackup, TheNameIsWrittenThroughWithTheFile) {
  const std::string dir = testing::TempDir() + "ibkit-backup-" + std::to_string(::getpid());
  std::filesystem::create_directories(dir);
  directories_written_through = 0;
  EXPECT_TRUE(write_backup(dir + "/file", "one\n"));
  EXPECT_EQ(directories_written_through, 1);
  EXPECT_TRUE(write_backup(dir + "/file", "one\n"));
  EXPECT_EQ(directories_written_through, 1) << "nothing was written";
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace sm::store
