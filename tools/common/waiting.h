// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Waiting: tells a person at a terminal what a program waits for, when it takes long.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ib::tools {

/// While it lives: after two seconds a line on standard error, if that is a terminal.
class Waiting {
 public:
  /// `PROGRAM: waiting for WHAT ...`
  Waiting(const std::string& program, const std::string& what);
  ~Waiting();
  Waiting(const Waiting&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_{false};
  std::thread thread_;
};

}  // namespace ib::tools
