// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// BoardThread: asks the board, which may be slow or gone, on a thread of its own. One exchange at a
// time; the last posting is taken down at the end.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sm/daemon/wake.h"
#include "sm/store/board.h"

namespace sm::daemon {

class BoardThread {
 public:
  using Answer = ib::Result<std::vector<store::Posting>>;

  explicit BoardThread(std::unique_ptr<store::Board> board);
  ~BoardThread();
  BoardThread(const BoardThread&) = delete;
  BoardThread& operator=(const BoardThread&) = delete;

  /// False: the last one is not done yet, and nothing is asked.
  bool post(std::string text);
  /// Readable when take() has something.
  int readable_fd() const { return wake_.fd(); }
  std::optional<Answer> take();

 private:
  void run();

  std::unique_ptr<store::Board> board_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::optional<std::string> posting_;
  bool busy_{false}, ending_{false};
  std::optional<Answer> answer_;
  Wake wake_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace sm::daemon
