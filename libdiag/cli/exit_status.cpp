// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/cli/exit_status.h"

#include <cstdio>
#include <exception>

#include "libdiag/base/output.h"
#include "libdiag/base/text.h"

namespace ib::cli {

int status_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Usage:
      return kExitUsage;
    case ErrorKind::NotFound:
      return kExitFound;
    default:
      return kExitCannotRun;
  }
}

int complain(const std::string& program, const std::string& message, int status) {
  std::fflush(stdout);
  for (const std::string_view line : split(message, '\n')) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), printable(line).c_str());
  }
  return status;
}

int complain(const std::string& program, const Error& error) {
  return complain(program, error.message, status_of(error));
}

int run_main(const std::string& program, const std::function<int()>& body) {
  hold_standard_files();
  int status = kExitCannotRun;
  try {
    status = body();
  } catch (const std::exception& e) {
    complain(program, e.what(), status);
  }
  if (const auto whole = finish_output(); !whole) return complain(program, whole.error());
  return status;
}

}  // namespace ib::cli
