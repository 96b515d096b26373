// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LineFile: a file that lines are appended to and that nobody waits for: of a pipe whose reader
// does not read, lines are lost.
#pragma once

#include <string>

#include "libdiag/base/result.h"

namespace sm::daemon {

class LineFile {
 public:
  LineFile() = default;
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// In place of the one that is open, which stays where this fails. An error of kind Io names
  /// `what`, the path and the reason; a pipe that nobody reads is one.
  ib::Result<void> open(const std::string& what, const std::string& path);
  bool is_open() const { return fd_ >= 0; }
  /// With a newline behind it. False: it, or a part of it, is lost, and errno says why. Of a pipe a
  /// line of up to 4 KiB is there whole or not at all (pipe(7), PIPE_BUF).
  bool write(std::string line);

 private:
  int fd_{-1};
};

}  // namespace sm::daemon
