// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace ib {

Result<void> finish_output() {
  errno = 0;
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  const std::string why = errno == 0 ? "not all of it could be written" : std::strerror(errno);
  return fail(ErrorKind::Io, "standard output: " + why);
}

}  // namespace ib
