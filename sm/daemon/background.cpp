// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/background.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

namespace sm::daemon {

ib::Result<Background> Background::enter() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return ib::fail(ib::ErrorKind::Io, fmt::format("pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return ib::fail(ib::ErrorKind::Io, fmt::format("fork: {}", std::strerror(errno)));
  if (child > 0) {
    close(ends[1]);
    unsigned char status = 4;
    ssize_t got = 0;
    do {
      got = read(ends[0], &status, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) {
      // It died without a result; what it exited with says why, if it said anything.
      int how = 0;
      status = 4;
      if (waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) != 0)
        status = static_cast<unsigned char>(WEXITSTATUS(how));
    }
    _exit(status);
  }
  close(ends[0]);
  setsid();
  Background background;
  background.pipe_ = ends[1];
  return background;
}

Background::Background(Background&& other) noexcept : pipe_(std::exchange(other.pipe_, -1)) {}
Background& Background::operator=(Background&& other) noexcept {
  std::swap(pipe_, other.pipe_);
  return *this;
}
Background::~Background() {
  if (pipe_ >= 0) close(pipe_);
}

void Background::tell(int status) {
  if (pipe_ < 0) return;
  std::fflush(nullptr);
  const auto byte = static_cast<unsigned char>(status);
  // A parent that is gone needs no answer.
  [[maybe_unused]] const auto written = ::write(pipe_, &byte, 1);
  close(std::exchange(pipe_, -1));
  if (const int null = open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0) {
    for (const int fd : {0, 1, 2}) dup2(null, fd);
    if (null > 2) close(null);
  }
}

ib::Result<PidFile> PidFile::write(const std::string& path) {
  PidFile file;
  if (path.empty()) return file;
  std::ofstream out(path, std::ios::trunc);
  out << getpid() << '\n';
  out.close();
  if (!out)
    return ib::fail(ib::ErrorKind::Io,
                    fmt::format("writing the process id to {}: {}", path, std::strerror(errno)));
  file.path_ = path;
  return file;
}
PidFile::PidFile(PidFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
PidFile& PidFile::operator=(PidFile&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}
PidFile::~PidFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace sm::daemon
