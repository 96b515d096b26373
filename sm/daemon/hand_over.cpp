// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/hand_over.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace sm::daemon {

ib::Error become_planner(char** argv) {
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    return {ib::ErrorKind::Unavailable, "cannot read /proc/self/exe: " + error.message(), 0};
  const auto planner = here.parent_path().parent_path() / "libexec" / "ibkit" / "ibsm-plan";
  ::execv(planner.c_str(), argv);
  return {ib::ErrorKind::Unavailable,
          "cannot run " + planner.string() + ": " + std::strerror(errno) +
              "; it is installed together with ibsm",
          0};
}

}  // namespace sm::daemon
