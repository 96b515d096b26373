// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LineReader: lines that somebody types. On a terminal they are edited and remembered (libedit,
// keys of Emacs); elsewhere they are read as they come. It waits, and so has a thread of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace sm::console {

class LineReader {
 public:
  /// Of standard input. Where `stop_fd` becomes readable, the input has ended. At most `most` bytes
  /// of a line are given out.
  static std::unique_ptr<LineReader> of_standard_input(int stop_fd, std::size_t most);
  LineReader() = default;
  virtual ~LineReader() = default;
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Asks by `prompt`. Nothing: the input has ended.
  virtual std::optional<std::string> read_line(const std::string& prompt) = 0;
};

}  // namespace sm::console
