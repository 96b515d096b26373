// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Background: going into it (-B), with a parent that waits for the first result; and the pid file.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace sm::daemon {

/// Before any thread or device exists: forks. The parent never returns; it ends with the status
/// that the child tells, or 4 if the child dies first.
class Background {
 public:
  /// In the child. Io: there is no pipe or no process to be had.
  static ib::Result<Background> enter();
  Background() = default;
  Background(Background&& other) noexcept;
  Background& operator=(Background&& other) noexcept;
  ~Background();

  /// The first result is known: lets the parent end with `status` and leaves the terminal. Nothing
  /// in a process that never entered, and after the first time.
  void tell(int status);

 private:
  int pipe_{-1};
};

/// The file with the process id, which is removed when this goes.
class PidFile {
 public:
  /// An empty path: no file. Io: it cannot be written.
  static ib::Result<PidFile> write(const std::string& path);
  PidFile() = default;
  PidFile(PidFile&& other) noexcept;
  PidFile& operator=(PidFile&& other) noexcept;
  ~PidFile();

 private:
  std::string path_;
};

}  // namespace sm::daemon
