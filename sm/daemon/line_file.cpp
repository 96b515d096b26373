// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/line_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace sm::daemon {

LineFile::~LineFile() {
  if (fd_ >= 0) close(fd_);
}

ib::Result<void> LineFile::open(const std::string& what, const std::string& path) {
  const int opened =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (opened < 0)
    return ib::fail(ib::ErrorKind::Io,
                    "cannot write " + what + " to " + path + ": " +
                        (errno == ENXIO ? "nobody reads this pipe" : std::strerror(errno)));
  if (const int before = std::exchange(fd_, opened); before >= 0) close(before);
  return {};
}

bool LineFile::write(std::string line) {
  line += '\n';
  for (std::string_view left = line; !left.empty();) {
    const ssize_t written = ::write(fd_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace sm::daemon
