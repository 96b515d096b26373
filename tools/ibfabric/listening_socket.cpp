// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/listening_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ibfabric {
namespace {

using ib::ErrorKind;

std::string errno_text() { return std::strerror(errno); }
int open_spare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

/// What stands at `path` and is no socket; nullptr: nothing does. A link counts as itself, since
/// unlink() would take the link and not what it leads to.
const char* what_else_is_there(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISSOCK(status.st_mode)) return nullptr;
  if (S_ISREG(status.st_mode)) return "a regular file";
  if (S_ISDIR(status.st_mode)) return "a directory";
  if (S_ISLNK(status.st_mode)) return "a symbolic link";
  if (S_ISFIFO(status.st_mode)) return "a pipe";
  return "a device";
}

}  // namespace

ListeningSocket::ListeningSocket() : spare_(open_spare()) {}

ListeningSocket::~ListeningSocket() {
  // Before the listener is closed, or the number of its inode could be another's by now.
  if (fd_ >= 0 && file_at(path_) == file_) ::unlink(path_.c_str());
  if (fd_ >= 0) ::close(fd_);
  if (spare_ >= 0) ::close(spare_);
}

ListeningSocket::File ListeningSocket::file_at(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return std::pair{status.st_dev, status.st_ino};
}

ib::Result<void> ListeningSocket::listen(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return ib::fail(ErrorKind::Usage, "socket path '" + path + "': expected 1 to 107 characters");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  auto* const where = reinterpret_cast<sockaddr*>(&address);

  const int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const bool taken = connect(probe, where, sizeof address) == 0;
  const bool abandoned = !taken && errno == ECONNREFUSED;
  ::close(probe);
  if (taken) return ib::fail(ErrorKind::Unavailable, path + ": another server is listening there");
  if (const char* other = what_else_is_there(path)) {
    return ib::fail(ErrorKind::Unavailable,
                    path + ": there is " + other + ", and only a socket left behind is replaced");
  }
  if (abandoned) ::unlink(path.c_str());

  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, where, sizeof address) < 0) {
    const std::string why = errno_text();
    if (fd >= 0) ::close(fd);
    return ib::fail(ErrorKind::Unavailable, path + ": " + why);
  }
  fd_ = fd;
  path_ = path;
  file_ = file_at(path);
  if (::listen(fd, 4096) < 0) return ib::fail(ErrorKind::Unavailable, path + ": " + errno_text());
  return {};
}

int ListeningSocket::accept() {
  for (;;) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && turn_away_one()) continue;
    return fd;
  }
}

/// False: nobody was there.
bool ListeningSocket::turn_away_one() {
  if (spare_ < 0) return false;
  ::close(spare_);
  const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) ::close(fd);
  spare_ = open_spare();
  return fd >= 0;
}

}  // namespace ibfabric
