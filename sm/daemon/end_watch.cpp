// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/end_watch.h"

#include <poll.h>

#include <utility>

namespace sm::daemon {
namespace {

bool is_readable(int fd, std::chrono::milliseconds within) {
  pollfd one{fd, POLLIN, 0};
  return poll(&one, 1, static_cast<int>(within.count())) == 1;
}

}  // namespace

EndWatch::EndWatch(int signal_fd, std::chrono::milliseconds patience, std::function<void()> end)
    : signal_fd_(signal_fd), patience_(patience), end_(std::move(end)) {
  world_.lock();
  thread_ = std::thread([this] { run(); });
}

EndWatch::~EndWatch() {
  ending_.ring();
  world_.unlock();
  thread_.join();
}

void EndWatch::run() {
  while (true) {
    pollfd fds[] = {{ending_.fd(), POLLIN, 0}, {signal_fd_, POLLIN, 0}};
    if (poll(fds, std::size(fds), -1) < 0) continue;  // interrupted
    if (fds[0].revents != 0) return;
    // Mostly the main thread takes the signal at once.
    if (is_readable(ending_.fd(), patience_)) return;
    const std::lock_guard world(world_);
    constexpr std::chrono::milliseconds kNow{0};
    if (is_readable(ending_.fd(), kNow)) return;
    if (is_readable(signal_fd_, kNow)) return end_();
  }
}

}  // namespace sm::daemon
