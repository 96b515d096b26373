// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Wake: one thread tells another, which sleeps in poll(), that there is something.
#pragma once

#include <atomic>

namespace sm::daemon {

class Wake {
 public:
  Wake();
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  /// Readable from ring() to quiet().
  int fd() const { return fd_; }
  void ring();
  void quiet();

 private:
  int fd_{-1};
  // Set after the bell is rung: quiet() costs a system call only then, and one that comes between
  // the two leaves the descriptor readable for the next.
  std::atomic<bool> rung_{false};
};

}  // namespace sm::daemon
