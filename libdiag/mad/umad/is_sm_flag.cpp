// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fcntl.h>
#include <fmt/format.h>
#include <infiniband/umad.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "libdiag/mad/umad/local_ports.h"
#include "libdiag/mad/umad/umad_port.h"

namespace ib::mad {

Result<IsSmFlag> IsSmFlag::take(const std::string& device, std::uint8_t number) {
  char path[256] = {};
  errno = 0;
  if (const int rc = umad_get_issm_path(device.c_str(), number, path, sizeof path); rc < 0)
    return fail(ErrorKind::Unavailable, fmt::format("finding the issm file of {} port {}: {}",
                                                    device, number, std::strerror(errno_of(rc))));
  // Without O_NONBLOCK the kernel waits until the present holder lets go.
  const int fd = ::open(path, O_NONBLOCK);
  if (fd < 0)
    return fail(ErrorKind::Unavailable,
                fmt::format("marking {} port {} as SM by {}: {}", device, number, path,
                            errno == EAGAIN ? "another program holds it" : std::strerror(errno)));
  return IsSmFlag(fd);
}
IsSmFlag::IsSmFlag(IsSmFlag&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
IsSmFlag& IsSmFlag::operator=(IsSmFlag&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
IsSmFlag::~IsSmFlag() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace ib::mad
