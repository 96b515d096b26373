// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LineFile: a file that lines are appended to and that nobody waits for: of a pipe whose reader
// does not read, lines are lost.
#pragma once

#include <chrono>
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
  /// Of what another descriptor is open for, whose own flags stay as they are: stdout. Not open
  /// where that is closed.
  void open_as(int descriptor);
  bool is_open() const { return fd_ >= 0; }
  /// Waits until a line can be written, that long at most. False: it cannot be yet.
  bool await_room(std::chrono::milliseconds most) const;
  /// With a newline behind it. False: it, or a part of it, is lost, and errno says why. Of a pipe a
  /// line of up to 4 KiB is there whole or not at all (pipe(7), PIPE_BUF).
  bool write(std::string line);

 private:
  void replace(int opened);

  int fd_{-1};
  bool blocks_{false};  // writing may: it is asked first
};

}  // namespace sm::daemon
