// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/mapped_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

namespace {

/// kB of read-only pages of files that are mapped: "r-xp" and "r--p" in /proc/self/smaps (proc(5)).
long mapped_kb() {
  std::ifstream in("/proc/self/smaps");
  long all = 0;
  bool counts = false;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first, second;
    words >> first >> second;
    if (first.find('-') != std::string::npos && first.back() != ':') {
      counts = (second == "r-xp" || second == "r--p") && line.find('/') != std::string::npos;
    } else if (counts && first == "Rss:") {
      all += std::stol(second);
    }
  }
  return all;
}

int written_before_main = std::stoi("42");
const std::string kMadByTheLoader = "a string that is longer than what fits in itself";

TEST(MappedFiles, UnmapsCodeAndKeepsWhatWasWritten) {
  written_before_main = 43;
  volatile double two = 2;
  EXPECT_NEAR(std::sin(two), 0.9093, 1e-4);
  const long before = mapped_kb();
  ASSERT_GT(before, 500);
  sm::daemon::unmap_idle_code();
  const long after = mapped_kb();
  EXPECT_LT(after, before);
  EXPECT_EQ(written_before_main, 43);
  EXPECT_EQ(kMadByTheLoader.substr(0, 8), "a string");
  EXPECT_NEAR(std::sin(two), 0.9093, 1e-4);
  EXPECT_THROW((void)std::stoi("no number"), std::invalid_argument);
}

}  // namespace
