// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A build with ENABLE_PERFMGR=OFF and ENABLE_CONSOLE_SOCKET=OFF: the sources that the two options
// are for are compiled so into this test (CMakeLists.txt).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sm/daemon/options.h"

namespace sm::daemon {
namespace {

using testing::Contains;
using testing::HasSubstr;

DaemonOptions read(std::vector<const char*> words) {
  words.insert(words.begin(), "ibsm");
  auto command = read_command_line(static_cast<int>(words.size()), words.data(), "0");
  return std::get<DaemonOptions>(std::move(command));
}

TEST(LeftOut, ThePerformanceManagerIsSaidNotToBeThere) {
  const auto options = read({"-perfmgr"});
  EXPECT_FALSE(options.performance);
  EXPECT_THAT(
      options.notes,
      Contains(HasSubstr("ibsm was built without the performance manager (ENABLE_PERFMGR)")));
}

TEST(LeftOut, NoConsoleIsReachedByTcp) {
  for (const char* place : {"loopback", "socket"}) {
    const auto options = read({"-console", place});
    EXPECT_EQ(options.console.place, ConsoleOptions::Place::None);
    EXPECT_THAT(options.warnings,
                Contains(HasSubstr("ibsm was built without ENABLE_CONSOLE_SOCKET")));
  }
  EXPECT_EQ(read({"-console", "local"}).console.place, ConsoleOptions::Place::Terminal);
}

}  // namespace
}  // namespace sm::daemon
