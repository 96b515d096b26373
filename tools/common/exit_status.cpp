// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/common/exit_status.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "libdiag/base/text.h"

namespace ib::tools {

int complain(const std::string& program, const std::string& message, int status) {
  std::fflush(stdout);
  for (const std::string_view line : split(message, '\n')) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), printable(line).c_str());
  }
  return status;
}

int complain(const std::string& program, const Error& error) {
  return complain(program, error.message, exit_status(error.kind));
}

int run_main(const std::string& program, const std::function<int()>& body) {
  int status = kExitCannotRun;
  try {
    status = body();
  } catch (const std::exception& e) {
    complain(program, e.what(), status);
  }
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return complain(program, std::string("standard output: ") + std::strerror(errno),
                    kExitCannotRun);
  }
  return status;
}

}  // namespace ib::tools
