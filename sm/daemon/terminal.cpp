// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/terminal.h"

#include <iostream>
#include <utility>

#include "sm/console/line_reader.h"
#include "sm/console/session.h"

namespace sm::daemon {

Terminal::Terminal() : prompt_(console::kPrompt), thread_([this] { run(); }) {}

Terminal::~Terminal() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  answered_.notify_one();
  stop_.ring();
  thread_.join();
}

void Terminal::run() {
  const auto reader = console::LineReader::of_standard_input(stop_.fd(), console::kLineMost);
  std::unique_lock lock(mutex_);
  while (true) {
    answered_.wait(lock, [&] { return prompt_ || ending_; });
    if (ending_) return;
    const std::string prompt = *std::exchange(prompt_, std::nullopt);
    lock.unlock();
    auto line = reader->read_line(prompt);
    lock.lock();
    ended_ = !line;
    line_ = std::move(line);
    news_.ring();
    if (ended_) return;
  }
}

std::optional<std::string> Terminal::take_line() {
  const std::lock_guard lock(mutex_);
  news_.quiet();
  return std::exchange(line_, std::nullopt);
}

bool Terminal::has_ended() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void Terminal::answer(std::string_view text, const std::string& prompt) {
  print(text);
  {
    const std::lock_guard lock(mutex_);
    prompt_ = prompt;
  }
  answered_.notify_one();
}

void Terminal::print(std::string_view text) { std::cout << text << std::flush; }

}  // namespace sm::daemon
