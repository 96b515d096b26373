// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Wake: one thread tells another, which sleeps in poll(), that there is something.
#pragma once

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
};

}  // namespace sm::daemon
