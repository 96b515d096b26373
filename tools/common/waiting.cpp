// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/common/waiting.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace ib::tools {

Waiting::Waiting(const std::string& program, const std::string& what) {
  if (::isatty(STDERR_FILENO) == 0) return;
  thread_ = std::thread([this, line = program + ": waiting for " + what + " ...\n"] {
    std::unique_lock lock(mutex_);
    if (!over_.wait_for(lock, std::chrono::seconds(2), [this] { return done_; }))
      std::fputs(line.c_str(), stderr);
  });
}

Waiting::~Waiting() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  over_.notify_one();
  thread_.join();
}

}  // namespace ib::tools
