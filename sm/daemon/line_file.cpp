// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/line_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
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
                        (errno == ENXIO ? "no program reads this pipe" : std::strerror(errno)));
  replace(opened);
  blocks_ = false;
  return {};
}

void LineFile::open_as(int descriptor) {
  // O_NONBLOCK is a flag of all who have it open as this process got it: of a shell, too.
  struct stat status {};
  int opened = -1;
  if (fstat(descriptor, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)))
    opened = ::open(("/proc/self/fd/" + std::to_string(descriptor)).c_str(),
                    O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  blocks_ = opened < 0;
  replace(opened < 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : opened);
}

void LineFile::replace(int opened) {
  if (const int before = std::exchange(fd_, opened); before >= 0) close(before);
}

bool LineFile::await_room(std::chrono::milliseconds most) const {
  pollfd room{fd_, POLLOUT, 0};
  int ready = 0;
  do ready = poll(&room, 1, static_cast<int>(most.count()));
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

bool LineFile::write(std::string line) {
  if (blocks_ && !await_room({})) {
    errno = EAGAIN;
    return false;
  }
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
