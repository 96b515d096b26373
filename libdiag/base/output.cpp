// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace ib {

void hold_standard_files() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest that is free, so this one; nobody can read what is open for writing only.
    ::open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

Result<void> finish_output() {
  errno = 0;
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  const std::string why = errno == 0 ? "not all of it could be written" : std::strerror(errno);
  return fail(ErrorKind::Io, "standard output: " + why);
}

}  // namespace ib
