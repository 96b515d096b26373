// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Terminal: who types at the terminal that ibsm was started on. A thread waits for his lines; each
// is handed to the daemon, and the next one is read when it has been answered.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "sm/daemon/wake.h"

namespace sm::daemon {

class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Readable when there is a line, or when the input has ended.
  int readable_fd() const { return news_.fd(); }
  /// A line that waits for its answer, once.
  std::optional<std::string> take_line();
  bool has_ended();
  /// Prints `text`, the answer to that line; then the next one is asked for by `prompt`.
  void answer(std::string_view text, const std::string& prompt);
  /// Prints unasked.
  static void print(std::string_view text);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<std::string> line_;
  std::optional<std::string> prompt_;  // of the next line; nothing: the last is not answered
  bool ended_{false}, ending_{false};
  Wake news_, stop_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace sm::daemon
