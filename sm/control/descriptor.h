// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Descriptor: closed when nobody has it any more.
#pragma once

#include <unistd.h>

#include <utility>

namespace sm::control {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_{-1};
};

}  // namespace sm::control
