// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/wake.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace sm::daemon {

Wake::Wake() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}
Wake::~Wake() { close(fd_); }

void Wake::ring() {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the descriptor is readable anyway.
  [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);
  rung_ = true;
}

void Wake::quiet() {
  if (!rung_.exchange(false)) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(fd_, &count, sizeof count);
}

}  // namespace sm::daemon
