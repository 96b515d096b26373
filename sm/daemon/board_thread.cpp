// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/board_thread.h"

#include <utility>

namespace sm::daemon {

BoardThread::BoardThread(std::unique_ptr<store::Board> board)
    : board_(std::move(board)), thread_([this] { run(); }) {}

BoardThread::~BoardThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wanted_.notify_one();
  thread_.join();
}

bool BoardThread::post(std::string text) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(busy_, true)) return false;
  posting_ = std::move(text);
  wanted_.notify_one();
  return true;
}

std::optional<BoardThread::Answer> BoardThread::take() {
  const std::lock_guard lock(mutex_);
  wake_.quiet();
  return std::exchange(answer_, std::nullopt);
}

void BoardThread::run() {
  bool posted = false;
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return ending_ || posting_; });
    if (ending_) break;
    const std::string text = *std::exchange(posting_, std::nullopt);
    lock.unlock();
    Answer answer = board_->exchange(text);
    lock.lock();
    posted = answer.has_value();
    answer_ = std::move(answer);
    busy_ = false;
    wake_.ring();
  }
  lock.unlock();
  if (posted) (void)board_->withdraw();  // else others see that it says nothing new
}

}  // namespace sm::daemon
